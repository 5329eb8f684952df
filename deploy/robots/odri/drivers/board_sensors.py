"""A board's packet as the `Sensors` that every robot gives: our joint order, base frame, words for faults."""

from __future__ import annotations

from dataclasses import replace
from math import cos, sin

import numpy as np

from deploy.common.sensors import Sensors
from deploy.robots.odri.wire.protocol import Flags, SensorPacket, error_text
from solo_doi.solo12.constants import JOINT_NAMES, Array

from . import motors
from .board_session import Session


def sensors_of(
    packet: SensorPacket,
    session: Session,
    *,
    offset: Array,
    follows: bool,
    faults: tuple[str, ...] = (),
) -> Sensors:
    """Translate a session's last packet.

    `follows` says whether the robot obeys commands at all, `faults` what else is wrong.
    The IMU's axes are those of the base, as the vendor's driver file has them.
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
        errors=packet.error[motors.DRIVER_OF_JOINT],
        faults=(*driver_faults(packet), *faults),
    )


def without_errors(sensors: Sensors, before: Sensors | None) -> Sensors | None:
    """Put what was last measured in the place of what a driver in error says of its joints, which means nothing.

    Such joints are not ready; where nothing sound was measured before, nothing was measured.
    """
    if not any(sensors.errors.tolist()):
        return sensors
    if before is None:
        return None
    bad, names = sensors.errors != 0, ("joint_position", "joint_velocity", "joint_torque")
    kept = {name: np.where(bad, getattr(before, name), getattr(sensors, name)) for name in names}
    return replace(sensors, **kept)


def ready_joints(packet: SensorPacket) -> Flags:
    """Joints whose motor is ready and whose driver reports no error, (12,)."""
    good = packet.error == 0
    return packet.ready[motors.MOTOR_OF_JOINT] & good[motors.DRIVER_OF_JOINT]


def driver_faults(packet: SensorPacket) -> tuple[str, ...]:
    """What drivers complain about, naming the joints they move."""
    return tuple(
        f"driver {driver} ({_joints_of(driver)}): {error_text(code)}"
        for driver, code in enumerate(packet.error.tolist())
        if code
    )


def quaternion(roll: float, pitch: float, yaw: float) -> Array:
    """`rotations.from_rpy` of one robot, written out: 20 times faster, and it runs every millisecond."""
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
