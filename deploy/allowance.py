"""Joints that lie beyond their limit when motors are switched on: they may come back, not go further."""

from __future__ import annotations

import numpy as np

from solo_doi.solo12.constants import Array

SLACK = 0.2
"""How far a joint may still go out, while the motors are too weak to turn it back [rad]."""


class Allowance:
    """Limits of joint positions that are wider for joints found outside, and shrink as these return.

    A robot on its belly has its knees folded further than any policy may; damped, it gets there by its weight.
    """

    def __init__(self, limit: Array) -> None:
        """Allow nothing beyond `limit` until a robot is found beyond it."""
        self._limit = limit
        self._allowed = limit

    def start(self, position: Array) -> None:
        """Allow where the joints are now: motors are about to be switched on."""
        self._allowed = np.maximum(self._limit, np.abs(position) + SLACK)

    def beyond(self, position: Array) -> int | None:
        """Return the first joint that is beyond what is allowed, if any."""
        size = np.abs(position)
        outside = size > self._allowed
        self._allowed = np.maximum(self._limit, np.minimum(self._allowed, size + SLACK))
        return int(np.argmax(outside)) if outside.any() else None
