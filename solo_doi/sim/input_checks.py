"""Checks of arrays that go into a simulator or come out of it."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.solo12.constants import JOINT_NAMES, NUM_JOINTS, Array
from solo_doi.solo12.limits import MECHANICAL_POSITION
from solo_doi.solo12.state import Motion

MOTION_SHAPES = {
    "base_position_w": (3,),
    "base_quaternion": (4,),
    "linear_velocity_b": (3,),
    "angular_velocity_b": (3,),
    "joint_position": (NUM_JOINTS,),
    "joint_velocity": (NUM_JOINTS,),
}
STOP_SLACK = 0.1
"""Accepted overshoot of a joint beyond its mechanical end, as simulated stops are soft [rad]."""


class SimulationError(SoloError):
    """The physics failed, or its inputs are not usable."""


def check_finite(state: Motion, advice: str) -> None:
    """Raise if any number of any robot is NaN or infinite."""
    for field in fields(state):
        values = getattr(state, field.name)
        if not np.isfinite(values).all():
            robot = np.argwhere(~np.isfinite(values))[0][0]
            raise SimulationError(f"{field.name} of robot {robot} is not finite. {advice}")


def check_array(name: str, values: Array, shape: tuple[int, ...], robots: np.ndarray) -> None:
    """Raise unless an array has the given shape and only finite numbers."""
    if np.shape(values) != shape:
        raise SimulationError(f"{name} has shape {np.shape(values)}, expected {shape}.")
    if not np.isfinite(values).all():
        row, *rest = np.argwhere(~np.isfinite(values))[0]
        joint = ""
        if shape[1:] == (NUM_JOINTS,):
            joint = f", joint {JOINT_NAMES[rest[0]]},"
        raise SimulationError(
            f"{name} of robot {robots[row]}{joint} is {values[row][tuple(rest)]}: "
            "expected a finite number."
        )


def check_joints(name: str, values: Array, robots: np.ndarray, slack: float = 0.0) -> None:
    """Raise if a joint position is beyond its mechanical end by more than `slack` [rad]."""
    outside = np.abs(values) > MECHANICAL_POSITION + slack
    if outside.any():
        row, joint = np.argwhere(outside)[0]
        raise SimulationError(
            f"{name} of robot {robots[row]}, joint {JOINT_NAMES[joint]}, is "
            f"{values[row, joint]:.3f} rad, expected within +-{MECHANICAL_POSITION[joint]:.3f}: "
            "clamp it, as `solo12.action.joint_target` does."
        )


def check_motion(motion: Motion, robots: np.ndarray) -> None:
    """Raise unless robots can start in a motion: shapes, finite numbers, attitude and joints."""
    for name, shape in MOTION_SHAPES.items():
        check_array(name, getattr(motion, name), (len(robots), *shape), robots)
    norm = np.linalg.norm(motion.base_quaternion, axis=-1)
    if (abs(norm - 1) > 1e-3).any():
        robot = np.argmax(abs(norm - 1))
        raise SimulationError(
            f"base_quaternion of robot {robots[robot]} has norm {norm[robot]}, expected 1."
        )
    check_joints("joint_position", motion.joint_position, robots, slack=STOP_SLACK)
