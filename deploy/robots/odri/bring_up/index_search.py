"""The movement that finds index pulses: each joint swings gently about where it is, until it has seen one."""

from __future__ import annotations

import math

import numpy as np

from deploy.common.robot_constants import TICK
from deploy.robots.odri.wire.protocol import Flags
from solo_doi.solo12.constants import Array

from .calibration import PITCH

AMPLITUDE = 0.6 * PITCH
"""More than half a pitch to either side, so that at least one index is passed [rad]."""
DURATION = 3.0
"""Of a whole swing, there, across and back [s]; the fastest moment is 0.9 rad/s."""


class IndexSearch:
    """Targets of joints, some of which search."""

    def __init__(self, active: Flags, start: Array, direction: Array) -> None:
        """Begin at `start`, the active joints going in their direction (+1 or -1) first."""
        self._active, self._start, self._direction = active, start, direction
        self._target = start
        self._time = 0.0

    def step(self, seen: Flags) -> Array:
        """Return targets (12,) for the next tick; a joint that has seen its index stays there."""
        self._time += TICK
        swing = AMPLITUDE * math.sin(math.tau * min(self._time / DURATION, 1.0))
        self._target = np.where(
            self._active & ~seen, self._start + self._direction * swing, self._target
        )
        return self._target

    @property
    def has_ended(self) -> bool:
        """Whether the swing is over: who has seen no index by now has none."""
        return self._time >= DURATION
