"""Ticks at absolute deadlines of the monotonic clock, and how late each began."""

from __future__ import annotations

import time

import numpy as np


class Clock:
    """The time that robot, controller and operators of one host share; tests bring one that stands still."""

    def now_ns(self) -> int:
        """Monotonic: setting the date does not move it [ns]."""
        return time.monotonic_ns()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)


CLOCK = Clock()


class Ticker:
    """Wakes at multiples of a period; lateness does not add up.

    After a stall a controller skips the ticks it missed, as their time does not come back; a simulated robot
    catches up with them, as its time must not stand still.
    """

    def __init__(self, period: float, *, catch_up: bool = False, most: int = 1_000_000, clock: Clock = CLOCK) -> None:
        """Begin now; keep the lateness of the last `most` ticks."""
        self._clock, self._catch_up = clock, catch_up
        self._period = round(period * 1e9)
        self.start_ns = self._deadline = clock.now_ns()
        self._late = np.zeros(most, dtype=np.int64)
        self.ticks = 0
        self.skipped = 0

    def wait(self) -> int:
        """Sleep until the next deadline; return how late it is [ns]."""
        self._deadline += self._period
        left = self._deadline - self._clock.now_ns()
        if left > 0:
            self._clock.sleep(left * 1e-9)
        late = self._clock.now_ns() - self._deadline
        self._late[self.ticks % len(self._late)] = late
        self.ticks += 1
        if late > self._period and not self._catch_up:
            lost = late // self._period
            self._deadline += lost * self._period
            self.skipped += lost
        return late

    def lateness(self) -> np.ndarray:
        """Lateness of the ticks that are remembered [s]."""
        return self._late[: min(self.ticks, len(self._late))] * 1e-9
