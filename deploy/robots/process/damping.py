"""Transition from position control to damping.

The position gain drops to zero at once: fading it would keep pulling towards a target that may be
the fault itself. The velocity gain moves from the command's gain to full damping within 10 ms, so
that a fast leg feels no step in torque, whether its gain was lower or higher.
"""

from __future__ import annotations

from math import inf

from deploy.common.robot_constants import DAMPING

RAMP = 0.010
"""Duration from the gain of the last command to full damping [s]."""


class Damping:
    """Velocity gain of damped motors over time."""

    def __init__(self) -> None:
        """Start with full damping: no command was followed yet."""
        self._from = DAMPING
        self._since = -inf

    def hold(self, kd: float, now: float) -> None:
        """Record the velocity gain of the command that is followed at this time [s]."""
        self._from = kd
        self._since = now

    def gain(self, now: float) -> float:
        """Return the gain of damped motors [N m s/rad]."""
        share = min(1.0, max(0.0, (now - self._since) / RAMP))
        if share == 1.0:
            return DAMPING
        return self._from + share * (DAMPING - self._from)
