"""Detection of joints at rest; a confirmation may come before hands are off the robot."""

from __future__ import annotations

import numpy as np

from deploy.common.robot_constants import TICK
from solo_doi.solo12.constants import NUM_JOINTS, Array

LARGEST_MOVEMENT = 0.01
"""Largest movement of a joint at rest [rad]."""
STILL_SECONDS = 0.5
"""Time without movement after which joints are at rest [s]."""


class Stillness:
    """Detects rest from joint positions, one call of `rests` per tick."""

    def __init__(self) -> None:
        """Start without a position."""
        self._position = np.full(NUM_JOINTS, np.inf)
        self._time = 0.0

    def rests(self, position: Array) -> bool:
        """Add a position; return True if all joints are at rest."""
        self._time += TICK
        if (np.abs(position - self._position) > LARGEST_MOVEMENT).any():
            self._position = position
            self._time = 0.0
        return self._time >= STILL_SECONDS
