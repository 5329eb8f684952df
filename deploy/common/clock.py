"""Ticks at absolute deadlines of the monotonic clock, and how late each began."""

from __future__ import annotations

import time

import numpy as np


class Samples:
    """The last million of numbers, in memory that is there from the beginning."""

    def __init__(self, most: int = 1_000_000) -> None:
        """Keep the last `most`."""
        self._kept = np.ones(
            most
        )  # not zeros, whose pages would be mapped only when they are written
        self.count = 0

    def add(self, value: float) -> None:
        """Keep a number, in the place of the oldest."""
        self._kept[self.count % len(self._kept)] = value
        self.count += 1

    def values(self) -> np.ndarray:
        """Return the numbers that are kept, in no order."""
        return self._kept[: min(self.count, len(self._kept))]


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

    def __init__(
        self, period: float, *, catch_up: bool = False, most: int = 1_000_000, clock: Clock = CLOCK
    ) -> None:
        """Begin now; keep the lateness of the last `most` ticks."""
        self._clock, self._catch_up = clock, catch_up
        self._period = round(period * 1e9)
        self.start_ns = self._deadline = clock.now_ns()
        self._late = Samples(most)
        self.skipped = 0

    def wait(self) -> int:
        """Sleep until the next deadline; return how late it is [ns]."""
        self._deadline += self._period
        left = self._deadline - self._clock.now_ns()
        if left > 0:
            self._clock.sleep(left * 1e-9)
        late = self._clock.now_ns() - self._deadline
        self._late.add(late * 1e-9)
        if late > self._period and not self._catch_up:
            lost = late // self._period
            self._deadline += lost * self._period
            self.skipped += lost
        return late

    @property
    def ticks(self) -> int:
        """How many there were."""
        return self._late.count

    def lateness(self) -> np.ndarray:
        """Lateness of the ticks that are remembered [s]."""
        return self._late.values()


def percentiles(seconds: np.ndarray) -> dict[str, float]:
    """Return p50, p99, p99.9 and the largest, in microseconds."""
    if not len(seconds):
        return {}
    values = np.percentile(seconds, [50, 99, 99.9, 100]) * 1e6
    return dict(
        zip(("p50_us", "p99_us", "p99.9_us", "max_us"), np.round(values, 1).tolist(), strict=True)
    )
