"""Whether joints rest: hands let go of a robot later than people say."""

from __future__ import annotations

import numpy as np

from deploy.common.robot_constants import TICK
from solo_doi.solo12.constants import NUM_JOINTS, Array

MOTION = 0.01
"""Largest change of a joint that rests [rad]."""
DURATION = 0.5
"""How long it must rest [s]."""


class Stillness:
    """Fed with joint positions once per tick."""

    def __init__(self) -> None:
        """Begin anew."""
        self._position = np.full(NUM_JOINTS, np.inf)
        self._time = 0.0

    def rests(self, position: Array) -> bool:
        """Whether all joints have stayed where they are for long enough."""
        self._time += TICK
        if (np.abs(position - self._position) > MOTION).any():
            self._position, self._time = position, 0.0
        return self._time >= DURATION
