"""How far joint targets have moved of late: a limit of their rate that leaves room for single long steps."""

from __future__ import annotations

import numpy as np

from solo_doi.solo12.constants import NUM_JOINTS, Array


class Travel:
    """A bucket per joint that every movement of its target fills, back and forth alike, and that leaks with time."""

    def __init__(self, most: float, rate: float) -> None:
        """Hold at most so much [rad], and leak at this rate [rad/s]."""
        self._most, self._rate = most, rate
        self._level = np.zeros(NUM_JOINTS)
        self._time: float | None = None

    def leak(self, now: float) -> None:
        """Let time pass until `now`, on the robot's own clock [s]."""
        if self._time is not None:
            self._level = np.maximum(0.0, self._level - self._rate * max(0.0, now - self._time))
        self._time = now

    def add(self, step: Array) -> tuple[int, float] | None:
        """Take the movements of a command, (12,) [rad]; return the joint for which it was too much, and how much."""
        self._level = self._level + step
        joint = int(np.argmax(self._level))
        return (joint, float(self._level[joint])) if self._level[joint] > self._most else None
