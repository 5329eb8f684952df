"""What Solo12's sensors show, and what a policy sees once the estimator has made a base of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .constants import Array
from .estimator import Estimate
from .rotations import IDENTITY
from .state import Motion


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Standard deviations of white noise on the sensors."""

    angular_velocity: float = 0.01
    acceleration: float = 0.1
    attitude: float = 0.005
    joint_velocity: float = 0.05


def seen_motion(joint_position: Array, joint_velocity: Array, estimate: Estimate) -> Motion:
    """What a policy sees of one robot: joints as measured, base as estimated."""
    return Motion(
        base_position_w=np.zeros(3),
        base_quaternion=level_turn(estimate.gravity_b),
        linear_velocity_b=estimate.velocity_b,
        angular_velocity_b=estimate.angular_velocity_b,
        joint_position=joint_position,
        joint_velocity=joint_velocity,
    )


def level_turn(gravity_b: Array) -> Array:
    """Return a quaternion that projects gravity to `gravity_b`; its yaw means nothing."""
    quaternion = np.array([1.0 - gravity_b[2], -gravity_b[1], gravity_b[0], 0.0])
    size = float(np.sqrt(quaternion @ quaternion))
    return quaternion / size if size > 1e-9 else IDENTITY
