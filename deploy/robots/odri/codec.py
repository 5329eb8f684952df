"""Bytes to packets and back. Decoders never raise: they accept exactly what the layout allows, or say why not."""

from __future__ import annotations

import numpy as np

from deploy.robots.robot import RobotError
from solo_doi.solo12.constants import Array

from . import protocol as p
from .protocol import Ack, CommandPacket, Flags, ImuReading, Init, Malformed, MotorCommand, Power, SensorPacket

_BITS = {
    "enabled": np.array(p.STATUS_ENABLED),
    "ready": np.array(p.STATUS_READY),
    "index_seen": np.array(p.STATUS_INDEX_SEEN),
    "index_toggle": np.array(p.STATUS_INDEX_TOGGLE),
}
_MODE_BITS = {"enabled": np.array(p.MODE_MOTOR), "compensate_index": np.array(p.MODE_INDEX)}


# --- Sessions --------------------------------------------------------------------------------------
def encode_init(init: Init) -> bytes:
    """Pack a request for a session."""
    return np.array((init.protocol, init.session), p.INIT).tobytes()


def decode_init(payload: bytes) -> Init | Malformed:
    """Read a request for a session; any version is a well-formed one."""
    record = _record(payload, p.INIT, "init")
    if isinstance(record, Malformed):
        return record
    return Init(int(record["protocol"]), int(record["session"]))


def encode_ack(ack: Ack, layout: int) -> bytes:
    """Pack an acknowledgement in the layout of a protocol; a board of version 4 names its own version in it."""
    head = (ack.session,) if layout == 3 else (ack.protocol, ack.session)
    return np.array((*head, ack.drivers), p.ACKS[layout]).tobytes()


def decode_ack(payload: bytes) -> Ack | Malformed:
    """Read an acknowledgement; its length tells the layout."""
    layout = 3 if len(payload) == p.ACKS[3].itemsize else 4
    record = _record(payload, p.ACKS[layout], "acknowledgement")
    if isinstance(record, Malformed):
        return record
    protocol = int(record["protocol"]) if layout == 4 else 3
    return Ack(protocol, int(record["session"]), int(record["drivers"]))


# --- Commands --------------------------------------------------------------------------------------
def check_command(command: MotorCommand, protocol: int) -> None:
    """Refuse what the wire cannot carry.

    Raises:
        RobotError: A value is not finite or beyond the wire's range, or a saturation of 0, which drivers take for no
            limit at all.
    """
    limits = p.LIMITS[protocol]
    for name, lowest in (
        ("position", -limits.position),
        ("velocity", -limits.velocity),
        ("current", -limits.current),
        ("kp", 0.0),
        ("kd", 0.0),
        ("saturation", p.SATURATION_LSB),
    ):
        values, highest = getattr(command, name), getattr(limits, name)
        good = (values >= lowest) & (values <= highest)  # false for NaN, too
        if not good.all():
            motor = int(np.argmin(good))
            raise RobotError(
                f"Motor {motor}: {name} is {values[motor]}, the wire carries {lowest:.4g} to {highest:.4g}. "
                "Nothing was sent; ask for less."
            )


def encode_command(command: MotorCommand, session: int, index: int, protocol: int) -> bytes:
    """Pack a command, or refuse it as `check_command` does."""
    check_command(command, protocol)
    packet = np.zeros((), p.COMMAND)
    packet["session"], packet["index"] = session, index
    drivers = packet["drivers"]
    mode = p.MODE_SYSTEM | p.MODE_ROLLOVER_ERROR | p.DRIVER_TIMEOUT_MS
    drivers["mode"] = mode + sum(_to_bits(getattr(command, name), bits) for name, bits in _MODE_BITS.items())
    # In the vendor's order of operations: the last bit must not depend on who computed it.
    for name, counts in (
        ("position", command.position / (2.0 * np.pi) * 2**24),
        ("velocity", command.velocity * 60.0 / (2.0 * np.pi * 1000.0) * 2**11),
        ("current", command.current * 2**10),
        ("kp", 2.0 * np.pi * command.kp * 2**11),
        ("kd", (2.0 * np.pi * 1000.0) / 60.0 * command.kd * 2**10),
        ("saturation", command.saturation * 2**3),
    ):
        drivers[name] = np.trunc(counts).reshape(p.NUM_DRIVERS, 2)
    return packet.tobytes()


def decode_command(payload: bytes) -> CommandPacket | Malformed:
    """Read a command, as the board does."""
    record = _record(payload, p.COMMAND, "command")
    if isinstance(record, Malformed):
        return record
    drivers = record["drivers"]
    return CommandPacket(
        session=int(record["session"]),
        index=int(record["index"]),
        system_on=(drivers["mode"] & p.MODE_SYSTEM) != 0,
        timeout_ms=(drivers["mode"] & p.MODE_TIMEOUT).astype(np.intp),
        motors=MotorCommand(
            **{name: _from_bits(drivers["mode"], bits) for name, bits in _MODE_BITS.items()},
            position=_physical(drivers["position"], p.POSITION_LSB),
            velocity=_physical(drivers["velocity"], p.VELOCITY_LSB),
            current=_physical(drivers["current"], p.CURRENT_LSB),
            kp=_physical(drivers["kp"], p.KP_LSB),
            kd=_physical(drivers["kd"], p.KD_LSB),
            saturation=_physical(drivers["saturation"], p.SATURATION_LSB),
        ),
    )


# --- Sensors ---------------------------------------------------------------------------------------
def encode_sensor(sensor: SensorPacket, protocol: int) -> bytes:
    """Pack measurements as the firmware does: an unread driver is all zero, the IMU's numbers wrap, all else clips."""
    packet = np.zeros((), p.SENSORS[protocol])
    for name in ("session", "index", "commands_lost", "last_command"):
        packet[name] = getattr(sensor, name)
    drivers = packet["drivers"]
    status = sensor.error + np.where(sensor.system_on, p.STATUS_SYSTEM, 0)
    drivers["status"] = status + sum(_to_bits(getattr(sensor, name), bits) for name, bits in _BITS.items())
    for name, lsb in (("position", p.POSITION_LSB), ("velocity", p.VELOCITY_LSB), ("current", p.CURRENT_LSB)):
        largest = 2**31 - 1 if name == "position" else 2**15 - 1
        counts = np.rint(getattr(sensor, name) / lsb)
        drivers[name] = np.minimum(np.maximum(counts, -largest), largest).reshape(p.NUM_DRIVERS, 2)
    unread = sensor.error == p.ERROR_NO_ANSWER
    if unread.any():
        drivers[unread] = np.zeros((), drivers.dtype)
        drivers["status"][unread] = p.ERROR_NO_ANSWER
    _encode_imu(packet["imu"], sensor.imu)
    if protocol >= 4:
        power = packet["power"]
        power["voltage"] = _clipped(sensor.power.voltage / p.VOLTAGE_LSB, 0, 2**16 - 1)
        power["shunt"] = _clipped(sensor.power.current / p.BUS_CURRENT_LSB, -(2**15), 2**15 - 1)
        power["energy"] = sensor.power.energy / p.ENERGY_UNIT
    return packet.tobytes()


def decode_sensor(payload: bytes, protocol: int) -> SensorPacket | Malformed:
    """Read measurements."""
    record = _record(payload, p.SENSORS[protocol], f"sensor packet of protocol {protocol}")
    if isinstance(record, Malformed):
        return record
    drivers, imu = record["drivers"], record["imu"]
    status = drivers["status"]
    return SensorPacket(
        session=int(record["session"]),
        index=int(record["index"]),
        commands_lost=int(record["commands_lost"]),
        last_command=int(record["last_command"]),
        system_on=(status & p.STATUS_SYSTEM) != 0,
        error=(status & p.STATUS_ERROR).astype(np.intp),
        **{name: _from_bits(status, bits) for name, bits in _BITS.items()},
        position=_physical(drivers["position"], p.POSITION_LSB),
        velocity=_physical(drivers["velocity"], p.VELOCITY_LSB),
        current=_physical(drivers["current"], p.CURRENT_LSB),
        imu=ImuReading(
            acceleration=_physical(imu["acceleration"], p.ACCELERATION_LSB),
            gyroscope=_physical(imu["gyroscope"], p.GYROSCOPE_LSB),
            attitude=_physical(imu["attitude"], p.ATTITUDE_LSB),
            linear_acceleration=_physical(imu["linear_acceleration"], p.LINEAR_ACCELERATION_LSB),
        ),
        power=Power() if protocol < 4 else _power(record["power"]),
    )


def _record(payload: bytes, kind: np.dtype, what: str) -> np.void | Malformed:
    if len(payload) != kind.itemsize:
        return Malformed(f"{len(payload)} bytes, a {what} has {kind.itemsize}")
    record: np.void = np.frombuffer(payload, kind)[0]
    return record


def _to_bits(flags: Flags, bits: np.ndarray) -> np.ndarray:
    return flags.reshape(p.NUM_DRIVERS, 2) @ bits


def _from_bits(words: np.ndarray, bits: np.ndarray) -> Flags:
    return ((words[:, None] & bits) != 0).ravel()


def _physical(counts: np.ndarray, lsb: float) -> Array:
    return counts.astype(np.float64).ravel() * lsb


def _encode_imu(record: np.ndarray, imu: ImuReading) -> None:
    for name, lsb in (
        ("acceleration", p.ACCELERATION_LSB),
        ("gyroscope", p.GYROSCOPE_LSB),
        ("attitude", p.ATTITUDE_LSB),
        ("linear_acceleration", p.LINEAR_ACCELERATION_LSB),
    ):
        counts = np.rint(getattr(imu, name) / lsb).astype(np.int64)
        record[name] = (counts + 2**15) % 2**16 - 2**15  # cast without clamping: overload wraps


def _clipped(counts: float, least: int, most: int) -> int:
    """Return whole counts that fit their field: a meter shows its end, whatever is beyond."""
    return min(max(round(counts), least), most)


def _power(record: np.void) -> Power:
    return Power(
        voltage=float(record["voltage"]) * p.VOLTAGE_LSB,
        current=float(record["shunt"]) * p.BUS_CURRENT_LSB,
        energy=float(record["energy"]) * p.ENERGY_UNIT,
    )
