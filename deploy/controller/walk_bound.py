"""Bound of a walk: the walk ends at a distance from the place where it began."""

from __future__ import annotations

import math

from deploy.common.sensors import Sensors
from deploy.common.state_machine import ControllerState
from deploy.messages.walk_end_message import WalkEnd
from solo_doi.solo12.estimator import Estimate


class DeadReckoning:
    """Horizontal position relative to the start, from the estimated motion of the base.

    The position is NaN after any input that is not finite. Plain numbers instead of arrays, for
    speed in every tick.
    """

    def __init__(self, time: float) -> None:
        """Start at the origin, heading along x; `time` is on the robot's clock [s]."""
        self._started_at = time
        self._time = time
        self._x = 0.0
        self._y = 0.0
        self._yaw = 0.0

    @property
    def position(self) -> tuple[float, float]:
        """Position ahead and to the left of the start, in its heading [m]."""
        return self._x, self._y

    @property
    def distance(self) -> float:
        """Distance from the start, in any direction [m]."""
        return math.hypot(self._x, self._y)

    @property
    def seconds(self) -> float:
        """Time since the start [s]."""
        return self._time - self._started_at

    def update(self, estimate: Estimate, time: float) -> None:
        """Integrate an estimate over the time since the last one; `time` is the robot's [s]."""
        # The robot's clock, not the number of ticks, so that skipped ticks and lost states count.
        passed = time - self._time
        dt = max(0.0, passed)
        forward, sideways, _ = estimate.velocity_b.tolist()
        turn = dt * float(estimate.angular_velocity_b[2])
        heading = self._yaw + 0.5 * turn  # in the middle of the step
        # Checked here, because the cosine of infinity raises an exception.
        if not all(map(math.isfinite, (passed, forward, sideways, heading))):
            self._x = self._y = self._yaw = math.nan
            return
        self._time += dt
        cosine = math.cos(heading)
        sine = math.sin(heading)
        self._x += dt * (cosine * forward - sine * sideways)
        self._y += dt * (sine * forward + cosine * sideways)
        self._yaw += turn


class WalkBound:
    """Ends every walk at a distance from its own start."""

    def __init__(self, distance: float | None) -> None:
        """Set the bound [m]; None means no bound."""
        self._bound = distance
        self._reckoning: DeadReckoning | None = None

    def update(
        self, state: ControllerState, sensors: Sensors | None, estimate: Estimate | None
    ) -> WalkEnd | None:
        """Process a tick; return the end of the walk in the tick that reaches the bound."""
        walking = state is ControllerState.WALK
        if self._bound is None or not walking or sensors is None or estimate is None:
            self._reckoning = None
            return None
        if self._reckoning is None:
            self._reckoning = DeadReckoning(sensors.time)
        self._reckoning.update(estimate, sensors.time)
        distance = self._reckoning.distance
        if distance < self._bound:
            return None
        # NaN, an unknown distance, ends the walk too: the comparison above is false for it.
        return WalkEnd(distance, self._reckoning.seconds)
