"""Record of motors and joints: times of held positions, torques, positions."""

from __future__ import annotations

import numpy as np

from deploy.common.position_limits import RelaxedLimits
from solo_doi.solo12.constants import Array
from solo_doi.solo12.limits import DRIVER_LIMITS, MECHANICAL_POSITION, TRAINING_LIMITS

SOFT_STOP = 0.01
"""Overshoot of a falling leg into its stop in PyBullet [rad]."""


class Ledger:
    """Record from the first tick on."""

    def __init__(
        self, torque_limit: float = TRAINING_LIMITS.torque + 1e-9, soft_stop: float = SOFT_STOP
    ) -> None:
        """Start empty, with limits of a motor's torque [N m] and of a stop's overshoot [rad]."""
        self.powered: list[tuple[float, bool]] = []
        """Times at which motors began to hold positions or to be damped [s]."""
        self.torque = self.beyond_stop = 0.0
        """Largest torque [N m], and largest overshoot of a joint beyond its stop [rad]."""
        self.beyond_limit = False
        """True if motors moved a joint beyond its limit."""
        self._torque_limit, self._soft_stop = torque_limit, soft_stop
        self._limits = RelaxedLimits(DRIVER_LIMITS.position)

    def note(self, now: float, position: Array, torque: Array, *, powered: bool) -> None:
        """Record the joint positions and the motor commands of a tick."""
        size = np.abs(position)
        self.torque = max(self.torque, float(np.abs(torque).max()))
        self.beyond_stop = max(self.beyond_stop, float((size - MECHANICAL_POSITION).max()))
        if powered and not (self.powered and self.powered[-1][1]):
            self._limits.relax_to(size)
        self.beyond_limit = self.beyond_limit or (
            powered and self._limits.violated_joint(size) is not None
        )
        if not self.powered or self.powered[-1][1] is not powered:
            self.powered.append((now, powered))

    @property
    def unharmed(self) -> bool:
        """True if torques stayed bounded, and joints within limits and stops."""
        return (
            self.torque <= self._torque_limit
            and not self.beyond_limit
            and self.beyond_stop <= self._soft_stop
        )
