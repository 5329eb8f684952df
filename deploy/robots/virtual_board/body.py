"""Devices behind the virtual board: drivers and motors of a simulated Solo12, IMU, power board."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deploy.common.known_defects import KnownDefects
from deploy.common.robot_constants import TICK
from deploy.robots.odri.drivers.motors import MOTOR_OF_JOINT, SIGN
from deploy.robots.odri.wire.protocol import CommandPacket, ImuReading, Power
from solo_doi.solo12.constants import NUM_JOINTS, Array, constant
from solo_doi.solo12.limits import GEAR_RATIO, TORQUE_PER_AMPERE
from solo_doi.solo12.rotations import IDENTITY

from .crane_timing import HANGING
from .imu import Imu
from .motor_drivers import MotorDrivers
from .plant import Plant
from .simulated_person import PersonConfig, SimulatedPerson
from .virtual_robot import INDEX_ANGLES

FULL_BATTERY = 24.0
"""Voltage of a full battery [V]."""
BATTERY_RESISTANCE = 0.05
"""Internal resistance of the battery, assumed [ohm]."""
ZERO_IMU = ImuReading(**dict.fromkeys(
    ("acceleration", "gyroscope", "attitude", "linear_acceleration"), constant(np.zeros(3))
))  # fmt: skip
"""Readings in a frame of zeros."""
IDLE_CURRENT = 0.4
"""Current of the electronics, assumed [A]."""


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """Assignment of motors to joints."""

    motor_of_joint: NDArray[np.intp] = field(default_factory=lambda: MOTOR_OF_JOINT)
    """Number of the motor of each joint, (12,)."""
    sign: Array = field(default_factory=lambda: SIGN)
    """Direction of each motor relative to its joint, +1 or -1, (12,)."""

    @cached_property
    def _joint_of_motor(self) -> NDArray[np.intp]:
        return np.argsort(self.motor_of_joint)

    @cached_property
    def _gear_of_motor(self) -> Array:
        return (self.sign * GEAR_RATIO)[self._joint_of_motor]

    @cached_property
    def _torque_per_ampere(self) -> Array:
        return self.sign * TORQUE_PER_AMPERE

    def to_motors(self, joints: Array) -> Array:
        """Convert angles or velocities of joints to those of rotors, in the board's order."""
        return self._gear_of_motor * joints[self._joint_of_motor]

    def torques(self, currents: Array) -> Array:
        """Convert motor currents, in the board's order [A], to joint torques [N m]."""
        return self._torque_per_ampere * currents[self.motor_of_joint]


@dataclass(frozen=True, kw_only=True)
class BodyConfig:
    """Settings of the simulated Solo12."""

    start_pose: Array = field(default_factory=lambda: np.zeros(NUM_JOINTS))
    """Joint angles at power-up, as set by a person [rad]."""
    index_angles: Array = field(default_factory=lambda: np.array(INDEX_ANGLES))
    """Joint angles of index pulses, which repeat every 40 degrees [rad]."""
    person: PersonConfig = field(default_factory=PersonConfig)
    """Actions of the simulated person."""
    wiring: Wiring = field(default_factory=Wiring)
    """True wiring of the motors; tests swap motors to simulate an assembly error."""
    imu_mounting: Array = field(default_factory=lambda: IDENTITY)
    """Rotation from the IMU's axes to the base, as a quaternion; identity if mounted correctly."""
    height: float = HANGING
    """Height of the base while it hangs from the crane [m]."""
    lower_after: float | None = None
    """Time from the calibration of the last motor until the crane lowers the robot [s].

    If None, the robot stays on the crane.
    """
    seed: int = 0
    """Seed of sensor errors."""
    defects: int | None = None
    """Seed of the known defects of real boards; None for a board without them."""


class Body:
    """Simulated hardware behind the board, advanced by one `tick` per millisecond."""

    def __init__(self, config: BodyConfig) -> None:
        """Power up the hardware."""
        self.config = config
        self.plant = Plant(config.start_pose, config.height)
        self.imu = Imu(np.random.default_rng(config.seed), config.imu_mounting)
        self._defects = None if config.defects is None else KnownDefects(config.defects)
        to_motors = config.wiring.to_motors
        self.drivers = MotorDrivers(
            to_motors(config.index_angles), to_motors(self.plant.joint_position), self._defects
        )
        self.battery = FULL_BATTERY
        """Battery voltage without load [V]."""
        self._energy = self._calibrated_for = 0.0
        self._power = self._read_power()
        self._imu_reading = self.imu.read(self.plant.body())
        self._person = SimulatedPerson(self.plant, config.person)

    def tick(self, command: CommandPacket | None) -> None:
        """Advance by a millisecond; `command` is None if the drivers get no packet."""
        self.drivers.tick(command)
        # Without a PC, the board sends its drivers its own commands, which have session 0.
        connected = command is not None and command.session != 0
        self._person.tick(motors_on=self.drivers.any_enabled, connected=connected)
        self.plant.tick(self._torques, self._observe)
        self.drivers.measure()
        self._power = self._read_power()
        self._imu_reading = self.imu.read(self.plant.body())
        if self._defects is not None and self._defects.zero_frame():
            self._imu_reading = ZERO_IMU
        if self.drivers.calibrated:
            self._calibrated_for += TICK
        if self.config.lower_after is not None and self._calibrated_for >= self.config.lower_after:
            self.plant.lower()

    def reading(self) -> dict[str, Any]:
        """Return measurements of drivers, IMU and power board, as fields of a sensor packet."""
        return {**self.drivers.reading(), "imu": self._imu_reading, "power": self._power}

    def power_cycle(self) -> None:
        """Switch all electronics off and on; the robot does not move."""
        self.drivers.power_cycle(self.config.wiring.to_motors(self.plant.joint_position))
        self.imu.power_cycle()
        self._energy = self._calibrated_for = 0.0

    def _read_power(self) -> Power:
        current = IDLE_CURRENT + self.drivers.electrical_power / FULL_BATTERY
        voltage = self.battery - BATTERY_RESISTANCE * current
        self._energy += voltage * current * TICK
        return Power(voltage=voltage, current=current, energy=self._energy)

    def _torques(self, position: Array, velocity: Array) -> Array:
        wiring = self.config.wiring
        return wiring.torques(
            self.drivers.currents(wiring.to_motors(position), wiring.to_motors(velocity))
        )

    def _observe(self, position: Array, velocity: Array) -> None:
        wiring = self.config.wiring
        self.drivers.observe(wiring.to_motors(position), wiring.to_motors(velocity))
