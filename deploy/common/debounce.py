"""Debouncing: a condition becomes a fault only when it lasts or recurs."""

from __future__ import annotations

from collections import deque

WINDOW_TICKS = 100
"""Length of the window of a rolling count [ticks]."""


class HoldTimer:
    """Debounce in time: expires when a condition holds without interruption."""

    def __init__(self, hold_time: float) -> None:
        """Expire after the condition has held for `hold_time` seconds."""
        self._hold_time = hold_time
        self._since: float | None = None

    def expired(self, condition: bool, now: float) -> bool:  # the watched condition
        """Return True if the condition has held for the hold time; `now` is in seconds."""
        if not condition:
            self._since = None
            return False
        if self._since is None:
            self._since = now
        return now - self._since >= self._hold_time


class RollingCount:
    """Rolling count of bad events in the last `WINDOW_TICKS` ticks."""

    def __init__(self, largest: int) -> None:
        """Tolerate counts up to `largest`."""
        self._largest = largest
        self._bad: deque[int] = deque(maxlen=WINDOW_TICKS)
        self.count = 0

    @property
    def largest(self) -> int:
        """Largest number of bad events of one tick in the window."""
        return max(self._bad, default=0)

    def exceeded(self, bad: int) -> bool:
        """Add the bad events of a tick; return True if the window holds too many."""
        if len(self._bad) == self._bad.maxlen:
            self.count -= self._bad[0]
        self._bad.append(bad)
        self.count += bad
        return self.count > self._largest
