"""Search for index pulses: each joint swings gently about its position until it passes one."""

from __future__ import annotations

import math

import numpy as np

from deploy.common.robot_constants import TICK
from deploy.robots.odri.wire.protocol import Flags
from solo_doi.solo12.constants import Array

from .calibration import PITCH

AMPLITUDE = 0.6 * PITCH
"""Amplitude of the swing: more than half a pitch, so that at least one index is passed [rad]."""
SWING_SECONDS = 3.0
"""Duration of one sine period of the swing; the largest velocity is 0.9 rad/s [s]."""


class IndexSearch:
    """Joint targets of an index search, in which only the active joints swing."""

    def __init__(self, active: Flags, start: Array, direction: Array) -> None:
        """Start at `start`; active joints first move in their direction (+1 or -1)."""
        self._active = active
        self._start = start
        self._direction = direction
        self._target = start
        self._time = 0.0

    def step(self, seen: Flags) -> Array:
        """Return targets for the next tick, (12,) [rad]; a joint stops once its index is seen."""
        self._time += TICK
        swing = AMPLITUDE * math.sin(math.tau * min(self._time / SWING_SECONDS, 1.0))
        self._target = np.where(
            self._active & ~seen, self._start + self._direction * swing, self._target
        )
        return self._target

    @property
    def has_ended(self) -> bool:
        """True if the swing is over; each joint must have passed an index by then."""
        return self._time >= SWING_SECONDS
