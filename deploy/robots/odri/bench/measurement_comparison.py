"""Two measurements of one robot must agree; what differs is told by joint, whole turns of a motor apart from others."""

from __future__ import annotations

import numpy as np

from deploy.robots.odri.bring_up.calibration import PITCH, CalibrationError, nearest
from solo_doi.solo12.constants import JOINT_NAMES, Array

REPEATABLE = 0.05
"""Largest difference between two zero poses, or two measurements of an index [rad]."""


def check_pose(position: Array, before: list[Array]) -> None:
    """Refuse a zero pose that is not the first one: encoders count on, motors on or off.

    Raises:
        CalibrationError: Naming the joints; those that are whole turns of the motor away apart from others.
    """
    if before:
        _check(position - before[0], "was put {0:+.3f} rad from where zero was the first time")


def check_offsets(found: list[Array]) -> None:
    """Refuse measurements that differ.

    Raises:
        CalibrationError: Naming the joints.
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
    told = []
    for joint in np.flatnonzero(wrong):
        turns = round(float(difference[joint] / PITCH)) if np.isfinite(difference[joint]) else 0
        whole = turns and abs(float(nearest(difference[joint]))) <= REPEATABLE
        note = (
            f", {abs(turns)} whole turn(s) of its motor: that would be the wrong index"
            if whole
            else ""
        )
        told.append(f"{JOINT_NAMES[joint]} {words.format(difference[joint])}{note}")
    raise CalibrationError(
        f"{'; '.join(told)} (allowed: {REPEATABLE}). Put the joints to zero exactly, start again."
    )
