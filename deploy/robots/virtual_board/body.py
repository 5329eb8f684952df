"""All that hangs on the board's SPI and serial lines: drivers and motors of a simulated Solo12, IMU, power board."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deploy.robots.odri.motors import JOINT_OF_MOTOR, MOTOR_OF_JOINT, SIGN
from deploy.robots.odri.protocol import CommandPacket, Power
from deploy.robots.robot import TICK
from solo_doi.solo12.constants import NUM_JOINTS, Array
from solo_doi.solo12.limits import GEAR_RATIO, TORQUE_PER_AMPERE

from .drivers import Drivers
from .imu import Imu
from .plant import Plant

# Joint angles of the encoders' index pulses: those of the robot in the vendor's driver file [ODRI].
INDEX_ANGLES = (0.179, 0.497, 0.360, -0.594, 0.219, 0.602, 0.543, 0.539, 0.436, -0.241, 0.440, 0.210)
FULL_BATTERY = 24.0
"""[V]"""
BATTERY_RESISTANCE = 0.05
"""Assumed [ohm]."""
IDLE_CURRENT = 0.4
"""Of the electronics, assumed [A]."""
_ROTOR_TURNS = SIGN * GEAR_RATIO
_TORQUES = SIGN * TORQUE_PER_AMPERE


@dataclass(frozen=True, kw_only=True)
class BodyConfig:
    """Which Solo12 the board is bolted to."""

    start_pose: Array = field(default_factory=lambda: np.zeros(NUM_JOINTS))
    """Joint angles at power-up, where a person put them [rad]."""
    index_angles: Array = field(default_factory=lambda: np.array(INDEX_ANGLES))
    """Joint angles of index pulses; each comes again every 40 degrees [rad]."""
    held: bool = True
    """Whether a person or a tool holds the joints at `start_pose` until the motors are switched on."""
    height: float = 0.45
    """Of the base while it hangs from the crane [m]."""
    lower_after: float | None = None
    """How long after the last motor was calibrated the crane puts the robot down; never if not given [s]."""
    seed: int = 0
    """Of sensor errors."""


class Body:
    """Advances by one tick per command of the board."""

    def __init__(self, config: BodyConfig) -> None:
        """Power up."""
        self.config = config
        self.plant = Plant(config.start_pose, config.height)
        self.imu = Imu(np.random.default_rng(config.seed))
        self.drivers = Drivers(to_motors(config.index_angles), to_motors(self.plant.joint_position))
        self.battery = FULL_BATTERY
        """Voltage without load [V]."""
        self._energy = self._calibrated_for = 0.0
        self._power = self._read_power()
        self._felt = self.imu.read(self.plant.body())
        self._held = config.held
        self.plant.hold_joints(held=config.held)

    def tick(self, command: CommandPacket | None) -> None:
        """Advance by a millisecond, the drivers having got a packet or not."""
        self.drivers.tick(command)
        if self._held and self.drivers.any_enabled:
            self._held = False
            self.plant.hold_joints(held=False)
        self.plant.tick(self._torques, lambda q, v: self.drivers.observe(to_motors(q), to_motors(v)))
        self._power = self._read_power()
        self._felt = self.imu.read(self.plant.body())
        if self.drivers.calibrated:
            self._calibrated_for += TICK
        if self.config.lower_after is not None and self._calibrated_for >= self.config.lower_after:
            self.plant.lower()

    def reading(self) -> dict[str, Any]:
        """Return what drivers, IMU and power board report, as fields of a sensor packet."""
        return {**self.drivers.reading(), "imu": self._felt, "power": self._power}

    def power_cycle(self) -> None:
        """Switch all electronics off and on; the robot stays where it is."""
        self.drivers.power_cycle(to_motors(self.plant.joint_position))
        self.imu.power_cycle()
        self._energy = self._calibrated_for = 0.0

    def _read_power(self) -> Power:
        current = IDLE_CURRENT + self.drivers.electrical_power / FULL_BATTERY
        voltage = self.battery - BATTERY_RESISTANCE * current
        self._energy += voltage * current * TICK
        return Power(voltage=voltage, current=current, energy=self._energy)

    def _torques(self, position: Array, velocity: Array) -> Array:
        current = self.drivers.currents(to_motors(position), to_motors(velocity))
        return _TORQUES * current[MOTOR_OF_JOINT]


def to_motors(joints: Array) -> Array:
    """Angles or velocities of rotors, in the board's order, from those of joints."""
    return (_ROTOR_TURNS * joints)[JOINT_OF_MOTOR]
