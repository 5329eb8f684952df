"""Walk statistics from onboard estimates."""

from __future__ import annotations

import math
from typing import Any

from deploy.common.robot import TICK, Sensors
from deploy.common.state_machine import State
from deploy.common.walk_summary import FALL_TILT, START
from solo_doi.solo12.estimator import Estimate
from solo_doi.solo12.state import mechanical_power


class Reckoning:
    """A walk by what the robot itself measures and estimates: all there is of a real one, where nobody knows better."""

    def __init__(self) -> None:
        """Begin before the first tick."""
        self._walking = self._down = False
        self._ticks = self._moving = self._falls = 0
        self._distance = self._velocity = self._commanded = self._energy = 0.0

    def look(
        self, state: State, sensors: Sensors | None, estimate: Estimate | None, command: float
    ) -> None:
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
