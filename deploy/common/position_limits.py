"""Position limits that let joints found outside return, but not move further out."""

from __future__ import annotations

from operator import gt

from solo_doi.solo12.constants import Array

NOISE = 0.02
"""Largest difference between two measurements of a joint at rest [rad]."""


class RelaxedLimits:
    """Joint position limits, widened for joints found outside until they are back inside.

    The knees of a robot on its belly are folded further than the limit: its weight folds them
    while the motors are damped.
    """

    def __init__(self, limit: Array) -> None:
        """Start with the limits themselves, (12,) [rad]."""
        self._limit: list[float] = limit.tolist()
        self._allowed = self._limit

    def relax_to(self, position: Array) -> None:
        """Widen the limits to joints that are outside now, when motors are switched on."""
        allowed = []
        for limit, angle in zip(self._limit, position.tolist(), strict=True):
            if abs(angle) > limit:
                allowed.append(abs(angle) + NOISE)
            else:
                allowed.append(limit)
        self._allowed = allowed

    def violated_joint(self, position: Array) -> int | None:
        """Return the first joint beyond its current limit, if any; narrow the limits again."""
        # Plain numbers, since arrays of twelve take five times as long in every tick.
        sizes = [*map(abs, position.tolist())]
        outside = [*map(gt, sizes, self._allowed)]
        if self._allowed != self._limit:
            joints = zip(self._limit, self._allowed, sizes, strict=True)
            self._allowed = [limit if size <= limit else allowed for limit, allowed, size in joints]
        if True in outside:
            return outside.index(True)
        return None
