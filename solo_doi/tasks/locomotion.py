"""The locomotion task: walk on flat ground as commanded. The paper calls it Solo12 locomotion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solo_doi.solo12.constants import CONTROL_SETUPS, NUM_JOINTS, Array
from solo_doi.solo12.observation import LAYOUTS
from solo_doi.solo12.state import Motion, RobotState, standing

from . import rewards
from .task import PreviousStep, Task, TaskConfig

FORWARD = (1.0, 0.0, 0.0)
"""Command straight ahead: vx, vy [m/s], yaw rate [rad/s]."""
MOVING = 0.1
"""Commands with a smaller norm mean standing still."""
NOT_SHANKS = np.array([0, 1, 2, 4, 5, 7, 8, 10, 11])
"""Bodies with which a contact is a fall, in `BODY_NAMES`: base, shoulders and thighs."""


@dataclass(frozen=True, kw_only=True)
class LocomotionConfig(TaskConfig):
    """Start, commands and end of episodes."""

    forward_share: float = 1.0
    """Share of commands that are exactly 1 m/s forward; the others are drawn from the ranges."""
    command_vx: tuple[float, float] = (-0.5, 1.0)
    """Range of drawn forward velocities [m/s]."""
    command_vy: tuple[float, float] = (-0.4, 0.4)
    """Range of drawn sideways velocities [m/s]."""
    command_yaw: tuple[float, float] = (-0.8, 0.8)
    """Range of drawn yaw rates [rad/s]."""
    single_share: float = 0.0
    """Share of drawn commands that keep one component: straight, sideways or turning only."""


class LocomotionTask(Task):
    """Robots that follow velocity commands."""

    name = "locomotion"
    layout = LAYOUTS["locomotion"]
    setup = CONTROL_SETUPS["locomotion"]
    reward_groups = ("regular", "task")
    feature_names = ("vz", "roll_rate", "pitch_rate", "vz_FL", "vz_FR", "vz_HL", "vz_HR")
    command_size = 3
    config_type = LocomotionConfig
    config: LocomotionConfig

    @staticmethod
    def rewards(state: RobotState, target: Array, before: PreviousStep, command: Array) -> Array:
        """Return the rewards (N, 2). Terms of a group are multiplied, so each is in (0, 1]."""
        moving = np.linalg.norm(command, axis=-1) > MOVING
        regular = (
            rewards.target_rate(target, before.target)
            * rewards.foot_slip(state, before.foot_position_w)
            * rewards.contact_changes(state.foot_contact, before.foot_contact)
            * rewards.stand_still(state, moving)
            * rewards.torque(state)
        )
        vx, vy, yaw_rate = command.T
        task = (
            rewards.tracking(vx - state.linear_velocity_b[:, 0], 0.3)
            * rewards.tracking(vy - state.linear_velocity_b[:, 1], 0.3)
            * rewards.tracking(yaw_rate - state.angular_velocity_b[:, 2], 0.6)
            * rewards.height(state)
            * rewards.attitude(state)
            * rewards.trot(state, moving)
        )
        return np.stack([regular, task], axis=-1)

    @staticmethod
    def score(state: RobotState, command: Array) -> Array:
        """Return the tracking reward of the forward velocity, in (0, 1]."""
        return rewards.tracking_return(state, command)

    @staticmethod
    def features(state: RobotState) -> np.ndarray:
        """Return vertical velocity and turning rates of the base, and feet velocities, (N, 7)."""
        vertical = state.linear_velocity_b[..., 2:]
        turning = state.angular_velocity_b[..., :2]
        feet = state.foot_velocity_w[..., 2]
        return np.concatenate([vertical, turning, feet], axis=-1).astype(np.float32)

    @staticmethod
    def fallen(state: RobotState) -> np.ndarray:
        """Return robots with a base, shoulder or thigh on the ground; shanks may touch it [D.3]."""
        return np.asarray(state.body_contact[..., NOT_SHANKS].any(axis=-1))

    @staticmethod
    def initial_motion(count: int, standing_share: float, rng: np.random.Generator) -> Motion:
        """Draw robots that stand as the controller leaves them, or drop in moving [D.3]."""
        motion = standing(LocomotionTask.setup, count)
        stands = rng.random(count) < standing_share
        moving = ~stands[:, None]
        motion.base_position_w[:, 2] += np.where(stands, 0.0, rng.uniform(0.0, 0.1, count))
        motion.linear_velocity_b[:] = moving * rng.uniform(-0.5, 0.5, (count, 3))
        motion.angular_velocity_b[:] = moving * rng.uniform(-0.5, 0.5, (count, 3))
        error = rng.uniform(-0.05, 0.05, (count, NUM_JOINTS))
        motion.joint_position[:] += error + moving * rng.uniform(-0.15, 0.15, (count, NUM_JOINTS))
        return motion

    def draw_commands(self, count: int, rng: np.random.Generator) -> Array:
        """Draw velocity commands, (count, 3)."""
        ranges = np.array([self.config.command_vx, self.config.command_vy, self.config.command_yaw])
        command = rng.uniform(ranges[:, 0], ranges[:, 1], (count, 3))
        command = FORWARD + self.difficulty * (command - FORWARD)
        if self.config.single_share and self.difficulty == 1:
            kept = np.eye(3)[rng.integers(0, 3, count)]
            kept[rng.random(count) >= self.config.single_share] = 1.0
            command *= kept
        command[np.linalg.norm(command, axis=-1) < MOVING] = 0.0
        forward = rng.random(count) < self.config.forward_share
        return np.where(forward[:, None], FORWARD, command)
