"""Slow motions between poses: standing up and lying down."""

from __future__ import annotations

import numpy as np

from solo_doi.solo12.constants import Array, symmetric_pose

LYING = symmetric_pose(0.05, 1.0, -2.43)
"""Legs folded with the feet where they stood, so that none has to slide; damped, the robot settles on its belly."""
LYING_HEIGHT = 0.126
"""Height of the base in that pose, feet on the ground [m]."""


class Glide:
    """Joint targets on a smooth path: no jump in position or velocity at either end."""

    def __init__(self, start: Array, end: Array, duration: float) -> None:
        """Go from `start` to `end` in `duration` seconds."""
        self._start, self._end, self._duration = start.copy(), end, duration

    def target(self, time: float) -> Array:
        """Return the targets at a time since the start [s]."""
        share = 1.0 if time >= self._duration else max(time / self._duration, 0.0)
        blend = share**3 * (10 - 15 * share + 6 * share**2)  # least jerk
        target: Array = np.add(self._start, blend * (self._end - self._start))
        return target

    def arrived(self, time: float) -> bool:
        """Whether the path has ended."""
        return time >= self._duration
