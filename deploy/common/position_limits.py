"""Position limits for joints that start outside: they may move back in, but not further out."""

from __future__ import annotations

from operator import gt

from solo_doi.solo12.constants import Array

NOISE = 0.02
"""Largest difference between two measurements of a joint at rest [rad]."""


class RelaxedLimits:
    """Joint position limits, widened for joints that start outside until they are back inside.

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
        """Return the first joint beyond its current limit, if any.

        The limit of a joint that is back inside is no longer widened.
        """
        # Plain numbers: numpy takes five times as long for twelve values, in every tick.
        sizes = [*map(abs, position.tolist())]
        outside = [*map(gt, sizes, self._allowed)]
        if self._allowed != self._limit:
            joints = zip(self._limit, self._allowed, sizes, strict=True)
            self._allowed = [limit if size <= limit else allowed for limit, allowed, size in joints]
        if True in outside:
            return outside.index(True)
        return None
