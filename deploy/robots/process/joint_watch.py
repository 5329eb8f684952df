"""Plausibility of single joints over time: frozen encoders, and heat of motors."""

from __future__ import annotations

import numpy as np

from deploy.common.faults import Cause, Fault
from deploy.common.sensors import Sensors
from solo_doi.solo12.constants import NUM_JOINTS, Array
from solo_doi.solo12.limits import SAFETY_LIMITS, TORQUE_PER_AMPERE, VENDOR_CURRENT

FROZEN_TORQUE = 0.3
"""Change of the wanted torque that must move a joint by an encoder step [N m]."""
FROZEN_SECONDS = 0.12
"""Time after such a change without a step from which the encoder counts as frozen [s]."""
HEAT_SECONDS = 5.0
"""Time constant of a motor's windings, assumed [s]."""
LARGEST_HEAT = VENDOR_CURRENT**2
"""Largest filtered square of a current: that of the vendor's limit for ever [A^2]."""


class FrozenEncoders:
    """Finds joints that do not move at all although the torque that is wanted of them has changed.

    Joints beyond their safety limits are left out: the mechanical stop may hold them.
    """

    def __init__(self) -> None:
        """Start without a measurement."""
        self._position = np.full(NUM_JOINTS, np.nan)
        self._wanted = np.zeros(NUM_JOINTS)  # when the joint last moved
        self._changed = np.zeros(NUM_JOINTS, dtype=bool)  # torques, since the last step
        self._since = np.zeros(NUM_JOINTS)  # time of that change

    def check(self, position: Array, wanted: Array, now: float) -> Fault | None:
        """Return the fault of a frozen joint.

        `position` are measured [rad], `wanted` the torques by the position gain [N m] at a time
        `now` [s].
        """
        moved = position != self._position
        self._position = position
        self._wanted = np.where(moved, wanted, self._wanted)
        changed = np.abs(wanted - self._wanted) > FROZEN_TORQUE
        self._changed = (self._changed | changed) & ~moved
        self._changed &= np.abs(position) < SAFETY_LIMITS.position
        self._since = np.where(self._changed, self._since, now)
        time = now - self._since
        joint = int(time.argmax())
        if time[joint] < FROZEN_SECONDS:
            return None
        return Fault(Cause.ENCODER_FROZEN, 1000 * float(time[joint]), joint)


class MotorHeat:
    """Heat of the windings: the square of the current, filtered over their time constant."""

    def __init__(self) -> None:
        """Start with cold motors."""
        self.heat: Array = np.zeros(NUM_JOINTS)
        """Filtered square of every current, (12,) [A^2]."""

    def update(self, sensors: Sensors) -> None:
        """Add a measurement."""
        current = sensors.joint_torque / TORQUE_PER_AMPERE
        share = min(1.0, sensors.elapsed / HEAT_SECONDS)
        self.heat = self.heat + share * (current * current - self.heat)

    def fault(self) -> Fault | None:
        """Return the fault of the hottest motor if it is too hot."""
        joint = int(self.heat.argmax())
        # Negated comparison, so that a heat of NaN is a fault.
        if self.heat[joint] <= LARGEST_HEAT:
            return None
        return Fault(Cause.MOTOR_HOT, float(np.sqrt(self.heat[joint])), joint)
