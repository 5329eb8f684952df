"""The task step, written once: pre-training, collection and evaluation call `Task.step`.

A subclass declares the specifics of a task; see `locomotion`.
"""

from __future__ import annotations

import typing
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from solo_doi.common.errors import UnknownNameError
from solo_doi.sim import SimConfig, make_simulator
from solo_doi.sim.simulator import Simulator
from solo_doi.sim.terrain import Terrain
from solo_doi.solo12.action import joint_target
from solo_doi.solo12.constants import (
    CONTROL_DT,
    JOINT_NAMES,
    NUM_LEGS,
    Array,
    ControlSetup,
)
from solo_doi.solo12.observation import Inputs, Layout
from solo_doi.solo12.state import Motion, RobotState

from .declarations import CollectionDefaults, EvaluationDefaults, SceneNumbers, TrainingDefaults
from .features import FeatureSet
from .randomisation import Randomisation, randomisation
from .randomness import LiveRandomness, Randomness

SCAN = "height_scan"
"""Observation term of the ground around a robot."""
SAVED = ("command", "previous_action", "bias", "age", "target", "foot_position_w", "foot_contact")
"""Attributes of a task that `save` stores. The names are part of the file format of saved runs."""


@dataclass(frozen=True, kw_only=True)
class TaskConfig:
    """Settings that every task has."""

    randomisation: str = "robust"
    """Preset of domain randomisation: none, paper, robust or hard."""
    episode_steps: int = 1000
    """Control steps until an episode times out [D.3: 20 s]."""
    early_end: bool = True
    """Restart a robot that falls. Off while policies are evaluated."""
    standing_share: float = 0.5
    """Share of episodes that start in the controller's standing pose; the others drop in moving."""
    command_steps: int = 250
    """Control steps until a new command is drawn."""

    def rules(self) -> dict[str, tuple[bool, str]]:
        """Return for each setting if it is valid, and the expectation in words."""
        return {
            "episode_steps": (self.episode_steps >= 1, "1 or more"),
            "command_steps": (self.command_steps >= 1, "1 or more"),
            "standing_share": (0 <= self.standing_share <= 1, "between 0 and 1"),
        }


@dataclass(frozen=True)
class Transition:
    """Result of one control step of all robots."""

    observation: np.ndarray
    """Next input of the policy, (N, observation); of the new episode where one ended."""
    final_observation: np.ndarray
    """The same before robots restart, (N, observation)."""
    reward: np.ndarray
    """Rewards by `Task.reward_groups`, (N, groups)."""
    score: np.ndarray
    """Reward that datasets store and evaluation reports, (N,)."""
    fallen: np.ndarray
    """Robots that have fallen, (N,)."""
    timed_out: np.ndarray
    """Robots with an episode of full length, (N,)."""
    state: RobotState
    """State before robots restart."""


@dataclass(frozen=True)
class PreviousStep:
    """Quantities of the step before, which rewards compare a step with."""

    target: Array  # (N, 12) joint targets [rad]
    foot_position_w: Array  # (N, 4, 3) [m]
    foot_contact: np.ndarray  # (N, 4)
    base_position_w: Array  # (N, 3) [m]


@dataclass(frozen=True, kw_only=True)
class Moment:
    """All that rewards, score and end of an episode depend on, after a control step."""

    state: RobotState
    target: Array  # (N, 12) joint targets [rad]
    before: PreviousStep
    command: Array  # (N, command)
    time_left: Array  # (N,) share of the episode that is left
    scan_height: Array | None  # (N, 121) ground around the robots [m]; None without a scan


class Task(ABC):
    """N robots in a simulator that run episodes of one task."""

    name: ClassVar[str]
    layout: ClassVar[Layout]
    """Observation of the policy."""
    setup: ClassVar[ControlSetup]
    """Gains and default pose of the joint controller."""
    joint_names: ClassVar[tuple[str, ...]] = JOINT_NAMES
    """Joints in the order of actions."""
    control_dt: ClassVar[float] = CONTROL_DT
    """Duration of a control step [s]."""
    randomised: ClassVar[bool] = True
    """False if robots and sensors are always nominal."""
    only_simulator: ClassVar[str] = ""
    """Name of the only simulator that has the task's robot; empty if all have it."""
    reward_groups: ClassVar[tuple[str, ...]]
    """Names of the rewards. Multipliers weigh `task`; the weight of `regular` grows."""
    group_weights: ClassVar[Mapping[str, float]] = {}
    """Constant weights of other groups."""
    feature_sets: ClassVar[Mapping[str, FeatureSet]]
    """Quantities in which skills may differ; pre-training chooses a set by its name."""
    command_size: ClassVar[int]
    """Numbers of a command."""
    config_type: ClassVar[type[TaskConfig]]
    collection: ClassVar[CollectionDefaults]
    """Datasets of the task."""
    evaluation: ClassVar[EvaluationDefaults] = EvaluationDefaults()
    """Scenes, measures and figures of the task's reports."""
    training: ClassVar[TrainingDefaults] = TrainingDefaults()
    """Changes of the trainers' settings."""
    saved: ClassVar[tuple[str, ...]] = ()
    """Further attributes that an exact continuation needs."""

    def __init__(
        self,
        simulator: Simulator,
        config: TaskConfig,
        randomness: np.random.Generator | Randomness,
    ) -> None:
        """Start an episode on every robot; a generator draws random numbers live."""
        self.simulator = simulator
        self.config = config
        self.random: Randomisation = randomisation(config.randomisation)
        if isinstance(randomness, np.random.Generator):
            randomness = LiveRandomness(self, randomness, simulator.unsupported_domain)
        self.randomness: Randomness = randomness
        robots = simulator.num_robots
        self.command = np.zeros((robots, self.command_size))
        self.previous_action = np.zeros((robots, len(self.joint_names)))
        self.bias = np.zeros((robots, self.layout.size), dtype=np.float32)
        self.age = np.zeros(robots, dtype=np.int64)
        self.target = np.tile(self.setup.default_pose, (robots, 1))
        state = simulator.state()
        self.foot_position_w = state.foot_position_w
        self.base_position_w = state.base_position_w.copy()
        self.scan_height: Array | None = None
        self.foot_contact = np.ones((robots, NUM_LEGS), dtype=bool)
        self.difficulty = 1.0
        """Progress of a curriculum, from the easiest commands (0) to their full ranges (1)."""
        self._start(np.arange(robots))
        if config.early_end:
            self.age[:] = randomness.ages(robots, config.episode_steps)

    @staticmethod
    @abstractmethod
    def rewards(moment: Moment) -> Array:
        """Return rewards by `reward_groups`, (N, groups)."""

    @staticmethod
    @abstractmethod
    def score(moment: Moment) -> Array:
        """Return the reward that datasets store and evaluation reports, (N,)."""

    @staticmethod
    @abstractmethod
    def fallen(moment: Moment) -> np.ndarray:
        """Return which robots have fallen, (N,)."""

    @staticmethod
    @abstractmethod
    def initial_motion(count: int, standing_share: float, rng: np.random.Generator) -> Motion:
        """Draw start motions; the given share of robots starts in the standing pose."""

    @abstractmethod
    def draw_commands(self, count: int, rng: np.random.Generator) -> Array:
        """Draw commands, (count, command_size)."""

    @classmethod
    def fixed_config(cls, randomisation: str, steps: int, scene: SceneNumbers) -> TaskConfig:
        """Return the settings of episodes that are recorded: one scene, no early end.

        A scene changes settings of the task by name. Settings with a range get a range without
        width.
        """
        return fixed(cls.config_type, randomisation, steps, scene)

    @classmethod
    def make_simulator(cls, sim: str, config: SimConfig) -> Simulator:
        """Return a simulator with the gains and the ground of the task."""
        gained = replace(config, kp=cls.setup.kp, kd=cls.setup.kd)
        return make_simulator(sim, gained, cls.make_terrain(config.num_robots))

    @classmethod
    def make_terrain(cls, num_robots: int) -> Terrain:
        """Return the ground that a simulator is made with; `draw_terrain` changes it."""
        return Terrain.flat(num_robots)

    @classmethod
    def fixed_terrain(cls, config: TaskConfig, num_robots: int) -> Terrain | None:
        """Return the ground of recorded episodes; None if it is that of `make_terrain`."""
        return None

    def draw_terrain(self, robots: np.ndarray, rng: np.random.Generator) -> Terrain | None:
        """Draw the ground of these robots' next episodes; None if it does not change."""
        return None

    def finish(self, robots: np.ndarray) -> None:  # noqa: B027  # a task without curriculum
        """Note the result of episodes that end, for a curriculum."""

    def free(self) -> np.ndarray:
        """Return robots whose episodes allow skills to differ, (N,): all by default."""
        return np.ones(len(self.age), dtype=bool)

    def progress(self) -> dict[str, float]:
        """Return metrics of the curriculum, by name."""
        return {}

    def inputs(self, motion: Motion) -> Inputs:
        """Return the quantities that the observation is built from."""
        return Inputs(
            motion=motion,
            previous_action=self.previous_action,
            command=self.command,
            scan_height=self.scan_height,
        )

    def draw_motion(self, count: int, rng: np.random.Generator) -> Motion:
        """Draw start motions with this task's share of standing robots."""
        return self.initial_motion(count, self.config.standing_share, rng)

    def observe(self) -> np.ndarray:
        """Return the current input of the policy, (N, observation)."""
        return self._observe(self.simulator.state())

    def step(self, action: Array) -> Transition:
        """Apply policy outputs (N, actions) for a control step; restart robots at an end."""
        target = self._control(action)
        self._push()
        state = self._simulate(target)
        moment = self._moment(state, target)
        reward = self.rewards(moment)
        score = self.score(moment)
        fallen = self.fallen(moment)
        self._remember(action, target, state)
        self.age += 1
        timed_out = self.age >= self.config.episode_steps
        # Before observing: the next reward is for the command that the policy sees next.
        self._set_commands(np.flatnonzero(self.age % self.config.command_steps == 0))
        final = self._observe(state)
        observation = self._restart(final, self._ended(fallen, timed_out))
        return Transition(
            observation=observation,
            final_observation=final,
            reward=reward,
            score=score,
            fallen=fallen,
            timed_out=timed_out,
            state=state,
        )

    def save(self) -> dict[str, np.ndarray]:
        """Return the state that an exact continuation needs, apart from the generator's state."""
        saved = {}
        for name in (*SAVED, *self.saved):
            saved[name] = getattr(self, name).copy()
        return saved | self.simulator.save()

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Continue from the result of `save`."""
        for name in (*SAVED, *self.saved):
            setattr(self, name, saved[name].copy())
        self.simulator.load(saved)
        self.base_position_w = self.simulator.state().base_position_w

    def over(self) -> np.ndarray:
        """Return robots whose recorded episode is over, (N,): none by default."""
        return np.zeros(len(self.age), dtype=bool)

    def _control(self, action: Array) -> Array:
        """Convert policy outputs to joint targets, (N, 12) [rad]."""
        return joint_target(action, self.setup)

    def _simulate(self, target: Array) -> RobotState:
        """Hold joint targets for one control step."""
        return self.simulator.step(target)

    def _moment(self, state: RobotState, target: Array) -> Moment:
        before = PreviousStep(
            self.target, self.foot_position_w, self.foot_contact, self.base_position_w
        )
        return Moment(
            state=state,
            target=target,
            before=before,
            command=self.command,
            time_left=self.time_left(),
            scan_height=self._scan(state),
        )

    def time_left(self) -> Array:
        """Return the share of the episode that is left, (N,)."""
        return np.maximum(1.0 - self.age / self.config.episode_steps, 0.0)

    def _scan(self, state: Motion) -> Array | None:
        """Return the ground height around the robots, (N, 121); None if it is not observed."""
        if SCAN not in self.layout.slices:
            return None
        return self.simulator.height_scan(state)

    def _observe(self, state: Motion) -> np.ndarray:
        self.scan_height = self._scan(state)
        return self.randomness.observation(self.inputs(state)) + self.bias

    def _push(self) -> None:
        pushes = self.randomness.pushes(len(self.age))
        if pushes.robots.size:
            self.simulator.kick(pushes.robots, pushes.linear_w, pushes.angular_b)

    def _remember(self, action: Array, target: Array, state: RobotState) -> None:
        # Copies, since `_start` writes into them: the caller's action and the returned state
        # must not change.
        self.previous_action = action.copy()
        self.target = target
        self.foot_position_w = state.foot_position_w.copy()
        self.foot_contact = state.foot_contact
        self.base_position_w = state.base_position_w.copy()

    def _ended(self, fallen: np.ndarray, timed_out: np.ndarray) -> np.ndarray:
        """Return the indices of robots that start a new episode."""
        if not self.randomness.restarts:
            return np.array([], dtype=np.intp)
        if self.config.early_end:
            return np.flatnonzero(timed_out | fallen)
        return np.flatnonzero(timed_out)

    def _restart(self, observation: np.ndarray, robots: np.ndarray) -> np.ndarray:
        """Start new episodes; return the observations with those of the new episodes."""
        if not robots.size:
            return observation
        self.finish(robots)
        self._start(robots)
        observation = observation.copy()
        observation[robots] = self.observe()[robots]
        return observation

    def _start(self, robots: np.ndarray) -> None:
        """Begin an episode with new physics, sensor errors, pose and command."""
        start = self.randomness.starts(robots)
        self.simulator.set_domain(self.simulator.possible_domain(start.domain, robots), robots)
        self.bias[robots] = start.bias
        if start.terrain is not None:
            self.simulator.set_terrain(start.terrain, robots)
        home = np.tile(self.setup.default_pose, (len(robots), 1))
        state = self.simulator.reset(start.motion, robots, target=home)
        self.previous_action[robots] = 0.0
        self.age[robots] = 0
        self.target[robots] = home
        self.foot_position_w[robots] = state.foot_position_w[robots]
        self.foot_contact[robots] = True
        self.base_position_w[robots] = state.base_position_w[robots]
        self._set_commands(robots)

    def _set_commands(self, robots: np.ndarray) -> None:
        self.command[robots] = self.randomness.commands(robots)


def fixed(
    kind: type[TaskConfig], randomisation: str, steps: int, scene: SceneNumbers
) -> TaskConfig:
    """Return settings of `kind` for episodes of `steps`, changed by the numbers of a scene."""
    hints = typing.get_type_hints(kind)
    changes: dict[str, object] = {}
    for name, value in scene.items():
        if name not in hints:
            raise UnknownNameError("number of a scene", name, hints)
        changes[name] = (value, value) if typing.get_origin(hints[name]) is tuple else value
    base = {"randomisation": randomisation, "episode_steps": steps, "early_end": False}
    return kind(**{**base, **changes})  # type: ignore[arg-type]  # names of the scene
