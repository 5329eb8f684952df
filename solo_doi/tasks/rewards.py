"""Reward terms of the locomotion task, each in (0, 1]; terms of a group are multiplied.

Terms marked [D] are from DOMiNiC; the others are additions, each with its reason.
"""

from __future__ import annotations

import numpy as np

from solo_doi.solo12.constants import Array
from solo_doi.solo12.rotations import to_rpy
from solo_doi.solo12.state import RobotState

FOOT_NEAR_GROUND = 0.04
"""Height of a foot's centre below which it counts as near the ground [m]."""
TARGET_HEIGHT = 0.25
"""Target height of the base [m]."""
TROT_WEIGHT = 0.4
"""Exponent per foot that breaks the trot."""
CHANGE_WEIGHT = 0.3
"""Exponent per change of contact."""


def bell(error: Array, width: float) -> Array:
    """exp(-(error / width)^2), the shape of most terms."""
    return np.exp(-np.square(error / width))


def target_rate(target: Array, previous_target: Array) -> Array:
    """[D] Reward small changes of the joint targets."""
    return bell(np.linalg.norm(target - previous_target, axis=-1), 1.0)


def foot_slip(state: RobotState, previous_foot_position_w: Array) -> Array:
    """[D] Reward feet near the ground that do not slip."""
    height = state.foot_position_w[..., 2]
    moved = np.linalg.norm(
        state.foot_position_w[..., :2] - previous_foot_position_w[..., :2], axis=-1
    )
    slipped = np.where(height < FOOT_NEAR_GROUND, moved / (0.1 + 3 * np.maximum(height, 0.0)), 0.0)
    return bell(slipped.sum(-1), 1.0)


def stand_still(state: RobotState, moving: np.ndarray) -> Array:
    """[D] Reward feet on the ground when the command is zero."""
    lifted = np.linalg.norm(state.foot_position_w[..., 2] - FOOT_NEAR_GROUND, axis=-1)
    return bell(np.where(moving, 0.0, lifted), 0.1)


def contact_changes(contact: np.ndarray, previous_contact: np.ndarray) -> Array:
    """Reward few touch-downs and lift-offs: every touch-down is an impact on the gears.

    Added after a run without it trotted at 4.6 strides per second. Runs with it slowed down during
    training. They had other lengths, so the effect of this term alone is not known.
    """
    return np.exp(-CHANGE_WEIGHT * (contact != previous_contact).sum(-1))


def torque(state: RobotState) -> Array:
    """Reward small torques: real motors get hot, and their current limit is near."""
    return bell(np.linalg.norm(state.torque, axis=-1), 5.0)


def tracking(error: Array, width: float) -> Array:
    """Reward small errors with the mean of a narrow [D] and a wide kernel.

    With the narrow kernel alone, the gradient of a standing robot vanishes at 1 m/s (exp(-11)).
    """
    return 0.5 * bell(error, width) + 0.5 * bell(error, 1.0)


def tracking_return(state: RobotState, command: Array) -> Array:
    """Reward of forward velocity in datasets and reports: exp(-((vx - command) / 0.3)^2)."""
    return bell(command[..., 0] - state.linear_velocity_b[..., 0], 0.3)


def height(state: RobotState) -> Array:
    """[D] Reward a base at the target height."""
    return bell(state.base_position_w[..., 2] - TARGET_HEIGHT, 0.1)


def attitude(state: RobotState) -> Array:
    """[D] Reward a level base."""
    # Angles in (-pi, pi]: otherwise a slight negative roll would be 6.28.
    roll, pitch, _ = to_rpy(state.base_quaternion)
    return np.minimum(bell(np.hypot(roll, pitch), 0.2), 0.9) / 0.9


def trot(state: RobotState, moving: np.ndarray) -> Array:
    """Reward diagonal feet in contact together, with the two diagonals alternating.

    The paper's expert trots; a prototype without this term learned a lopsided bound. Contacts are
    compared in every step, so the policy needs no clock, and no stride frequency is preferred.
    """
    down = state.foot_contact.astype(np.float64)
    front_left, front_right, hind_left, hind_right = np.moveaxis(down, -1, 0)
    apart = 0.5 * (np.abs(front_left - hind_right) + np.abs(front_right - hind_left))
    alike = 1.0 - 0.5 * np.abs(front_left + hind_right - front_right - hind_left)
    return np.where(moving, np.exp(-TROT_WEIGHT * (apart + alike)), 1.0)
