"""Transition from position control to damping.

The position gain drops to zero at once: a fading gain would keep pulling towards a target that may
be the cause of the fault. The velocity gain changes linearly from that of the last command to full
damping within 10 ms, so that the torque of a fast leg has no step.
"""

from __future__ import annotations

from math import inf

from deploy.common.robot_constants import DAMPING_GAIN

RAMP = 0.010
"""Duration of the change from the last command's velocity gain to full damping [s]."""


class Damping:
    """Velocity gain of damped motors over time."""

    def __init__(self) -> None:
        """Start with full damping, since no command was followed yet."""
        self._from = DAMPING_GAIN
        self._since = -inf

    def hold(self, kd: float, now: float) -> None:
        """Store the velocity gain [N m s/rad] of the command that is followed at time `now` [s]."""
        self._from = kd
        self._since = now

    def gain(self, now: float) -> float:
        """Return the velocity gain of damped motors at time `now` [N m s/rad]."""
        share = min(1.0, max(0.0, (now - self._since) / RAMP))
        if share == 1.0:
            return DAMPING_GAIN
        return self._from + share * (DAMPING_GAIN - self._from)
