"""Distances that the robot estimates on its own, and the way to rest after a walk.

Simulated, so the same on every machine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import dist

from deploy.common.state_machine import ControllerState
from deploy.controller.walk_bound import DeadReckoning
from deploy.messages.operator_request import OperatorRequest
from deploy.operators.operators import Script
from tests.deploy.board_world import BoardRig
from tests.deploy.world import Rig

from .harness import Pairs, benchmark

SKILLS = (0, 2, 4)
SECONDS = 10.0
BOUND = 2.0
"""Bound of a first walk [m]."""
ACCURACY = 0.1
"""Error of the estimate, as a share of the true distance, that the documents name."""


@dataclass
class Walk:
    """Distances of one walk from its start [m]."""

    robot: str
    skill: int
    at_bound: float = 0.0
    """Truth when the estimate reaches the bound of a first walk."""
    estimated: float = 0.0
    """Estimate at the end of the walk."""
    true: float = 0.0
    """Truth at the end of the walk."""
    at_rest: float = 0.0
    """Truth when the robot stands again."""


class WatchedScript(Script):
    """A script that measures the walk of its robot, and ends when the robot stands again."""

    rig: Rig

    def __init__(self, robot: str, skill: int) -> None:
        """Walk with one skill."""
        super().__init__((skill,), SECONDS, settle=1.0)
        self.walk = Walk(robot, skill)
        self._reckoning: DeadReckoning | None = None

    def next_request(self, state: ControllerState, now: float) -> OperatorRequest:
        """Measure, then follow the script."""
        estimate = self.rig.controller.estimate
        assert estimate is not None
        if state is ControllerState.WALK and self._reckoning is None:
            self._reckoning = DeadReckoning(now)
            self._start = self._position()
        if self._reckoning is not None:
            self.walk.at_rest = dist(self._position(), self._start)
            self.done = state is ControllerState.READY
        if self._reckoning is not None and state is ControllerState.WALK:
            self._reckoning.update(estimate, now)
            self.walk.estimated = self._reckoning.distance
            self.walk.true = self.walk.at_rest
            if self.walk.estimated < BOUND:
                self.walk.at_bound = self.walk.true
        return super().next_request(state, now)

    def _position(self) -> list[float]:
        """Return the true position of the base on the ground [m]."""
        if isinstance(self.rig, BoardRig):
            motion = self.rig.board.body.plant.motion()
        else:
            motion = self.rig.body.robot.motion
        place: list[float] = motion.base_position_w[:2].tolist()
        return place


def walks() -> Iterator[Walk]:
    """Walk with every skill in PyBullet and behind the virtual board."""
    for kind, robot in ((Rig, "PyBullet"), (BoardRig, "virtual board")):
        for skill in SKILLS:
            script = WatchedScript(robot, skill)
            script.rig = kind(operator=script)
            script.rig.limit += script.rig.clock.now_ns() * 1e-9
            script.rig.run()
            assert script.done, f"{robot}, skill {skill}: {script.rig.problems}"
            yield script.walk


@benchmark(unit="m", at_most=1.0)
def walk_distance() -> Pairs:
    """Error of the estimated distance after 10 s of three skills against a tenth of the true one.

    Prints a table.
    """
    pairs = []
    _write("robot", "skill", "estimated", "true", "error", "true at 2 m", "to rest")
    _write(*7 * ["---"])
    for walk in walks():
        error = walk.estimated - walk.true
        pairs.append((abs(error), ACCURACY * walk.true))
        distances = [f"{distance:.2f} m" for distance in (walk.estimated, walk.true)]
        further = [f"{walk.at_bound:.2f} m", f"{walk.at_rest - walk.true:.2f} m"]
        _write(walk.robot, str(walk.skill), *distances, f"{error / walk.true:+.1%}", *further)
    return pairs


def _write(*cells: str) -> None:
    sys.stderr.write(f"| {' | '.join(cells)} |\n")
    sys.stderr.flush()
