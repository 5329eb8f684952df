"""Joints that lie beyond their limit when motors are switched on: they may come back, not go further."""

from __future__ import annotations

from operator import gt

from solo_doi.solo12.constants import Array

SLACK = 0.2
"""How far a joint may still go out, while the motors are too weak to turn it back [rad]."""


class Allowance:
    """Limits of joint positions that are wider for joints found outside, and shrink as these return.

    A robot on its belly has its knees folded further than any policy may; damped, it gets there by its weight.
    """

    def __init__(self, limit: Array) -> None:
        """Allow nothing beyond `limit` until a robot is found beyond it."""
        self._limit: list[float] = limit.tolist()
        self._allowed = self._limit

    def start(self, position: Array) -> None:
        """Allow where the joints are now: motors are about to be switched on."""
        self._allowed = [
            max(limit, abs(angle) + SLACK) for limit, angle in zip(self._limit, position.tolist(), strict=True)
        ]

    def beyond(self, position: Array) -> int | None:
        """Return the first joint that is beyond what is allowed, if any."""
        # Plain numbers: arrays of twelve take five times as long, in every tick of two processes.
        sizes = [*map(abs, position.tolist())]
        outside = [*map(gt, sizes, self._allowed)]
        if self._allowed != self._limit:
            joints = zip(self._limit, self._allowed, sizes, strict=True)
            self._allowed = [max(limit, min(allowed, size + SLACK)) for limit, allowed, size in joints]
        return outside.index(True) if True in outside else None
