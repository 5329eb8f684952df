"""Walks with all known defects of real boards, against walks with ideal sensors."""

from __future__ import annotations

import sys

import numpy as np

from deploy.common.known_defects import drawn_seed
from deploy.common.state_machine import ControllerState
from tests.deploy.board_world import BoardRig

from .harness import Pairs, benchmark

SECONDS = 60.0
"""Duration of each walk in simulated time [s]."""
SKILLS = 5


class MeasuredRig(BoardRig):
    """A walk behind the virtual board with its true velocity."""

    def __init__(self, skill: int, defects: int | None) -> None:
        """Walk with a skill; `defects` is a seed, None for ideal sensors."""
        super().__init__(lambda _: None, watch=SECONDS, skill=skill, defects=defects)
        self.limit = SECONDS + 20.0
        self.velocity: list[float] = []

    def tick(self, now: float) -> None:
        """Record the velocity from the second on in which the walk is steady."""
        super().tick(now)
        walking = self.controller.state is ControllerState.WALK
        if walking and self.injected is not None and now > self.injected + 1.0:
            motion = self.board.body.plant.motion()
            self.velocity.append(float(motion.linear_velocity_b[0]))


@benchmark(unit="1", at_most=0.03)
def defect_walks() -> Pairs:
    """Relative change of the true velocity by all defects, each skill 60 s behind the board.

    Prints a table; the seed is drawn at random.
    """
    seed = drawn_seed()
    _write(f"skill, defects of seed {seed}", "ideal, m/s", "m/s", "change", "rejected")
    _write(*5 * ["---"])
    pairs = []
    for skill in range(SKILLS):
        ideal, rig = (MeasuredRig(skill, defects).run() for defects in (None, seed))
        for walk in (ideal, rig):
            assert not walk.recorder.incidents, walk.recorder.incidents
        velocities = [float(np.mean(walk.velocity)) for walk in (ideal, rig)]
        change = velocities[1] / velocities[0] - 1.0
        pairs.append((abs(change), 1.0))
        rejected = ", ".join(f"{name} {count}" for name, count in rig.process.rejected.items())
        _write(str(skill), *(f"{v:.3f}" for v in velocities), f"{change:+.1%}", rejected)
    return pairs


def _write(*cells: str) -> None:
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()
