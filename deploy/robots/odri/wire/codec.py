"""Encoders and decoders of packets.

Decoders raise no exceptions: they return a packet that fits the layout exactly, or `Malformed` with
the reason.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from deploy.common.robot_error import RobotError
from solo_doi.solo12.constants import Array, constant

from . import protocol as p
from .packed_fields import PackedFields
from .protocol import (
    Ack,
    CommandPacket,
    ImuReading,
    Init,
    Malformed,
    MotorCommand,
    Power,
    SensorPacket,
)

_TARGETS = ("position", "velocity", "current", "kp", "kd", "saturation")
_COMMAND = PackedFields(p.COMMAND_PACKET, "session", "index", "mode", *_TARGETS)
_MOTION = ("position", "velocity", "current")
_IMU_VECTORS = ("acceleration", "gyroscope", "attitude", "linear_acceleration")
_SENSOR = ("session", "index", "commands_lost", "last_command", "status", *_MOTION, *_IMU_VECTORS)
_SENSORS = {
    3: PackedFields(p.SENSORS[3], *_SENSOR),
    4: PackedFields(p.SENSORS[4], *_SENSOR, "voltage", "shunt", "energy"),
}


def _per_motor(*values: float) -> Array:
    """Repeat each value twelve times, once per motor."""
    return constant(np.repeat(values, p.NUM_MOTORS))


def _words_of_flags(bits: np.ndarray) -> np.ndarray:
    """Return the matrix that converts flags of twelve motors, one kind after another, to six words.

    `bits` has the pair of bits of each kind of flag; each driver has one word for two motors.
    """
    drivers = np.eye(p.NUM_DRIVERS, dtype=np.int64)
    return np.concatenate([np.kron(drivers, pair[:, None]) for pair in bits])


_LOWEST = {
    protocol: _per_motor(-most.position, -most.velocity, -most.current, 0.0, 0.0, p.SATURATION_LSB)
    for protocol, most in p.LIMITS.items()
}
_HIGHEST = {
    protocol: _per_motor(*(getattr(most, name) for name in _TARGETS))
    for protocol, most in p.LIMITS.items()
}
# Factors from targets to counts. The order of operations is the vendor's, so that results are equal
# to the last bit. Powers of two may be at any place, since they cause no rounding.
_TIMES = _per_motor(
    2**24, 60.0 * 2**11, 2**10, 2.0 * np.pi * 2**11, (2.0 * np.pi * 1000.0) / 60.0 * 2**10, 2**3
)
_OVER = _per_motor(2.0 * np.pi, 2.0 * np.pi * 1000.0, 1.0, 1.0, 1.0, 1.0)
_TARGETS_LSB = _per_motor(
    p.POSITION_LSB, p.VELOCITY_LSB, p.CURRENT_LSB, p.KP_LSB, p.KD_LSB, p.SATURATION_LSB
)
_MOTION_LSB = _per_motor(p.POSITION_LSB, p.VELOCITY_LSB, p.CURRENT_LSB)
_LARGEST_MOTION = _per_motor(2**31 - 1, 2**15 - 1, 2**15 - 1)
_IMU_LSB = constant(
    np.repeat([p.ACCELERATION_LSB, p.GYROSCOPE_LSB, p.ATTITUDE_LSB, p.LINEAR_ACCELERATION_LSB], 3)
)
_SENSOR_LSB = constant([*_MOTION_LSB, *_IMU_LSB])
_STATUS_BITS = np.array(
    [p.STATUS_ENABLED, p.STATUS_READY, p.STATUS_INDEX_SEEN, p.STATUS_INDEX_TOGGLE], np.uint16
)
_MODE_BITS = np.array([p.MODE_MOTOR, p.MODE_INDEX], np.uint16)
_STATUS_OF_FLAGS = _words_of_flags(_STATUS_BITS)
_MODE_OF_FLAGS = _words_of_flags(_MODE_BITS)
_MODE = p.MODE_SYSTEM | p.MODE_ROLLOVER_ERROR | p.DRIVER_TIMEOUT_MS


# --- Sessions ------------------------------------------------------------------------------------
def encode_init(init: Init) -> bytes:
    """Encode a request for a session."""
    return np.array((init.protocol, init.session), p.INIT).tobytes()


def decode_init(payload: bytes) -> Init | Malformed:
    """Decode a request for a session; any protocol number is accepted."""
    record = _record(payload, p.INIT, "init")
    if isinstance(record, Malformed):
        return record
    return Init(int(record["protocol"]), int(record["session"]))


def encode_ack(ack: Ack, layout: int) -> bytes:
    """Encode an acknowledgement in the layout of a protocol; layout 4 contains the version."""
    head = (ack.session,) if layout == 3 else (ack.protocol, ack.session)
    return np.array((*head, ack.drivers), p.ACKS[layout]).tobytes()


def decode_ack(payload: bytes) -> Ack | Malformed:
    """Decode an acknowledgement; its length determines the layout."""
    layout = 3 if len(payload) == p.ACKS[3].itemsize else 4
    record = _record(payload, p.ACKS[layout], "acknowledgement")
    if isinstance(record, Malformed):
        return record
    protocol = int(record["protocol"]) if layout == 4 else 3
    return Ack(protocol, int(record["session"]), int(record["drivers"]))


# --- Commands ------------------------------------------------------------------------------------
def check_command(command: MotorCommand, protocol: int) -> None:
    """Refuse commands that the protocol cannot carry.

    Raises:
        RobotError: A value is not finite or out of range, or a saturation is 0, which drivers read
            as no limit.
    """
    _checked(command, protocol)


def encode_command(command: MotorCommand, session: int, index: int, protocol: int) -> bytes:
    """Encode a command, or refuse it as `check_command` does."""
    counts = (_checked(command, protocol) * _TIMES / _OVER).astype(np.int64)  # truncates
    mode = _MODE + np.concatenate((command.enabled, command.compensate_index)) @ _MODE_OF_FLAGS
    return _COMMAND.write((session, index, *mode.tolist(), *counts.tolist()))


def decode_command(payload: bytes) -> CommandPacket | Malformed:
    """Decode a command, as the board does."""
    if len(payload) != p.COMMAND_PACKET.itemsize:
        return _wrong_length(payload, p.COMMAND_PACKET, "command")
    session, index, *numbers = _COMMAND.read(payload)
    mode = np.array(numbers[:6], np.uint16)
    enabled, compensate_index = _from_bits(mode, _MODE_BITS)
    targets = np.array(numbers[6:], np.float64) * _TARGETS_LSB
    return CommandPacket(
        session=session,
        index=index,
        system_on=(mode & p.MODE_SYSTEM) != 0,
        timeout_ms=(mode & p.MODE_TIMEOUT).astype(np.intp),
        motors=MotorCommand(
            enabled=enabled,
            compensate_index=compensate_index,
            position=targets[:12],
            velocity=targets[12:24],
            current=targets[24:36],
            kp=targets[36:48],
            kd=targets[48:60],
            saturation=targets[60:],
        ),
    )


# --- Sensors -------------------------------------------------------------------------------------
def encode_sensor(sensor: SensorPacket, protocol: int) -> bytes:
    """Encode measurements as the firmware does.

    The record of a driver that did not answer is zero, IMU values wrap, other values are clipped.
    """
    flags = np.concatenate((sensor.enabled, sensor.ready, sensor.index_seen, sensor.index_toggle))
    status = sensor.error + sensor.system_on * p.STATUS_SYSTEM + flags @ _STATUS_OF_FLAGS
    motion = np.rint(
        np.concatenate((sensor.position, sensor.velocity, sensor.current)) / _MOTION_LSB
    )
    motion = np.minimum(np.maximum(motion, -_LARGEST_MOTION), _LARGEST_MOTION)
    unread = sensor.error == p.ERROR_NO_ANSWER
    if unread.any():
        status[unread] = p.ERROR_NO_ANSWER
        motion[np.tile(np.repeat(unread, 2), len(_MOTION))] = 0.0
    imu = sensor.imu
    axes = np.concatenate((imu.acceleration, imu.gyroscope, imu.attitude, imu.linear_acceleration))
    imu_counts = np.rint(axes / _IMU_LSB).astype(np.int64)
    head = sensor.session, sensor.index, sensor.commands_lost, sensor.last_command
    return _SENSORS[protocol].write((
        *head,
        *status.tolist(),
        *motion[:12].astype(np.int32).tolist(),
        *motion[12:].astype(np.int16).tolist(),
        *imu_counts.astype(np.int16).tolist(),  # cast without clipping: it wraps
        *(_meters(sensor.power) if protocol >= 4 else ()),
    ))  # fmt: skip


def decode_sensor(payload: bytes, protocol: int) -> SensorPacket | Malformed:
    """Decode measurements."""
    if len(payload) != p.SENSORS[protocol].itemsize:
        return _wrong_length(payload, p.SENSORS[protocol], f"sensor packet of protocol {protocol}")
    row = _SENSORS[protocol].read(payload)
    session, index, commands_lost, last_command = row[:4]
    numbers = np.array(row[10:58], np.float64) * _SENSOR_LSB
    return SensorPacket(
        session=session,
        index=index,
        commands_lost=commands_lost,
        last_command=last_command,
        **_flags(row[4:10]),
        position=numbers[:12],
        velocity=numbers[12:24],
        current=numbers[24:36],
        imu=ImuReading(
            acceleration=numbers[36:39],
            gyroscope=numbers[39:42],
            attitude=numbers[42:45],
            linear_acceleration=numbers[45:],
        ),
        power=Power() if protocol < 4 else _power(*row[58:]),
    )


def _record(payload: bytes, kind: np.dtype, what: str) -> np.void | Malformed:
    if len(payload) != kind.itemsize:
        return _wrong_length(payload, kind, what)
    record: np.void = np.frombuffer(payload, kind)[0]
    return record


def _wrong_length(payload: bytes, kind: np.dtype, what: str) -> Malformed:
    return Malformed(f"{len(payload)} bytes, a {what} has {kind.itemsize}")


def _checked(command: MotorCommand, protocol: int) -> Array:
    """Return all targets in one array, or refuse them as `check_command` does."""
    targets = np.concatenate(
        (
            command.position,
            command.velocity,
            command.current,
            command.kp,
            command.kd,
            command.saturation,
        )
    )
    lowest = _LOWEST[protocol]
    highest = _HIGHEST[protocol]
    good = (targets >= lowest) & (targets <= highest)  # also False for NaN
    worst = int(good.argmin())
    if not good[worst]:
        field, motor = divmod(worst, p.NUM_MOTORS)
        raise RobotError(
            f"Motor {motor}: {_TARGETS[field]} is {targets[worst]}, the wire carries "
            f"{lowest[worst]:.4g} to {highest[worst]:.4g}. Nothing was sent; ask for less."
        )
    return targets


@lru_cache(maxsize=256)
def _flags(status: tuple[int, ...]) -> dict[str, Any]:
    """Decode six status words.

    Cached because they change only a few times per second; the arrays are read-only.
    """
    words = np.array(status, np.uint16)
    found = {
        "system_on": (words & p.STATUS_SYSTEM) != 0,
        "error": (words & p.STATUS_ERROR).astype(np.intp),
    }
    found |= zip(
        ("enabled", "ready", "index_seen", "index_toggle"),
        _from_bits(words, _STATUS_BITS),
        strict=True,
    )
    for flags in found.values():
        flags.setflags(write=False)
    return found


def _from_bits(words: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """Return the flags of twelve motors in driver words, one row per kind of flag."""
    return ((words[:, None] & bits[:, None]) != 0).reshape(-1, p.NUM_MOTORS)


def _meters(power: Power) -> tuple[int, int, float]:
    voltage = _clipped(power.voltage / p.VOLTAGE_LSB, 0, 2**16 - 1)
    shunt = _clipped(power.current / p.BUS_CURRENT_LSB, -(2**15), 2**15 - 1)
    return voltage, shunt, float(np.float32(power.energy / p.ENERGY_UNIT))


def _clipped(counts: float, least: int, most: int) -> int:
    """Round counts and clip them to the range of their field."""
    return min(max(round(counts), least), most)


def _power(voltage: int, shunt: int, energy: float) -> Power:
    return Power(
        voltage=voltage * p.VOLTAGE_LSB,
        current=shunt * p.BUS_CURRENT_LSB,
        energy=energy * p.ENERGY_UNIT,
    )
