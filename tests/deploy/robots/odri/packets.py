"""Packets for tests: simple ones, and strategies for all that the protocol allows."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from deploy.robots.odri.wire import protocol as p
from deploy.robots.odri.wire.protocol import ImuReading, MotorCommand, Power, SensorPacket


def command(**changes: object) -> MotorCommand:
    """Return a moderate command with some fields changed; a number applies to all motors."""
    values: dict[str, object] = {
        "enabled": True,
        "compensate_index": False,
        "position": 1.0,
        "velocity": 0.0,
        "current": 0.0,
        "kp": 0.5,
        "kd": 0.05,
        "saturation": 12.0,
        **changes,
    }
    return MotorCommand(**{name: np.full(p.NUM_MOTORS, value) for name, value in values.items()})  # type: ignore[arg-type]


def sensor(**changes: object) -> SensorPacket:
    """Return the sensor packet of a robot at rest, with given fields changed."""
    off, none = np.zeros(p.NUM_MOTORS), np.zeros(p.NUM_MOTORS, dtype=bool)
    values: dict[str, object] = {
        "session": 7,
        "index": 1,
        "commands_lost": 0,
        "last_command": 0,
        "system_on": np.ones(p.NUM_DRIVERS, dtype=bool),
        "error": np.zeros(p.NUM_DRIVERS, dtype=np.intp),
        **dict.fromkeys(("enabled", "ready", "index_seen", "index_toggle"), none),
        **dict.fromkeys(("position", "velocity", "current"), off),
        "imu": ImuReading(**dict.fromkeys(IMU_LSB, np.zeros(3))),
        "power": Power(voltage=24.0, current=1.5, energy=3.0),
        **changes,
    }
    return SensorPacket(**values)  # type: ignore[arg-type]


IMU_LSB = {
    "acceleration": p.ACCELERATION_LSB,
    "gyroscope": p.GYROSCOPE_LSB,
    "attitude": p.ATTITUDE_LSB,
    "linear_acceleration": p.LINEAR_ACCELERATION_LSB,
}
COMMAND_LSB = {
    "position": p.POSITION_LSB,
    "velocity": p.VELOCITY_LSB,
    "current": p.CURRENT_LSB,
    "kp": p.KP_LSB,
    "kd": p.KD_LSB,
    "saturation": p.SATURATION_LSB,
}
words = st.integers(0, 2**16 - 1)
flags = arrays.arrays(bool, p.NUM_MOTORS)


def _values(lowest: float, highest: float) -> st.SearchStrategy[np.ndarray]:
    return arrays.arrays(np.float64, p.NUM_MOTORS, elements=st.floats(lowest, highest))


def commands(protocol: int) -> st.SearchStrategy[MotorCommand]:
    """Return any command within the range of a protocol."""
    limits = p.LIMITS[protocol]
    return st.builds(
        MotorCommand,
        enabled=flags,
        compensate_index=flags,
        **{
            name: _values(-getattr(limits, name), getattr(limits, name))
            for name in ("position", "velocity", "current")
        },
        **{name: _values(0.0, getattr(limits, name)) for name in ("kp", "kd")},
        saturation=_values(p.SATURATION_LSB, limits.saturation),
    )


def sensors() -> st.SearchStrategy[SensorPacket]:
    """Return any measurements of drivers, IMU and power board, without unread drivers."""
    limits = p.LIMITS[3]
    imu = {
        name: arrays.arrays(
            np.float64,
            3,
            elements=st.integers(-(2**15), 2**15 - 1).map(lambda count, k=lsb: count * k),
        )
        for name, lsb in IMU_LSB.items()
    }
    return st.builds(
        SensorPacket,
        **dict.fromkeys(("session", "index", "commands_lost", "last_command"), words),
        system_on=arrays.arrays(bool, p.NUM_DRIVERS),
        error=arrays.arrays(np.intp, p.NUM_DRIVERS, elements=st.integers(0, 14)),
        **dict.fromkeys(("enabled", "ready", "index_seen", "index_toggle"), flags),
        **{
            name: _values(-getattr(limits, name), getattr(limits, name))
            for name in ("position", "velocity", "current")
        },
        imu=st.builds(ImuReading, **imu),
        power=st.builds(
            Power,
            voltage=st.floats(0, 2**16 * p.VOLTAGE_LSB - 0.01),
            current=st.floats(-40, 40),
            energy=st.floats(0, 1e6),
        ),
    )
