"""Mirror images: left and right exchanged in observations and actions."""

from __future__ import annotations

import numpy as np

from solo_doi.common.errors import SoloError

from .constants import JOINT_NAMES
from .observation import SCAN_SIDE, Layout

_PARITY: dict[str, tuple[float, ...]] = {
    "linear_velocity": (1, -1, 1),
    "angular_velocity": (-1, 1, -1),
    "gravity": (1, -1, 1),
    "command": (1, -1, -1),
    "target": (1, -1, 1, -1),
    "time_left": (1,),
}
"""Sign of each number of terms whose numbers keep their places."""
_JOINTS = ("joint_position", "joint_velocity", "previous_action")


def mirrored_joints() -> tuple[np.ndarray, np.ndarray]:
    """Return place and sign of the mirror image of each joint's number, (12,) each.

    Axes of HAA are along x for all legs, so only their angles change sign.
    """
    places = []
    signs = []
    for name in JOINT_NAMES:
        other = name.translate(str.maketrans("LR", "RL"))[:2] + name[2:]
        places.append(JOINT_NAMES.index(other))
        signs.append(-1.0 if name.endswith("HAA") else 1.0)
    return np.array(places), np.array(signs)


def mirrored_layout(layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Return place and sign of the mirror image of each number of an observation.

    The mirror image of x is `sign * x[..., place]`.
    """
    place = np.arange(layout.size)
    sign = np.ones(layout.size)
    for term in layout.terms:
        part = layout.slices[term.name]
        if term.name in _JOINTS:
            joints, signs = mirrored_joints()
            place[part] = part.start + joints
            sign[part] = signs
        elif term.name == "height_scan":
            grid = np.arange(term.size).reshape(SCAN_SIDE, SCAN_SIDE)
            place[part] = part.start + grid[:, ::-1].ravel()
        elif term.name in _PARITY:
            sign[part] = _PARITY[term.name]
        else:
            raise SoloError(f"Observation term {term.name!r} has no mirror image in `mirror`.")
    return place, sign
