"""Policy output to joint target to torque: the same few lines in training and on the robot."""

from __future__ import annotations

import numpy as np

from .constants import ACTION_SCALE, Array, ControlSetup
from .limits import TRAINING_LIMITS
from .state import JointCommand


def joint_target(action: Array, setup: ControlSetup) -> Array:
    """Convert a policy output to joint positions within the training limits, (..., 12) [rad]."""
    return np.clip(
        setup.default_pose + ACTION_SCALE * action,
        -TRAINING_LIMITS.position,
        TRAINING_LIMITS.position,
    )


def joint_torque(
    command: JointCommand,
    joint_position: Array,
    joint_velocity: Array,
    limit: float = TRAINING_LIMITS.torque,
) -> Array:
    """Torque of the joint controller, clipped to the torque limit, (..., 12) [N m]."""
    torque = command.kp * (command.position - joint_position) - command.kd * joint_velocity
    return np.clip(torque, -limit, limit)
