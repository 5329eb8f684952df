"""States of N robots in one block of memory, so that one copy brings all of them to the host."""

from __future__ import annotations

import math
from typing import Any, Protocol

from solo_doi.sim.input_checks import MOTION_SHAPES
from solo_doi.solo12.constants import BODY_NAMES, NUM_JOINTS, NUM_LEGS

STATE_FIELDS: dict[str, tuple[int, ...]] = {
    **MOTION_SHAPES,
    "torque": (NUM_JOINTS,),
    "foot_position_w": (NUM_LEGS, 3),
    "foot_velocity_w": (NUM_LEGS, 3),
    "foot_force_w": (NUM_LEGS, 3),
    "body_force_w": (len(BODY_NAMES), 3),
}
"""Fields of `RobotState` and their shapes. Each is contiguous, for all robots."""
OWN_FIELDS: dict[str, tuple[int, ...]] = {"linear_velocity_w": (3,), "health": (4,)}
"""Fields for this backend alone. Health: diverged, overflow flags, most constraint rows, and
contacts of all robots or pairs that may touch, whichever are more."""


def packed_size(count: int) -> int:
    """Numbers of all states, and one more: 1 if any robot is not healthy."""
    shapes = (*STATE_FIELDS.values(), *OWN_FIELDS.values())
    return count * sum(math.prod(shape) for shape in shapes) + 1


class Block(Protocol):
    """One-dimensional array of numpy or Warp."""

    def __getitem__(self, part: slice) -> Any:  # noqa: ANN401  # numpy and Warp share no type
        """Return a view of a part."""


def fields_of(block: Block, count: int) -> dict[str, Any]:
    """Return views (N, ...) of a block by name; the last is `alarm`, (1,)."""
    views = {}
    start = 0
    for name, shape in (STATE_FIELDS | OWN_FIELDS).items():
        stop = start + count * math.prod(shape)
        views[name] = block[start:stop].reshape((count, *shape))
        start = stop
    views["alarm"] = block[start : start + 1]
    return views
