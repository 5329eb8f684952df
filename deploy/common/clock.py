"""Ticks at absolute deadlines of the monotonic clock, and their lateness."""

from __future__ import annotations

import time

import numpy as np


class Samples:
    """Ring buffer of the last million numbers, in preallocated memory."""

    def __init__(self, most: int = 1_000_000) -> None:
        """Keep the last `most` numbers."""
        # Filled with ones: pages of zeros would be mapped only at their first write, in a tick.
        self._kept = np.ones(most)
        self.count = 0

    def add(self, value: float) -> None:
        """Store a number in place of the oldest."""
        self._kept[self.count % len(self._kept)] = value
        self.count += 1

    def values(self) -> np.ndarray:
        """Return the stored numbers, in any order."""
        return self._kept[: min(self.count, len(self._kept))]


class Clock:
    """Monotonic clock that all processes of a host share; tests replace it."""

    def now_ns(self) -> int:
        """Return the monotonic time, which does not depend on the date [ns]."""
        return time.monotonic_ns()

    def sleep(self, seconds: float) -> None:
        """Sleep for a duration [s]."""
        time.sleep(seconds)


CLOCK = Clock()


class Ticker:
    """Wakes at multiples of a period; lateness does not accumulate.

    After a stall, missed ticks are skipped by default, as the controller needs: their time is past.
    With `catch_up` they are made up for, as a simulated robot needs: its time must not stop.
    """

    def __init__(
        self, period: float, *, catch_up: bool = False, most: int = 1_000_000, clock: Clock = CLOCK
    ) -> None:
        """Start now, with a period in seconds; store the lateness of the last `most` ticks."""
        self._clock = clock
        self._catch_up = catch_up
        self._period = round(period * 1e9)
        self.start_ns = self._deadline = self._due = clock.now_ns()
        self._late = Samples(most)
        self.skipped = 0

    def wait(self) -> int:
        """Sleep until the next deadline; return the lateness [ns]."""
        self._deadline += self._period
        self._due = self._deadline
        left = self._deadline - self._clock.now_ns()
        if left > 0:
            self._clock.sleep(left * 1e-9)
        now = self._clock.now_ns()
        self._late.add((now - self._due) * 1e-9)
        if not self._catch_up:
            self._skip(now)
        return now - self._due

    def stalled(self, now_ns: int) -> int:
        """Skip the ticks missed since `wait` returned; return the lateness of this tick [ns].

        A loop calls it before it judges the age of messages. A stall in the middle of a tick then
        counts in this tick, as a stall before it does.
        """
        self._skip(now_ns)
        return now_ns - self._due

    def _skip(self, now_ns: int) -> None:
        late = now_ns - self._deadline
        if late > self._period:
            lost = late // self._period
            self._deadline += lost * self._period
            self.skipped += lost

    @property
    def ticks(self) -> int:
        """Number of ticks so far."""
        return self._late.count

    def lateness(self) -> np.ndarray:
        """Return the lateness of the stored ticks [s]."""
        return self._late.values()


def percentiles(seconds: np.ndarray) -> dict[str, float]:
    """Return p50, p99, p99.9 and the maximum of durations [us]; empty without durations."""
    if not len(seconds):
        return {}
    values = np.percentile(seconds, [50, 99, 99.9, 100]) * 1e6
    names = ("p50_us", "p99_us", "p99.9_us", "max_us")
    return dict(zip(names, np.round(values, 1).tolist(), strict=True))
