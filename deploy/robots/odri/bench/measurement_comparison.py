"""Comparison of two measurements of one robot, joint by joint.

Differences of whole motor turns get their own text, because their cause is a wrong index.
"""

from __future__ import annotations

import numpy as np

from deploy.robots.odri.bring_up.calibration import PITCH, CalibrationError, nearest
from solo_doi.solo12.constants import JOINT_NAMES, Array

REPEATABLE = 0.05
"""Largest difference between two zero poses, or two measurements of an index [rad]."""


def check_pose(position: Array, before: list[Array]) -> None:
    """Refuse a zero pose that differs from the first one.

    Encoders keep counting while motors are off, so both poses can be compared.

    Raises:
        CalibrationError: The message has the joints, and differences in whole motor turns.
    """
    if before:
        _check(position - before[0], "was put {0:+.3f} rad from where zero was the first time")


def check_offsets(found: list[Array]) -> None:
    """Refuse index angles that differ between the two measurements.

    Raises:
        CalibrationError: The message has the joints.
    """
    if len(found) > 1:
        _check(
            nearest(found[1] - found[0]),
            "has its index {0:+.3f} rad from where it was the first time",
        )


def _check(difference: Array, words: str) -> None:
    wrong = ~(np.abs(difference) <= REPEATABLE)  # also true for NaN
    if not wrong.any():
        return
    texts = []
    for joint in np.flatnonzero(wrong):
        text = f"{JOINT_NAMES[joint]} {words.format(difference[joint])}"
        if np.isfinite(difference[joint]):
            turns = round(float(difference[joint] / PITCH))
            if turns and abs(float(nearest(difference[joint]))) <= REPEATABLE:
                text += f", {abs(turns)} whole turn(s) of its motor: that would be the wrong index"
        texts.append(text)
    raise CalibrationError(
        f"{'; '.join(texts)} (allowed: {REPEATABLE}). Put the joints to zero exactly, start again."
    )
