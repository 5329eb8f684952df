"""Walk statistics from onboard estimates."""

from __future__ import annotations

import math

from deploy.common.robot_constants import TICK
from deploy.common.sensors import Sensors
from deploy.common.state_machine import ControllerState
from deploy.common.walk_summary import FALL_TILT, STARTUP_SECONDS, WalkSummary
from solo_doi.solo12.estimator import Estimate
from solo_doi.solo12.state import mechanical_power


class Odometry:
    """Summary of a walk by the robot's sensors and estimates, without ground truth."""

    def __init__(self) -> None:
        """Start before the first tick."""
        self._walking = False
        self._fallen = False
        self._ticks = 0
        self._steady_ticks = 0
        self._falls = 0
        self._distance = 0.0
        self._velocity_sum = 0.0
        self._commanded_sum = 0.0
        self._energy = 0.0

    def update(
        self,
        state: ControllerState,
        sensors: Sensors | None,
        estimate: Estimate | None,
        commanded: float,
    ) -> None:
        """Add a tick; `commanded` is the forward velocity that the policy receives [m/s]."""
        walked_before = self._walking
        self._walking = state is ControllerState.WALK
        if sensors is None or estimate is None or not (walked_before or self._walking):
            return
        # A fall is a fault, which ends the walk in the same tick, so that tick is checked too.
        fallen = float(-estimate.gravity_b[2]) < math.cos(FALL_TILT)
        self._falls += fallen and not self._fallen
        self._fallen = fallen
        if not self._walking:
            return
        forward, sideways, _ = estimate.velocity_b.tolist()
        self._ticks += 1
        self._distance += math.hypot(forward, sideways) * TICK
        self._energy += float(mechanical_power(sensors.joint_torque, sensors.joint_velocity)) * TICK
        if self._ticks > STARTUP_SECONDS / TICK:
            self._steady_ticks += 1
            self._velocity_sum += forward
            self._commanded_sum += commanded

    def summary(self) -> WalkSummary:
        """Return the figures of the walk so far, marked as estimated."""
        steady_ticks = max(self._steady_ticks, 1)
        return WalkSummary(
            walked_seconds=self._ticks * TICK,
            distance=self._distance,
            velocity=self._velocity_sum / steady_ticks,
            falls=self._falls,
            energy=self._energy,
            commanded=self._commanded_sum / steady_ticks,
            estimated=True,
        )
