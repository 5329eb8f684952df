"""How motors that held positions are let go: nothing is held from the first tick on, damping grows to its full gain.

A position gain that faded would go on pulling towards a target that may be the fault itself, so it ends at once, and
the torque with it. The velocity gain goes from the one that the command had: a leg that turns fast is not hit by the
difference, and a gain higher than the full one is given back as softly.
"""

from __future__ import annotations

from math import inf

from deploy.common.robot_constants import DAMPING

RAMP = 0.010
"""From the gain of the last command to full damping [s]."""


class Damping:
    """The velocity gain of damped motors over time."""

    def __init__(self) -> None:
        """Motors held nothing yet: damping is full."""
        self._from, self._since = DAMPING, -inf

    def hold(self, kd: float, now: float) -> None:
        """Learn that a command with this gain is followed at this time [s]."""
        self._from, self._since = kd, now

    def gain(self, now: float) -> float:
        """Return the gain of damped motors [N m s/rad]."""
        share = min(1.0, max(0.0, (now - self._since) / RAMP))
        return DAMPING if share == 1.0 else self._from + share * (DAMPING - self._from)
