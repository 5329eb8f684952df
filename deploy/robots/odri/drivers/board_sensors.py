"""Conversion of a board's packet to `Sensors`: our joint order, base frame, texts of faults."""

from __future__ import annotations

from dataclasses import replace
from math import cos, sin

import numpy as np

from deploy.common.sensors import Sensors
from deploy.robots.odri.wire.protocol import Flags, SensorPacket, error_text
from solo_doi.solo12.constants import JOINT_NAMES, Array

from . import motors
from .board_session import BoardSession


def sensors_of(
    packet: SensorPacket,
    session: BoardSession,
    *,
    offset: Array,
    follows: bool,
    faults: tuple[str, ...] = (),
) -> Sensors:
    """Convert the last packet of a session.

    `offset` are joint angles at motor position zero [rad]. `follows` is False while the robot
    ignores commands, as in bring-up. `faults` are further fault texts.
    The IMU's axes are those of the base, as in the vendor's driver file.
    """
    return Sensors(
        time=session.time,
        joint_position=motors.joint_position(packet, offset),
        joint_velocity=motors.joint_velocity(packet),
        joint_torque=motors.joint_torque(packet),
        angular_velocity_b=packet.imu.gyroscope,
        acceleration_b=packet.imu.acceleration,
        quaternion=quaternion(*packet.imu.attitude.tolist()),
        ready=ready_joints(packet) & follows,
        voltage=packet.power.voltage,
        command_lag=session.board.command_lag,
        lost=session.lost,
        elapsed=session.elapsed,
        errors=packet.error[motors.DRIVER_OF_JOINT],
        faults=(*driver_faults(packet), *faults),
    )


def without_errors(sensors: Sensors, before: Sensors | None) -> Sensors | None:
    """Replace invalid measurements, those of drivers in error, by the last valid ones.

    Joints of these drivers are not ready. Return None if there is no earlier valid measurement.
    """
    if not any(sensors.errors.tolist()):
        return sensors
    if before is None:
        return None
    bad = sensors.errors != 0
    return replace(
        sensors,
        joint_position=np.where(bad, before.joint_position, sensors.joint_position),
        joint_velocity=np.where(bad, before.joint_velocity, sensors.joint_velocity),
        joint_torque=np.where(bad, before.joint_torque, sensors.joint_torque),
    )


def ready_joints(packet: SensorPacket) -> Flags:
    """Return True for joints with a ready motor and a driver without error, (12,)."""
    good = packet.error == 0
    return packet.ready[motors.MOTOR_OF_JOINT] & good[motors.DRIVER_OF_JOINT]


def driver_faults(packet: SensorPacket) -> tuple[str, ...]:
    """Return one text per driver with an error, with the names of its joints."""
    return tuple(
        f"driver {driver} ({_joints_of(driver)}): {error_text(code)}"
        for driver, code in enumerate(packet.error.tolist())
        if code
    )


def quaternion(roll: float, pitch: float, yaw: float) -> Array:
    """Convert roll, pitch and yaw [rad] to a quaternion, (4,).

    Written out because it runs every millisecond: 20 times faster than `rotations.from_rpy`.
    """
    cr, sr, cp, sp, cy, sy = (f(angle / 2) for angle in (roll, pitch, yaw) for f in (cos, sin))
    return np.array(
        [
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        ]
    )


def _joints_of(driver: int) -> str:
    return ", ".join(name for name in JOINT_NAMES if motors.MOTORS[name][0] // 2 == driver)
