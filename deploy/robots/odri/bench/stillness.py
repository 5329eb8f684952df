"""Detection of joints at rest: people often confirm before their hands are off the robot."""

from __future__ import annotations

import numpy as np

from deploy.common.robot_constants import TICK
from solo_doi.solo12.constants import NUM_JOINTS, Array

MOTION = 0.01
"""Largest movement of a joint at rest [rad]."""
DURATION = 0.5
"""Time without movement after which joints are at rest [s]."""


class Stillness:
    """Processes joint positions once per tick."""

    def __init__(self) -> None:
        """Start without a position."""
        self._position = np.full(NUM_JOINTS, np.inf)
        self._time = 0.0

    def rests(self, position: Array) -> bool:
        """Add a position; return True if all joints are at rest."""
        self._time += TICK
        if (np.abs(position - self._position) > MOTION).any():
            self._position = position
            self._time = 0.0
        return self._time >= DURATION
