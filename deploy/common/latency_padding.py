"""What is missing to the delay that policies were trained with, added on the way to the motors."""

from __future__ import annotations

from collections import deque
from math import inf
from typing import NamedTuple

from deploy.common.robot_constants import TICK
from solo_doi.solo12.state import JointCommand

MOST = 64
"""Commands that may wait: four times as many as the trained delay makes at one per tick."""


class _Taken(NamedTuple):
    command: JointCommand
    observed: float
    due: float
    taken: float


class Lag:
    """Commands act when the measurements behind them are as old as in training; damping acts at once.

    Whatever is said of measurements, and however irregularly this is called: none waits for longer than the lag, as
    one with a measurement that is yet to come counts from when it was taken; and none acts for longer than the lag
    after it was last taken, if another waits. So with a gate that follows commands for 20 ms, what acts came to the
    robot no longer ago than the lag, these 20 ms and a tick.
    """

    def __init__(self, lag: float, first: JointCommand) -> None:
        """Let `first` act until another one does."""
        self._lag = lag
        self._waiting: deque[_Taken] = deque()
        self._acting = _Taken(first, 0.0, 0.0, inf)

    @property
    def waiting(self) -> int:
        """How many commands do not act yet."""
        return len(self._waiting)

    def take(
        self, command: JointCommand, observed: float, now: float
    ) -> tuple[JointCommand, float]:
        """Take a command; return the one that acts now, and the time of the measurement behind it."""
        if command.kp == 0.0:
            self._waiting.clear()
            self._acting = _Taken(command, observed, now, inf)  # damping never grows old
        else:
            self._waiting.append(_Taken(command, observed, min(observed, now) + self._lag, now))
        while self._waiting and self._next_acts(now):
            self._acting = self._waiting.popleft()
        return self._acting.command, self._acting.observed

    def _next_acts(self, now: float) -> bool:
        """Whether the oldest that waits is due, or what acts may act no longer."""
        due, grown_old = (
            self._waiting[0].due <= now + TICK / 2,
            now - self._acting.taken > self._lag + TICK,
        )
        return due or grown_old or len(self._waiting) > MOST
