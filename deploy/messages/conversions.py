"""Conversion between robot state messages and sensor readings."""

from __future__ import annotations

import functools

import numpy as np

from deploy.common.sensors import Sensors
from solo_doi.solo12.constants import NUM_JOINTS

from .generated import robot_state
from .lcm_link import STATE_CHANNEL, blank


def sensors_from_message(message: robot_state) -> Sensors:
    """Return the sensor readings in a message."""
    # One array with six views is faster than six conversions, in every tick.
    numbers = np.array((
        *message.joint_position, *message.joint_velocity, *message.joint_torque,
        *message.angular_velocity, *message.acceleration, *message.quaternion,
    ))  # fmt: skip
    return Sensors(
        time=message.time_ns * 1e-9,
        joint_position=numbers[:12],
        joint_velocity=numbers[12:24],
        joint_torque=numbers[24:36],
        angular_velocity_b=numbers[36:39],
        acceleration_b=numbers[39:42],
        quaternion=numbers[42:],
        ready=joint_flags(message.ready),
        errors=joint_flags(message.ready >> NUM_JOINTS),
        voltage=message.voltage,
    )


@functools.lru_cache(maxsize=16)
def joint_flags(bits: int) -> np.ndarray:
    """Return one flag per joint from a bit field, (12,) bool; cached, since bits rarely change."""
    flags = (bits >> np.arange(NUM_JOINTS)) & 1 == 1
    flags.setflags(write=False)
    return flags


def state_message(sensors: Sensors) -> robot_state:
    """Return a message with sensor readings; the caller sets session, command and fault."""
    message = blank(STATE_CHANNEL)
    message.time_ns = round(sensors.time * 1e9)
    message.joint_position = sensors.joint_position.tolist()
    message.joint_velocity = sensors.joint_velocity.tolist()
    message.joint_torque = sensors.joint_torque.tolist()
    message.angular_velocity = sensors.angular_velocity_b.tolist()
    message.acceleration = sensors.acceleration_b.tolist()
    message.quaternion = sensors.quaternion.tolist()
    message.voltage = sensors.voltage
    bits = np.packbits(np.concatenate((sensors.ready, sensors.errors != 0)), bitorder="little")
    message.ready = int.from_bytes(bits.tobytes(), "little")
    return message
