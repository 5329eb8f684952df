"""Debouncing: a condition becomes a fault only when it lasts or recurs."""

from __future__ import annotations

from collections import deque


class Lasting:
    """A condition that is a fault only if it lasts."""

    def __init__(self, patience: float) -> None:
        """Bear the condition for `patience` seconds."""
        self._patience = patience
        self._since: float | None = None

    def over(self, condition: bool, now: float) -> bool:  # the thing that is watched
        """Whether the condition has lasted for too long."""
        if not condition:
            self._since = None
            return False
        if self._since is None:
            self._since = now
        return now - self._since >= self._patience


class Share:
    """How much was bad in the last hundred ticks."""

    def __init__(self, most: int) -> None:
        """Bear so much."""
        self._most = most
        self._bad: deque[int] = deque(maxlen=100)
        self.count = 0

    def over(self, bad: int) -> bool:
        """Take a tick's number of bad things; return whether there are too many."""
        if len(self._bad) == self._bad.maxlen:
            self.count -= self._bad[0]
        self._bad.append(bad)
        self.count += bad
        return self.count > self._most
