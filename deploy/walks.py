"""What counts as walking, and as a fall."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from solo_doi.solo12.estimator import Estimate
from solo_doi.solo12.state import mechanical_power

from .robots.robot import TICK, Sensors
from .state_machine import State

FALL_TILT = 1.0
"""Tilt from which on a walking robot has fallen [rad]."""
START = 1.0
"""What the mean velocity leaves out: the robot starts from standing [s]."""
SHORTEST = START + 0.5
"""Walk from which on anybody can tell whether the robot walked: a stride of a slow skill more [s]."""


def walk_of(track: list[list[float]], history: list[dict[str, Any]]) -> dict[str, Any]:
    """What a virtual board's track tells of a walk: the same as a simulator's witness, looked at every ten ticks."""
    rows = np.array(track, dtype=np.float64).reshape(-1, 8)
    ends = [*(entry["time"] for entry in history), np.inf][1:]
    times = [
        (entry["time"], end) for entry, end in zip(history, ends, strict=True) if entry["state"] == State.WALK.name
    ]
    walking = np.zeros(len(rows), dtype=bool)
    for begin, end in times:
        walking |= (rows[:, 0] >= begin) & (rows[:, 0] < end)
    steady = walking & (rows[:, 0] >= min((begin for begin, _ in times), default=0.0) + START)
    steps = np.hypot(*np.diff(rows[walking][:, 1:3], axis=0).T)
    down = (rows[walking][:, 5] > FALL_TILT) | (rows[walking][:, 6] > 0.0)
    return {
        "walked_seconds": float(sum(end - begin for begin, end in times if end < np.inf)),
        "distance": float(steps.sum()),
        "velocity": float(rows[steady, 4].mean()) if steady.any() else 0.0,
        "falls": int(np.count_nonzero(np.diff(down.astype(int)) == 1)),
        "energy": float(rows[walking][:, 7].sum()),
    }


class Reckoning:
    """A walk by what the robot itself measures and estimates: all there is of a real one, where nobody knows better."""

    def __init__(self) -> None:
        """Begin before the first tick."""
        self._walking = self._down = False
        self._ticks = self._moving = self._falls = 0
        self._distance = self._velocity = self._commanded = self._energy = 0.0

    def look(self, state: State, sensors: Sensors | None, estimate: Estimate | None, command: float) -> None:
        """Take a tick into account; `command` is the velocity ahead that the policy was asked for [m/s]."""
        before, self._walking = self._walking, state is State.WALK
        if sensors is None or estimate is None or not (before or self._walking):
            return
        # A robot that falls is damped in that tick: the tick after a walk counts, too.
        down = float(-estimate.gravity_b[2]) < math.cos(FALL_TILT)
        self._falls += down and not self._down
        self._down = down
        if not self._walking:
            return
        ahead, sideways, _ = estimate.velocity_b.tolist()
        self._ticks += 1
        self._distance += math.hypot(ahead, sideways) * TICK
        self._energy += float(mechanical_power(sensors.joint_torque, sensors.joint_velocity)) * TICK
        if self._ticks > START / TICK:
            self._moving += 1
            self._velocity += ahead
            self._commanded += command

    def report(self) -> dict[str, Any]:
        """Return the figures of a witness, and the velocity that was asked for; marked as estimated."""
        moving = max(self._moving, 1)
        return {
            "walked_seconds": self._ticks * TICK, "distance": self._distance, "velocity": self._velocity / moving,
            "falls": self._falls, "energy": self._energy, "commanded": self._commanded / moving, "estimated": True,
        }  # fmt: skip
