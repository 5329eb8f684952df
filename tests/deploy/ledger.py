"""What motors did to a robot: when they held positions, how hard they pushed, where joints went."""

from __future__ import annotations

import numpy as np

from deploy.common.position_limits import RelaxedLimits
from solo_doi.solo12.constants import Array
from solo_doi.solo12.limits import DRIVER, MECHANICAL_POSITION, TRAINING

SOFT_STOP = 0.01
"""How far PyBullet lets a falling leg into its stop [rad]."""


class Ledger:
    """Kept from the first tick on."""

    def __init__(
        self, torque_limit: float = TRAINING.torque + 1e-9, soft_stop: float = SOFT_STOP
    ) -> None:
        """Begin with nothing.

        A motor may give `torque_limit` [N m], a fall press a joint `soft_stop` into its stop.
        """
        self.powered: list[tuple[float, bool]] = []
        """Times at which motors began to hold positions or to be damped [s]."""
        self.torque = self.beyond_stop = 0.0
        """Largest torque [N m], and how far a joint went beyond its stop [rad]."""
        self.beyond_limit = False
        """Whether motors moved a joint beyond its limit."""
        self._torque_limit, self._soft_stop = torque_limit, soft_stop
        self._limits = RelaxedLimits(DRIVER.position)

    def note(self, now: float, position: Array, torque: Array, *, powered: bool) -> None:
        """Take a tick: joints were here, and motors do this from now on."""
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
        """Whether torques stayed bounded, motors moved no joint beyond its limit, and no fall one through its stop."""
        return (
            self.torque <= self._torque_limit
            and not self.beyond_limit
            and self.beyond_stop <= self._soft_stop
        )
