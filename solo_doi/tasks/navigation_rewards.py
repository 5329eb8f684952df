"""Reward terms of the navigation task.

Terms marked [D] are DOMiNiC's; changed ones and additions say why. A prototype with these changes
climbed within minutes; DOMiNiC's own terms took 393 million steps on a GPU.
"""

from __future__ import annotations

import numpy as np

from solo_doi.solo12.constants import CONTROL_DT, UP_W, Array
from solo_doi.solo12.rotations import projected_gravity, to_rpy
from solo_doi.solo12.state import Motion, RobotState

from .rewards import bell

REACHED = 0.25
"""Distance to the target within which it counts as reached [m] [D]."""
LAST_PART = 1 / 6
"""Share of the episode, at its end, in which the distance is rewarded: one second of six [D]."""
STALLED = 0.3
"""Speed below which a robot away from the target counts as stalled [m/s] [D]."""
BASE_AND_SHOULDERS = np.array([0, 1, 4, 7, 10])
"""Bodies whose contacts are discouraged, in `BODY_NAMES`. Contacts of thighs and shanks are free:
a robot of 0.25 m height climbs 0.2 m with its knees on the edge."""


def target_offset(motion: Motion, command: Array) -> Array:
    """Return the target in the heading frame: position error [m], yaw error [rad], (N, 4)."""
    _, _, yaw = to_rpy(motion.base_quaternion)
    error = command[..., :3] - motion.base_position_w
    cos = np.cos(yaw)
    sin = np.sin(yaw)
    x = cos * error[..., 0] + sin * error[..., 1]
    y = cos * error[..., 1] - sin * error[..., 0]
    turn = np.angle(np.exp(1j * (command[..., 3] - yaw)))
    return np.stack([x, y, error[..., 2], turn], axis=-1)


def distance(position_w: Array, command: Array) -> Array:
    """Return the horizontal distance to the target [m], (N,)."""
    return np.linalg.norm(command[..., :2] - position_w[..., :2], axis=-1)


def arrival(offset: Array, time_left: Array) -> Array:
    """[D] Reward nearness in the last part of the episode, and the heading of those that arrived.

    The reward is in [0, 1], half of DOMiNiC's. The distance is horizontal: the height of the base
    is not part of the target.
    """
    away = np.linalg.norm(offset[..., :2], axis=-1)
    turned = np.abs(offset[..., 3])
    near = 0.5 / (1 + away) + 0.5 * (away < REACHED) / (1 + turned)
    return np.where(time_left < LAST_PART, near, 0.0)


def progress(away: Array, away_before: Array) -> Array:
    """Reward speed towards the target [m/s], within +-1.

    Added: with the reward of the last second alone, nothing is learned in millions of steps. Its
    sum depends on the first and last distance only, so a way round the box loses nothing. For the
    same reason DOMiNiC's reward of moving straight to the target is left out.
    """
    return np.clip((away_before - away) / CONTROL_DT, -1.0, 1.0)


def staying(away: Array) -> Array:
    """Reward robots at the target at any time.

    Added: without it, skills stop 0.3 to 0.6 m from the target, or walk past it.
    """
    return 0.5 * (away < REACHED) + 0.4 * bell(away, 0.3)


def body_contact(state: RobotState) -> Array:
    """[D, changed] Reward bases and shoulders that touch nothing.

    It depends on the number of contacts, not on their force. With DOMiNiC's width of 1 N, any touch
    of an edge cancels all other regular rewards, so a robot learns to stay in front of the box.
    """
    return np.exp(-0.3 * state.body_contact[..., BASE_AND_SHOULDERS].sum(-1))


def foot_push(state: RobotState) -> Array:
    """[D, changed] Reward feet that do not push against vertical faces.

    Wider than DOMiNiC's 1 N, for the reason of `body_contact`.
    """
    return bell(np.linalg.norm(state.foot_force_w[..., :2], axis=-1).sum(-1), 30.0)


def upright(state: RobotState) -> Array:
    """[D] Reward a level base, weakly: on an edge it must pitch."""
    error = projected_gravity(state.base_quaternion) + UP_W / np.linalg.norm(UP_W)
    return bell(np.linalg.norm(error, axis=-1), 1.0)


def no_stall(state: RobotState, away: Array) -> Array:
    """[D, changed] Reward robots that move until they arrive.

    The reward is at least one half. At the foot of a box a robot must slow down, and a factor of
    zero would hide all other terms.
    """
    speed = np.linalg.norm(state.linear_velocity_b, axis=-1)
    missing = np.where(away > REACHED, np.maximum(STALLED - speed, 0.0), 0.0)
    return 0.5 + 0.5 * bell(missing, 0.1)


def default_pose(state: RobotState, pose: Array) -> Array:
    """[D] Reward joints near the default pose."""
    error = np.linalg.norm(state.joint_position - pose, axis=-1)
    return np.minimum(bell(error, 5.0), 0.9) / 0.9


def facing(offset: Array) -> Array:
    """[D] Reward a heading towards the target; robots that arrived may turn."""
    away = np.linalg.norm(offset[..., :2], axis=-1)
    cosine = offset[..., 0] / (away + 1e-8)
    return np.where(away < REACHED, 1.0, (cosine + 1) / 2)
