"""The locomotion task: walk on flat ground as commanded. The paper calls it Solo12 locomotion."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from solo_doi.solo12.constants import CONTROL_SETUPS, NUM_JOINTS, Array
from solo_doi.solo12.observation import LAYOUTS
from solo_doi.solo12.state import Motion, standing

from . import rewards
from .declarations import CollectionDefaults, EvaluationDefaults
from .features import MOTION, POSTURE, FeatureSet
from .task import Moment, Task, TaskConfig

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

    def rules(self) -> dict[str, tuple[bool, str]]:
        """Return for each setting if it is valid, and the expectation in words."""
        rules = super().rules()
        for name in ("forward_share", "single_share"):
            rules[name] = (0 <= getattr(self, name) <= 1, "between 0 and 1")
        for name in ("command_vx", "command_vy", "command_yaw"):
            low, high = getattr(self, name)
            ordered = -math.inf < low <= high < math.inf
            rules[name] = (ordered, "the lower end first, both finite")
        return rules


class LocomotionTask(Task):
    """Robots that follow velocity commands."""

    name = "locomotion"
    layout = LAYOUTS["locomotion"]
    setup = CONTROL_SETUPS["locomotion"]
    reward_groups = ("regular", "task")
    feature_sets: ClassVar[Mapping[str, FeatureSet]] = {"motion": MOTION, "posture": POSTURE}
    command_size = 3
    config_type = LocomotionConfig
    config: LocomotionConfig
    collection = CollectionDefaults(
        trajectories=4000,
        steps=250,
        command=FORWARD,
        expert={"expert.pt": 1.0},
        # The paper's mixture: half the data from a nearly random policy, 1/32 from the best.
        offline={
            "model_0.pt": 1 / 2,
            "model_50.pt": 1 / 4,
            "model_100.pt": 1 / 8,
            "model_500.pt": 1 / 16,
            "model_1500.pt": 1 / 32,
            "model_2000.pt": 1 / 32,
        },
        late={
            "model_0.pt": 1 / 4,
            "model_50.pt": 1 / 8,
            "model_100.pt": 1 / 8,
            "model_500.pt": 1 / 8,
            "model_1500.pt": 3 / 16,
            "model_2000.pt": 3 / 16,
        },
        coverage_expert=25,
        reward="tracking reward exp(-((vx - command)/0.3)^2)",
        groups="the trainer's rewards: regular, task",
        fallen="base, shoulder or thigh touched the ground",
        commanded="velocity command: vx, vy [m/s], yaw rate [rad/s]",
    )
    evaluation = EvaluationDefaults(report="walk")

    @staticmethod
    def rewards(moment: Moment) -> Array:
        """Return the rewards (N, 2). Terms of a group are multiplied, so each is in (0, 1]."""
        state = moment.state
        target = moment.target
        before = moment.before
        command = moment.command
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
    def score(moment: Moment) -> Array:
        """Return the tracking reward of the forward velocity, in (0, 1]."""
        return rewards.tracking_return(moment.state, moment.command)

    @staticmethod
    def fallen(moment: Moment) -> np.ndarray:
        """Return robots with a base, shoulder or thigh on the ground; shanks may touch it [D.3]."""
        return np.asarray(moment.state.body_contact[..., NOT_SHANKS].any(axis=-1))

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
