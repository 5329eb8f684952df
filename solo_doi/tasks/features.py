"""Sets of features in which pre-training drives the skills of a walk apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from solo_doi.solo12.rotations import rotate
from solo_doi.solo12.state import RobotState


@dataclass(frozen=True)
class FeatureSet:
    """Named features of a state."""

    names: tuple[str, ...]
    """Name of every feature."""
    compute: Callable[[RobotState], np.ndarray]
    """Function that returns the features of N states, (N, features)."""
    units: tuple[float, ...] = ()
    """Difference of each feature that counts as one; empty: its deviation over all states."""


def motion(state: RobotState) -> np.ndarray:
    """Return vertical velocity and turning rates of the base, and feet velocities, (N, 7)."""
    vertical = state.linear_velocity_b[..., 2:]
    turning = state.angular_velocity_b[..., :2]
    feet = state.foot_velocity_w[..., 2]
    return np.concatenate([vertical, turning, feet], axis=-1).astype(np.float32)


def posture(state: RobotState) -> np.ndarray:
    """Return base height and mean height of the feet, (N, 2).

    Their averages over a stride are what a person sees first: how high the robot walks, and how
    high it lifts its feet. Pitch and speed of the feet are left out: pitch costs more of the task's
    reward for a visible difference, and speed follows lift so closely that lift would count twice.
    """
    height = state.base_position_w[..., 2]
    lift = state.foot_position_w[..., 2].mean(-1)
    return np.stack([height, lift], axis=-1).astype(np.float32)


SLOWEST_DIRECTION = 0.1
"""Speed below which the direction of a velocity fades to zero [m/s]."""


def direction(state: RobotState) -> np.ndarray:
    """Return the direction of the base velocity in the world, (N, 3).

    DOMiNiC uses the robot's own frame. There, a robot that turns to the left and walks on has the
    same direction as one that walks straight ahead.
    """
    velocity = rotate(state.base_quaternion, state.linear_velocity_b)
    speed = np.linalg.norm(velocity, axis=-1, keepdims=True)
    return (velocity / np.maximum(speed, SLOWEST_DIRECTION)).astype(np.float32)


MOTION = FeatureSet(("vz", "roll_rate", "pitch_rate", "vz_FL", "vz_FR", "vz_HL", "vz_HR"), motion)
"""Features of DOMiNiC."""
POSTURE = FeatureSet(
    ("height", "foot_height"),
    posture,
    # As in the evaluation: 15 mm of height, 15 mm of lift (a foot's average is about a third of its
    # lift).
    units=(0.015, 0.005),
)
"""Features that a person sees, in units of the smallest visible difference."""
DIRECTION = FeatureSet(("direction_x", "direction_y", "direction_z"), direction)
"""Direction in which a robot goes, for skills that take different routes."""
