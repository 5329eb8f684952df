"""Types shared by all packages: state of robots, and command to their joints.

Every array may have leading dimensions: one robot has none, a simulator of N robots has (N,).
Suffix `_w`: world frame; `_b`: base frame. Quaternions as in `rotations`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from .constants import Array, ControlSetup
from .kinematics import foot_motion
from .rotations import IDENTITY, cross, rotate

if TYPE_CHECKING:
    from typing import Self  # novm: not in Python 3.10, which robots' computers may have


@dataclass(frozen=True, kw_only=True)
class Motion:
    """Pose and velocities of robots: a simulator can be reset to it."""

    base_position_w: Array  # (..., 3) origin of base_link [m]
    base_quaternion: Array  # (..., 4)
    linear_velocity_b: Array  # (..., 3) of that origin [m/s]
    angular_velocity_b: Array  # (..., 3) [rad/s]
    joint_position: Array  # (..., 12) [rad]
    joint_velocity: Array  # (..., 12) [rad/s]

    def __getitem__(self, index: object) -> Self:
        """Select robots by index, slice or mask."""
        return type(self)(
            **{field.name: getattr(self, field.name)[index] for field in fields(self)}
        )


@dataclass(frozen=True, kw_only=True)
class RobotState(Motion):
    """State of simulated robots after a control step; forces are of the last physics step."""

    torque: Array  # (..., 12) [N m]
    foot_position_w: Array  # (..., 4, 3) centre of the foot sphere [m]
    foot_velocity_w: Array  # (..., 4, 3) [m/s]
    foot_force_w: Array  # (..., 4, 3) sum of contact forces along the contacts' normals [N]
    body_force_w: Array  # (..., 13, 3) the same for `BODY_NAMES` [N]

    @property
    def foot_contact(self) -> np.ndarray:
        """True for feet with a contact force above `CONTACT_THRESHOLD`, (..., 4)."""
        return np.linalg.norm(self.foot_force_w, axis=-1) > CONTACT_THRESHOLD

    @property
    def body_contact(self) -> np.ndarray:
        """True for other bodies with a contact force above `CONTACT_THRESHOLD`, (..., 13)."""
        return np.linalg.norm(self.body_force_w, axis=-1) > CONTACT_THRESHOLD


@dataclass(frozen=True, kw_only=True)
class JointCommand:
    """Command to the motors: torque = kp (position - q) - kd q', within the torque limit."""

    position: Array  # (..., 12) [rad]
    kp: Array | float  # [N m/rad]
    kd: Array | float  # [N m s/rad]


CONTACT_THRESHOLD = 1.0
"""Force above which two bodies count as touching [N], as in DOMiNiC."""


def standing(setup: ControlSetup, num_robots: int) -> Motion:
    """Robots at rest at the origin in a task's default pose, feet on the ground."""
    return Motion(
        base_position_w=np.tile([0.0, 0.0, setup.standing_height], (num_robots, 1)),
        base_quaternion=np.tile(IDENTITY, (num_robots, 1)),
        linear_velocity_b=np.zeros((num_robots, 3)),
        angular_velocity_b=np.zeros((num_robots, 3)),
        joint_position=np.tile(setup.default_pose, (num_robots, 1)),
        joint_velocity=np.zeros((num_robots, 12)),
    )


def mechanical_power(torque: Array, velocity: Array) -> Array:
    """Sum of the absolute powers of all joints, (...) [W]: braking recovers no energy."""
    return np.abs(torque * velocity).sum(axis=-1)


def feet_in_world(motion: Motion) -> tuple[Array, Array]:
    """Positions and velocities of the feet in the world frame, both (..., 4, 3)."""
    position_b, velocity_b = foot_motion(motion.joint_position, motion.joint_velocity)
    quaternion = motion.base_quaternion[..., None, :]
    turning_b = cross(motion.angular_velocity_b[..., None, :], position_b)
    velocity_w = rotate(quaternion, motion.linear_velocity_b[..., None, :] + turning_b + velocity_b)
    return motion.base_position_w[..., None, :] + rotate(quaternion, position_b), velocity_w
