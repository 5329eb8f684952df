"""Slow motions between poses: standing up and lying down."""

from __future__ import annotations

import numpy as np

from solo_doi.solo12.constants import Array, symmetric_pose

LYING = symmetric_pose(0.05, 1.0, -2.43)
"""Joint angles of the lying pose: folded legs, feet at their standing places [rad].

The feet therefore do not slide while the robot stands up or lies down.
When the motors are damped, the belly sinks to the ground.
"""
LYING_HEIGHT = 0.126
"""Height of the base in the lying pose, with feet on the ground [m]."""


class Glide:
    """Minimum-jerk path of joint targets, without steps in position or velocity at its ends."""

    def __init__(self, start: Array, end: Array, duration: float) -> None:
        """Move from `start` to `end` in `duration` seconds."""
        self._start = start.copy()
        self._end = end
        self._duration = duration

    def target(self, time: float) -> Array:
        """Return the joint targets at a time since the start [s]."""
        progress = 1.0  # also for a duration of zero
        if time < self._duration:
            progress = max(time / self._duration, 0.0)
        blend = progress**3 * (10 - 15 * progress + 6 * progress**2)
        target: Array = np.add(self._start, blend * (self._end - self._start))
        return target

    def arrived(self, time: float) -> bool:
        """Return True if the path has ended."""
        return time >= self._duration
