"""A task on a page: robots that stand still and level on a low box."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from solo_doi.sim.terrain import Terrain
from solo_doi.solo12.constants import CONTROL_SETUPS, Array
from solo_doi.solo12.observation import LAYOUTS
from solo_doi.solo12.rotations import projected_gravity
from solo_doi.solo12.state import Motion, RobotState, standing
from solo_doi.tasks.declarations import (
    FALLS,
    RETURN,
    CollectionDefaults,
    EvaluationDefaults,
    TrainingDefaults,
)
from solo_doi.tasks.features import FeatureSet
from solo_doi.tasks.task import Moment, Task, TaskConfig

BOX = 0.05


def base_height(state: RobotState) -> np.ndarray:
    """Return the base height [m], (N, 1)."""
    return state.base_position_w[:, 2:].astype(np.float32)


class BalanceTask(Task):
    """Robots that stand still and level."""

    name = "tests.toys.balance.BalanceTask"
    layout = LAYOUTS["locomotion"]
    setup = CONTROL_SETUPS["locomotion"]
    reward_groups = ("task",)
    feature_sets: ClassVar[Mapping[str, FeatureSet]] = {
        "height": FeatureSet(("height",), base_height)
    }
    command_size = 3
    config_type = TaskConfig
    collection = CollectionDefaults(
        trajectories=8,
        steps=20,
        command=(0.0, 0.0, 0.0),
        expert={"model_2.pt": 1.0},
        offline={"model_0.pt": 0.5, "model_2.pt": 0.5},
        coverage_expert=2,
        reward="cosine of the tilt, less by velocity",
        groups="the trainer's reward: task",
        fallen="base touched the ground",
        commanded="zero velocity",
    )
    evaluation = EvaluationDefaults(
        steps=20, measures=(RETURN, FALLS), figures=("returns", "paths")
    )
    training = TrainingDefaults(doi={"skills": 2, "classifier": {"terms": ["gravity"]}})

    @classmethod
    def make_terrain(cls, num_robots: int) -> Terrain:
        """Return a low box below every robot."""
        return Terrain(np.zeros((num_robots, 1, 2)), np.tile([2.0, 2.0, BOX], (num_robots, 1, 1)))

    @staticmethod
    def rewards(moment: Moment) -> Array:
        """Return the reward (N, 1): high for a base at rest."""
        return BalanceTask.score(moment)[:, None]

    @staticmethod
    def score(moment: Moment) -> Array:
        """Return the cosine of the tilt, reduced by the base velocity, (N,)."""
        level = -projected_gravity(moment.state.base_quaternion)[:, 2]
        return level * np.exp(-np.linalg.norm(moment.state.linear_velocity_b, axis=-1))

    @staticmethod
    def fallen(moment: Moment) -> np.ndarray:
        """Return which robots touch the ground with the base, (N,)."""
        return moment.state.body_contact[:, 0]

    @staticmethod
    def initial_motion(count: int, standing_share: float, rng: np.random.Generator) -> Motion:
        """Return robots that stand on their boxes."""
        motion = standing(BalanceTask.setup, count)
        motion.base_position_w[:, 2] += BOX
        return motion

    def draw_commands(self, count: int, rng: np.random.Generator) -> Array:
        """Return commands of zero velocity, (count, 3)."""
        return np.zeros((count, self.command_size))
