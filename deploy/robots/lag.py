"""What is missing to the delay that policies were trained with, added by simulated robots."""

from __future__ import annotations

from collections import deque

from solo_doi.solo12.state import JointCommand

from .robot import TICK


class Lag:
    """Commands act when the measurements behind them are as old as in training; damping acts at once."""

    def __init__(self, lag: float, first: JointCommand) -> None:
        """Let `first` act until another one does."""
        self._lag = lag
        self._waiting: deque[tuple[JointCommand, float]] = deque()
        self._acting = first, 0.0

    def take(self, command: JointCommand, observed: float, now: float) -> tuple[JointCommand, float]:
        """Take a command; return the one that acts now, and the time of the measurement behind it."""
        if command.kp == 0.0:
            self._waiting.clear()
            self._acting = command, observed
        else:
            self._waiting.append((command, observed))
        while self._waiting and self._waiting[0][1] + self._lag <= now + TICK / 2:
            self._acting = self._waiting.popleft()
        return self._acting
