"""The navigation task: reach a target behind a box in time. The paper's obstacle navigation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from solo_doi.sim.simulator import Simulator
from solo_doi.sim.terrain import FAR_AWAY, Terrain
from solo_doi.solo12.constants import CONTROL_SETUPS, NUM_JOINTS, Array
from solo_doi.solo12.observation import LAYOUTS, NOMINAL_HEIGHT, SCAN_SIDE, Inputs
from solo_doi.solo12.rotations import from_rpy
from solo_doi.solo12.state import Motion, standing

from . import navigation_rewards as rewards
from .declarations import (
    FALLS,
    RETURN,
    CollectionDefaults,
    EvaluationDefaults,
    SceneNumbers,
    TrainingDefaults,
)
from .features import DIRECTION, FeatureSet
from .navigation_measures import DISTANCE, LEFT, OVER, RIGHT, SUCCESS
from .randomness import Randomness
from .rewards import target_rate, torque
from .task import Moment, Task, TaskConfig

HALF_WAY = 1.5
"""Distance from the start to the middle of box and wall [m]: half-way to a target 3 m ahead."""
SIDES = np.array([[1.0, 1.0], [1.0, 8.0]])
"""Sides of the box and of the wall [m]. The wall cannot be bypassed within an episode."""
TARGET = (3.0, 0.0, NOMINAL_HEIGHT, 0.0)
"""Target of recorded episodes: x, y, z [m], yaw [rad]."""
HORIZON = 500
"""Control steps of recorded episodes [D]: 10 s."""
LOWEST_BASE = 0.1
"""Height above the ground below which a base has fallen [m] [D]."""
BOX_AHEAD = 0.1
"""Largest height of a box above that of the robot's next wall [m]. In front of boxes far beyond
its ability, a robot gets stuck and learns nothing."""
LEAST_HEIGHT = 0.005
"""Height below which box and wall are left out [m]."""
_MIDDLE = slice(SCAN_SIDE // 2 - 1, SCAN_SIDE // 2 + 2)

CHECKPOINTS = (
    "model_0.pt", "model_65.pt", "model_130.pt", "model_195.pt", "model_260.pt",
    "model_325.pt", "model_650.pt", "model_1300.pt", "model_1950.pt", "model_2600.pt",
)  # fmt: skip
"""Policies that make the offline data: those at the paper's fractions of the schedule."""


@dataclass(frozen=True, kw_only=True)
class NavigationConfig(TaskConfig):
    """Start, target, ground and end of episodes."""

    episode_steps: int = 300
    """Control steps until an episode times out [D.4: 6 s]. The time input runs over it."""
    command_steps: int = 1_000_000
    """Control steps until a new target is drawn: more than an episode has."""
    target_distance: tuple[float, float] = (2.5, 3.5)
    """Range of the target's distance ahead [m]."""
    box_height: tuple[float, float] = (0.05, 0.25)
    """Range of the height of the box half-way [m]; below 0.005 there is none. While a robot learns,
    its box is at most 0.1 m higher than its wall."""
    wall_share: float = 0.5
    """Share of episodes with a wall instead of the box, which can only be climbed. Without walls,
    a robot that can go round never learns to climb."""
    wall_height: tuple[float, float] = (0.05, 0.3)
    """First and largest height of the wall [m]."""
    wall_step: float = 0.025
    """Change of the height of a robot's wall [m]: up after the robot has passed it, down otherwise.
    A curriculum that requires the target instead stays at height 0."""

    def rules(self) -> dict[str, tuple[bool, str]]:
        """Return for each setting if it is valid, and the expectation in words."""
        rules = super().rules()
        rules["wall_share"] = (0 <= self.wall_share <= 1, "between 0 and 1")
        rules["wall_step"] = (0 <= self.wall_step < math.inf, "0 or more")
        for name in ("target_distance", "box_height", "wall_height"):
            low, high = getattr(self, name)
            rules[name] = (0 <= low <= high < math.inf, "the lower end first, both 0 or more")
        return rules


class NavigationTask(Task):
    """Robots that go to a target over or round a box."""

    name = "navigation"
    layout = LAYOUTS["navigation"]
    setup = CONTROL_SETUPS["navigation"]
    reward_groups = ("regular", "task", "loose")
    group_weights: ClassVar[Mapping[str, float]] = {"loose": 0.15}
    feature_sets: ClassVar[Mapping[str, FeatureSet]] = {"direction": DIRECTION}
    command_size = 4
    config_type = NavigationConfig
    config: NavigationConfig
    saved = ("level", "walled")
    collection = CollectionDefaults(
        trajectories=2000,
        steps=HORIZON,
        command=TARGET,
        scene={"box_height": 0.2},
        expert={CHECKPOINTS[-1]: 1.0},
        offline=dict.fromkeys(CHECKPOINTS, 1 / len(CHECKPOINTS)),
        coverage_expert=12,
        reward="nearness to the target in the last sixth of the episode, and heading of those "
        "that arrived: (1/(1 + distance) + [distance < 0.25]/(1 + |yaw error|)) / 2",
        groups="the trainer's rewards: regular, task, loose",
        fallen="base lower than 0.1 m above the ground",
        commanded="target: x, y, z [m], yaw [rad] in the world",
    )
    evaluation = EvaluationDefaults(
        steps=HORIZON,
        scenes={f"{height:.1f} m": {"box_height": height} for height in np.arange(1, 7) / 10},
        measures=(SUCCESS, LEFT, RIGHT, OVER, DISTANCE, RETURN, FALLS),
        figures=("paths", "returns"),
        film_scene="0.2 m",  # as in the datasets
        target_radius=rewards.REACHED,
    )
    training = TrainingDefaults(
        doi={
            "skills": 3,
            "multipliers": "fixed:0.5",
            # Left-then-right and right-then-left have equal velocities, so the printed projection
            # cannot separate routes. The mean of the target's y over a trajectory can.
            "discriminator": {"terms": ["target.y"], "whole": True},
            "classifier": {"terms": ["target.x", "target.y", "linear_velocity.x"]},
            # Boxes of 0.3 to 0.6 m lie up to 9 deviations out in the scan of data at 0.2 m.
            "policy": {"input_clip": 3.0},
        },
        pretrain="pretrain/navigation",
    )

    def __init__(
        self,
        simulator: Simulator,
        config: NavigationConfig,
        randomness: np.random.Generator | Randomness,
    ) -> None:
        """Start all robots at the lowest wall."""
        self.level = np.full(simulator.num_robots, config.wall_height[0])
        """Height of each robot's next wall [m]."""
        self.walled = np.zeros(simulator.num_robots, dtype=bool)
        """True for robots that have a wall in this episode."""
        super().__init__(simulator, config, randomness)

    @classmethod
    def fixed_config(cls, randomisation: str, steps: int, scene: SceneNumbers) -> NavigationConfig:
        """Return settings of episodes with the box alone and a target 3 m ahead."""
        config = super().fixed_config(randomisation, steps, scene)
        assert isinstance(config, NavigationConfig)
        return replace(config, wall_share=0.0, target_distance=(TARGET[0], TARGET[0]))

    @classmethod
    def make_terrain(cls, num_robots: int) -> Terrain:
        """Return a box and a wall for every robot, both out of the way."""
        return _terrain(np.zeros(num_robots), np.zeros(num_robots))

    @classmethod
    def fixed_terrain(cls, config: TaskConfig, num_robots: int) -> Terrain:
        """Return the ground of recorded episodes."""
        assert isinstance(config, NavigationConfig)
        return _terrain(np.full(num_robots, config.box_height[0]), np.zeros(num_robots))

    @staticmethod
    def rewards(moment: Moment) -> Array:
        """Return the rewards (N, 3). Terms are multiplied, but for those of the task."""
        state = moment.state
        offset = rewards.target_offset(state, moment.command)
        away = rewards.distance(state.base_position_w, moment.command)
        before = rewards.distance(moment.before.base_position_w, moment.command)
        regular = (
            target_rate(moment.target, moment.before.target)
            * torque(state)
            * rewards.body_contact(state)
            * rewards.foot_push(state)
            * rewards.upright(state)
            * rewards.no_stall(state, away)
        )
        # At most 3.9, so that values stay below 1.
        task = 0.25 * (
            rewards.progress(away, before)
            + rewards.staying(away)
            + 2 * rewards.arrival(offset, moment.time_left)
        )
        loose = rewards.default_pose(state, NavigationTask.setup.default_pose) * rewards.facing(
            offset
        )
        return np.stack([regular, task, loose], axis=-1)

    @staticmethod
    def score(moment: Moment) -> Array:
        """Return DOMiNiC's reward of arrival, halved: in [0, 1]."""
        offset = rewards.target_offset(moment.state, moment.command)
        return rewards.arrival(offset, moment.time_left)

    @staticmethod
    def fallen(moment: Moment) -> np.ndarray:
        """Return robots whose base is low above the lowest ground below it [D.4]."""
        assert moment.scan_height is not None
        scan = moment.scan_height.reshape(-1, SCAN_SIDE, SCAN_SIDE)
        ground = scan[:, _MIDDLE, _MIDDLE].min(axis=(1, 2))
        return np.asarray(moment.state.base_position_w[:, 2] < ground + LOWEST_BASE)

    @staticmethod
    def initial_motion(count: int, standing_share: float, rng: np.random.Generator) -> Motion:
        """Draw robots in front of the box, roughly facing it; some stand, others drop in moving."""
        motion = standing(NavigationTask.setup, count)
        stands = rng.random(count) < standing_share
        moving = ~stands[:, None]
        motion.base_position_w[:, :2] += rng.uniform([-0.1, -0.2], [0.1, 0.2], (count, 2))
        motion.base_position_w[:, 2] += np.where(stands, 0.0, rng.uniform(0.0, 0.1, count))
        motion.base_quaternion[:] = from_rpy(0.0, 0.0, rng.uniform(-0.2, 0.2, count))
        motion.linear_velocity_b[:] = moving * rng.uniform(-0.3, 0.3, (count, 3))
        motion.angular_velocity_b[:] = moving * rng.uniform(-0.3, 0.3, (count, 3))
        motion.joint_position[:] += rng.uniform(-0.1, 0.1, (count, NUM_JOINTS))
        return motion

    def draw_commands(self, count: int, rng: np.random.Generator) -> Array:
        """Draw targets ahead, (count, 4)."""
        command = np.tile(TARGET, (count, 1))
        command[:, 0] = rng.uniform(*self.config.target_distance, count)
        return command

    def draw_terrain(self, robots: np.ndarray, rng: np.random.Generator) -> Terrain:
        """Draw a wall of each robot's own height, or a box."""
        walled = rng.random(len(robots)) < self.config.wall_share
        low, high = self.config.box_height
        box = rng.uniform(low, np.clip(self.level[robots] + BOX_AHEAD, low, high))
        self.walled[robots] = walled
        return _terrain(np.where(walled, 0.0, box), np.where(walled, self.level[robots], 0.0))

    def finish(self, robots: np.ndarray) -> None:
        """Raise the walls that were passed, and lower the others."""
        robots = robots[self.walled[robots]]
        beyond = HALF_WAY + SIDES[1, 0] / 2
        passed = self.base_position_w[robots, 0] > beyond
        step = np.where(passed, self.config.wall_step, -self.config.wall_step)
        self.level[robots] = np.clip(self.level[robots] + step, 0.0, self.config.wall_height[1])

    def free(self) -> np.ndarray:
        """Return robots without a wall: with a wall, there is only one route."""
        return ~self.walled

    def progress(self) -> dict[str, float]:
        """Return the mean and the highest wall [m]."""
        return {"wall/mean": float(self.level.mean()), "wall/highest": float(self.level.max())}

    def inputs(self, motion: Motion) -> Inputs:
        """Return the quantities that the observation is built from."""
        return replace(
            super().inputs(motion),
            target=rewards.target_offset(motion, self.command),
            time_left=self.time_left()[:, None],
        )


def _terrain(box: Array, wall: Array) -> Terrain:
    """Return a box and a wall of these heights (N,) half-way; those without height are absent."""
    height = np.stack([box, wall], axis=-1)
    there = height >= LEAST_HEIGHT
    centre = np.zeros((*height.shape, 2))
    centre[..., 0] = np.where(there, HALF_WAY, FAR_AWAY)
    size = np.empty((*height.shape, 3))
    size[..., :2] = SIDES
    size[..., 2] = np.maximum(height, LEAST_HEIGHT)
    return Terrain(centre, size)
