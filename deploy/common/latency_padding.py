"""Padding of the latency from sensor to torque to the delay that policies were trained with."""

from __future__ import annotations

from collections import deque
from math import inf
from typing import NamedTuple

from deploy.common.robot_constants import TICK
from solo_doi.solo12.state import JointCommand

MOST_WAITING = 64
"""Largest number of waiting commands: four times the trained delay at one command per tick."""


class _DelayedCommand(NamedTuple):
    """A command and its times on the robot's clock [s]."""

    command: JointCommand
    observed: float
    """Time of the measurement that the command is based on [s]."""
    due: float
    """Time at which the command acts [s]."""
    pushed: float
    """Time at which the command arrived [s]."""


class LatencyPadding:
    """Delays each command until the measurement it is based on is as old as in training.

    Damping acts at once. Two bounds hold for any measurement times and any call rate:

    - A command waits at most the lag. A measurement time in the future counts as now.
    - While another command waits, a command acts at most the lag plus one tick after its push.

    The gate follows a command for at most 60 ms. The acting command therefore arrived at most the
    lag plus 60 ms plus one tick ago.
    """

    def __init__(self, lag: float, first: JointCommand) -> None:
        """Set the delay `lag` [s]; `first` acts until the first pushed command does."""
        self._lag = lag
        self._waiting: deque[_DelayedCommand] = deque()
        self._acting = _DelayedCommand(first, 0.0, 0.0, inf)

    @property
    def waiting(self) -> int:
        """Number of commands that wait."""
        return len(self._waiting)

    def push(
        self, command: JointCommand, observed: float, now: float
    ) -> tuple[JointCommand, float]:
        """Add a command; return the one that acts now and the time of its measurement [s]."""
        if command.kp == 0.0:
            self._waiting.clear()
            self._acting = _DelayedCommand(command, observed, now, inf)  # damping never expires
        else:
            due = min(observed, now) + self._lag
            self._waiting.append(_DelayedCommand(command, observed, due, now))
        while self._waiting and self._next_acts(now):
            self._acting = self._waiting.popleft()
        return self._acting.command, self._acting.observed

    def _next_acts(self, now: float) -> bool:
        """Return True if the oldest waiting command is due, or the acting one has expired."""
        is_due = self._waiting[0].due <= now + TICK / 2
        is_expired = now - self._acting.pushed > self._lag + TICK
        return is_due or is_expired or len(self._waiting) > MOST_WAITING
