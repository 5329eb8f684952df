"""Rate limit of joint targets: single large steps are allowed, a high sustained rate is not."""

from __future__ import annotations

import numpy as np

from solo_doi.solo12.constants import NUM_JOINTS, Array


class RateLimit:
    """Leaky bucket per joint: every movement of a target fills it, in either direction."""

    def __init__(self, most: float, rate: float) -> None:
        """Set the capacity [rad] and the leak rate [rad/s] of each bucket."""
        self._most = most
        self._rate = rate
        self._level = np.zeros(NUM_JOINTS)
        self._time: float | None = None

    def leak(self, now: float) -> None:
        """Drain the buckets until `now`, on the robot's clock [s]."""
        if self._time is not None:
            self._level = np.maximum(0.0, self._level - self._rate * max(0.0, now - self._time))
        self._time = now

    def add(self, step: Array) -> tuple[int, float] | None:
        """Add the magnitudes of a command's target changes, (12,) [rad].

        Return the joint with the fullest bucket and its level [rad] if it is above the capacity.
        """
        self._level = self._level + step
        joint = int(np.argmax(self._level))
        if self._level[joint] > self._most:
            return joint, float(self._level[joint])
        return None
