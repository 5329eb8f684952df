"""Joints that lie beyond their limit when motors are switched on: they may come back, not go further."""

from __future__ import annotations

from operator import gt

from solo_doi.solo12.constants import Array

NOISE = 0.02
"""How far apart two measurements of a joint that rests may be [rad]."""


class RelaxedLimits:
    """Limits of joint positions that reach as far as joints were found outside, until these are back inside.

    A robot on its belly has its knees folded further than any policy may; damped, it gets there by its weight.
    """

    def __init__(self, limit: Array) -> None:
        """Allow nothing beyond `limit` until a robot is found beyond it."""
        self._limit: list[float] = limit.tolist()
        self._allowed = self._limit

    def relax_to(self, position: Array) -> None:
        """Allow where the joints outside are now, nothing to those inside: motors are about to be switched on."""
        joints = zip(self._limit, position.tolist(), strict=True)
        self._allowed = [
            abs(angle) + NOISE if abs(angle) > limit else limit for limit, angle in joints
        ]

    def violated_joint(self, position: Array) -> int | None:
        """Return the first joint that is beyond what is allowed, if any."""
        # Plain numbers: arrays of twelve take five times as long, in every tick of two processes.
        sizes = [*map(abs, position.tolist())]
        outside = [*map(gt, sizes, self._allowed)]
        if self._allowed != self._limit:
            joints = zip(self._limit, self._allowed, sizes, strict=True)
            self._allowed = [limit if size <= limit else allowed for limit, allowed, size in joints]
        return outside.index(True) if True in outside else None
