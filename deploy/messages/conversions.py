"""Between messages and the types everybody passes around."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from deploy.common.sensors import Sensors
from solo_doi.solo12.constants import NUM_JOINTS

from .lcm_link import STATE, blank


def sensors_of(message: Any) -> Sensors:  # noqa: ANN401  # generated classes have no types
    """Return what the robot measured."""
    numbers = np.array(
        message.joint_position + message.joint_velocity + message.joint_torque
        + message.angular_velocity + message.acceleration + message.quaternion
    )  # fmt: skip
    return Sensors(
        time=message.time_ns * 1e-9,
        joint_position=numbers[:12],
        joint_velocity=numbers[12:24],
        joint_torque=numbers[24:36],
        angular_velocity_b=numbers[36:39],
        acceleration_b=numbers[39:42],
        quaternion=numbers[42:],
        ready=joints_of(message.ready),
        errors=joints_of(message.ready >> NUM_JOINTS),
        voltage=message.voltage,
    )


@functools.lru_cache(maxsize=16)
def joints_of(bits: int) -> np.ndarray:
    """Which joints have their bit set, (12,); kept, since bits change once in a walk."""
    ready = (bits >> np.arange(NUM_JOINTS)) & 1 == 1
    ready.setflags(write=False)
    return ready


def state_of(sensors: Sensors) -> Any:  # noqa: ANN401  # generated classes have no types
    """Return a message of what was measured; who sends it and what it did is left to fill in."""
    message = blank(STATE)
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
