"""Sensor noise of Solo12, and the motion that a policy gets from sensors and estimator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .constants import Array
from .estimator import Estimate
from .rotations import IDENTITY
from .state import Motion


@dataclass(frozen=True, kw_only=True)
class SensorNoise:
    """Standard deviations of white noise on the sensors."""

    angular_velocity: float = 0.01
    """Gyroscope [rad/s]."""
    acceleration: float = 0.1
    """Accelerometer [m/s^2]."""
    attitude: float = 0.005
    """Attitude angles of the IMU [rad]."""
    joint_velocity: float = 0.05
    """Joint velocities [rad/s]."""


def estimated_motion(joint_position: Array, joint_velocity: Array, estimate: Estimate) -> Motion:
    """Return the motion of one robot as its policy gets it: measured joints, estimated base."""
    return Motion(
        base_position_w=np.zeros(3),
        base_quaternion=quaternion_from_gravity(estimate.gravity_b),
        linear_velocity_b=estimate.velocity_b,
        angular_velocity_b=estimate.angular_velocity_b,
        joint_position=joint_position,
        joint_velocity=joint_velocity,
    )


def quaternion_from_gravity(gravity_b: Array) -> Array:
    """Return a quaternion that projects gravity to `gravity_b`; its yaw is arbitrary."""
    quaternion = np.array([1.0 - gravity_b[2], -gravity_b[1], gravity_b[0], 0.0])
    size = float(np.sqrt(quaternion @ quaternion))
    if size <= 1e-9:  # upside down: every turn by pi about a horizontal axis would do
        return IDENTITY
    return quaternion / size
