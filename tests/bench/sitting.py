"""Lying down by the robot process alone, from many moments of a walk."""

from __future__ import annotations

import sys

import numpy as np

from deploy.common.faults import Cause
from tests.deploy.board_world import BoardRig
from tests.deploy.world import Killed

from .harness import Pairs, benchmark

SKILLS = (2, 4, 1)
MOMENTS = 0.9 + 0.023 * np.arange(6)
"""Times since the beginning of the walk at which the controller ends [s]."""
LYING_DOWN = 4.0
"""Time in which the robot lies down and is damped [s]."""


@benchmark(unit="m/s", at_most=1.0)
def sit_from_walk() -> Pairs:
    """Speed of the landing belly against 0.15 m/s, after the controller ended during a walk.

    Prints a table.
    """
    sys.stdout.write("| skill | moment, s | belly lands at | graver fault |\n|---|---|---|---|\n")
    pairs = []
    for skill in SKILLS:
        for moment in MOMENTS.tolist():
            rig = BoardRig(_end, after=moment, skill=skill).run(afterwards=LYING_DOWN)
            fault = rig.process.gate.fault
            graver = "" if fault is None or fault.cause is Cause.COMMAND_STALE else str(fault)
            pairs.append((rig.landing_speed, 0.15))
            sys.stdout.write(
                f"| {skill} | {moment:.3f} | {rig.landing_speed:.2f} m/s | {graver} |\n"
            )
    return pairs


def _end(_: BoardRig) -> None:
    raise Killed
