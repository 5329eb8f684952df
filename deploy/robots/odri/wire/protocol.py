"""Packets between PC and master board: layouts and units of protocols 3 and 4.

Motors are numbered as on the board: motor n is on driver n // 2, side n % 2. `motors` maps joints
to motors. Values are SI at the motor shaft. All fields are little-endian and packed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import tau

import numpy as np
from numpy.typing import NDArray

from solo_doi.solo12.constants import Array

Flags = NDArray[np.bool_]

NUM_DRIVERS = 6
NUM_MOTORS = 2 * NUM_DRIVERS
ALL_DRIVERS = (1 << NUM_DRIVERS) - 1
PROTOCOLS = (4, 3)
"""Supported protocols, in the order in which an unknown board is tried."""
DRIVER_TIMEOUT_MS = 5
"""Time without a packet after which a motor driver shuts down; the vendor's value [ms]."""


_Field = tuple[str, str] | tuple[str, str | np.dtype, int] | tuple[str, np.dtype]


def _packed(*fields: _Field) -> np.dtype:
    return np.dtype(list(fields))


def _pair(name: str, kind: str) -> tuple[str, str, int]:
    return name, kind, 2


INIT = _packed(("protocol", "<u2"), ("session", "<u2"))
ACKS = {
    3: _packed(("session", "<u2"), ("drivers", "u1")),
    4: _packed(("protocol", "<u2"), ("session", "<u2"), ("drivers", "u1")),
}
_DRIVER_COMMAND = _packed(
    ("mode", "<u2"),
    _pair("position", "<i4"),
    _pair("velocity", "<i2"),
    _pair("current", "<i2"),
    _pair("kp", "<u2"),
    _pair("kd", "<u2"),
    _pair("saturation", "u1"),
)
COMMAND_PACKET = _packed(
    ("session", "<u2"), ("drivers", _DRIVER_COMMAND, NUM_DRIVERS), ("index", "<u2")
)
_DRIVER_SENSOR = _packed(
    ("status", "<u2"),
    ("time_stamp", "<u2"),
    _pair("position", "<i4"),
    _pair("velocity", "<i2"),
    _pair("current", "<i2"),
    _pair("resistance", "<u2"),
    _pair("adc", "<u2"),
)
_IMU = _packed(
    *((name, "<i2", 3) for name in ("acceleration", "gyroscope", "attitude", "linear_acceleration"))
)
_POWER = _packed(("voltage", "<u2"), ("shunt", "<i2"), ("energy", "<f4"))
_SENSOR_HEAD = (("session", "<u2"), ("drivers", _DRIVER_SENSOR, NUM_DRIVERS), ("imu", _IMU))
_SENSOR_TAIL = (("index", "<u2"), ("commands_lost", "<u2"), ("last_command", "<u2"))
SENSORS = {
    3: _packed(*_SENSOR_HEAD, *_SENSOR_TAIL),
    4: _packed(*_SENSOR_HEAD, ("power", _POWER), *_SENSOR_TAIL),
}

# --- Value of the least significant bit ----------------------------------------------------------
POSITION_LSB = tau / 2**24
"""[rad]"""
VELOCITY_LSB = (1000 * tau / 60) / 2**11
"""Packets have units of 1000 turns per minute [rad/s]."""
CURRENT_LSB = 2.0**-10
"""[A]"""
KP_LSB = 2.0**-11 / tau
"""Packets have gains per turn [A/rad]."""
KD_LSB = 2.0**-10 / (1000 * tau / 60)
"""[A s/rad]"""
SATURATION_LSB = 2.0**-3
"""[A]"""
STANDARD_GRAVITY = 9.80665
ACCELERATION_LSB = STANDARD_GRAVITY * 2.0**-11
"""Packets have units of g [m/s^2]."""
LINEAR_ACCELERATION_LSB = 2.0**-11
"""[m/s^2]"""
GYROSCOPE_LSB = 2.0**-11
"""[rad/s]"""
ATTITUDE_LSB = 2.0**-13
"""[rad]"""
VOLTAGE_LSB = 3.125e-3
"""[V]"""
BUS_CURRENT_LSB = 5e-6 / 4e-3
"""Packets have the voltage at a shunt of 4 milliohms [A]."""
ENERGY_UNIT = VOLTAGE_LSB * BUS_CURRENT_LSB
"""[J]"""


@dataclass(frozen=True)
class WireLimits:
    """Largest magnitudes that a command can carry, SI units at the motor shaft.

    Larger values are refused, not clamped: a clamped gain would change the behaviour of the robot.
    """

    kp: float
    kd: float
    saturation: float
    position: float = (2**31 - 1) * POSITION_LSB
    velocity: float = (2**15 - 1) * VELOCITY_LSB
    current: float = (2**15 - 1) * CURRENT_LSB


LIMITS = {
    3: WireLimits(
        kp=(2**16 - 1) * KP_LSB, kd=(2**16 - 1) * KD_LSB, saturation=(2**8 - 1) * SATURATION_LSB
    ),
    # Firmware 4 declares these fields unsigned, but the vendor's library of version 4 writes signed
    # numbers. The upper half of the range was never used in practice, so it is not used here.
    4: WireLimits(
        kp=(2**15 - 1) * KP_LSB, kd=(2**15 - 1) * KD_LSB, saturation=(2**7 - 1) * SATURATION_LSB
    ),
}

# --- Bits ----------------------------------------------------------------------------------------
MODE_SYSTEM = 1 << 15
MODE_MOTOR = (1 << 14, 1 << 13)
MODE_ROLLOVER_ERROR = 1 << 12
MODE_INDEX = (1 << 11, 1 << 10)
MODE_TIMEOUT = 0xFF
STATUS_SYSTEM = 1 << 15
STATUS_ENABLED = (1 << 14, 1 << 12)
STATUS_READY = (1 << 13, 1 << 11)
STATUS_INDEX_SEEN = (1 << 10, 1 << 9)
STATUS_INDEX_TOGGLE = (1 << 8, 1 << 7)
STATUS_ERROR = 0xF
ERROR_ENCODER = (1, 6)
ERROR_TIMEOUT = 2
ERROR_NO_ANSWER = 15
"""The board could not read the driver; the driver's record is zero and must be discarded."""
ERRORS = {
    1: "encoder 1 error",
    2: "no packet from the board in time",
    3: "critical temperature",
    4: "position conversion error",
    5: "position rollover",
    6: "encoder 2 error",
    7: "other error",
    15: "no answer to the board",
}


def error_text(code: int) -> str:
    """Return the meaning of a driver's error code."""
    return ERRORS.get(code, f"unknown error {code}")


@dataclass(frozen=True)
class Malformed:
    """A packet that was not accepted, with the reason."""

    reason: str


@dataclass(frozen=True)
class Init:
    """PC to board: open a session."""

    protocol: int
    session: int


@dataclass(frozen=True)
class Ack:
    """Board to PC: the session is open, and these drivers answer (bit i for driver i)."""

    protocol: int
    session: int
    drivers: int


@dataclass(frozen=True, kw_only=True)
class MotorCommand:
    """Targets of twelve motors.

    Motor current = current + kp * (position - measured position) + kd * (velocity - measured
    velocity), clipped to the saturation.
    """

    enabled: Flags  # (12,)
    compensate_index: Flags  # (12,) count positions from the index, after it has been passed
    position: Array  # (12,) [rad]
    velocity: Array  # (12,) [rad/s]
    current: Array  # (12,) [A]
    kp: Array  # (12,) [A/rad]
    kd: Array  # (12,) [A s/rad]
    saturation: Array  # (12,) [A]


@dataclass(frozen=True, kw_only=True)
class CommandPacket:
    """A command as the board receives it."""

    session: int
    index: int
    system_on: Flags  # (6,)
    timeout_ms: NDArray[np.intp]  # (6,) 0 for no timeout [ms]
    motors: MotorCommand


@dataclass(frozen=True, kw_only=True)
class ImuReading:
    """Measurements of the IMU, in its own axes."""

    acceleration: Array  # (3,) with gravity [m/s^2]
    gyroscope: Array  # (3,) [rad/s]
    attitude: Array  # (3,) roll, pitch, yaw [rad]
    linear_acceleration: Array  # (3,) without gravity [m/s^2]


@dataclass(frozen=True, kw_only=True)
class Power:
    """Voltage [V], current [A] and energy [J] of the power board; NaN in protocol 3."""

    voltage: float = float("nan")
    current: float = float("nan")
    energy: float = float("nan")


@dataclass(frozen=True, kw_only=True)
class SensorPacket:
    """All measurements of one tick."""

    session: int
    index: int
    commands_lost: int
    last_command: int
    system_on: Flags  # (6,)
    error: NDArray[np.intp]  # (6,) code of each driver
    enabled: Flags  # (12,)
    ready: Flags  # (12,)
    index_seen: Flags  # (12,)
    index_toggle: Flags  # (12,)
    position: Array  # (12,) [rad]
    velocity: Array  # (12,) [rad/s]
    current: Array  # (12,) [A]
    imu: ImuReading
    power: Power
