"""The task step, written once: pre-training, collection and evaluation call `Task.step`.

A subclass declares the specifics of a task; see `locomotion`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from solo_doi.sim.simulator import Simulator
from solo_doi.solo12.action import joint_target
from solo_doi.solo12.constants import NUM_JOINTS, NUM_LEGS, Array, ControlSetup
from solo_doi.solo12.observation import Inputs, Layout
from solo_doi.solo12.state import Motion, RobotState

from .randomisation import Randomisation, randomisation
from .randomness import LiveRandomness, Randomness

SAVED = ("command", "previous_action", "bias", "age", "target", "foot_position_w", "foot_contact")
"""Attributes of a task that `save` stores. The names are part of the file format of saved runs."""


@dataclass(frozen=True, kw_only=True)
class TaskConfig:
    """Settings that every task has."""

    randomisation: str = "robust"
    """Preset of domain randomisation: none, paper or robust."""
    episode_steps: int = 1000
    """Control steps until an episode times out [D.3: 20 s]."""
    early_end: bool = True
    """Restart a robot that falls. Off while policies are evaluated."""
    standing_share: float = 0.5
    """Share of episodes that start in the controller's standing pose; the others drop in moving."""
    command_steps: int = 250
    """Control steps until a new command is drawn."""


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
    features: np.ndarray
    """Diversity features by `Task.feature_names`, (N, features)."""
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


class Task(ABC):
    """N robots in a simulator that run episodes of one task."""

    name: ClassVar[str]
    layout: ClassVar[Layout]
    """Observation of the policy."""
    setup: ClassVar[ControlSetup]
    """Gains and default pose of the joint controller."""
    terrain: ClassVar[str] = "flat"
    """Ground, a name that `sim.make_terrain` knows."""
    reward_groups: ClassVar[tuple[str, ...]]
    feature_names: ClassVar[tuple[str, ...]]
    """Quantities in which skills may differ."""
    command_size: ClassVar[int]
    """Numbers of a command."""
    config_type: ClassVar[type[TaskConfig]]

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
        self.previous_action = np.zeros((robots, NUM_JOINTS))
        self.bias = np.zeros((robots, self.layout.size), dtype=np.float32)
        self.age = np.zeros(robots, dtype=np.int64)
        self.target = np.tile(self.setup.default_pose, (robots, 1))
        self.foot_position_w = simulator.state().foot_position_w
        self.foot_contact = np.ones((robots, NUM_LEGS), dtype=bool)
        self.difficulty = 1.0
        """Progress of a curriculum, from the easiest commands (0) to their full ranges (1)."""
        self._start(np.arange(robots))
        if config.early_end:
            self.age[:] = randomness.ages(robots, config.episode_steps)

    @staticmethod
    @abstractmethod
    def rewards(state: RobotState, target: Array, before: PreviousStep, command: Array) -> Array:
        """Return rewards by `reward_groups`, (N, groups)."""

    @staticmethod
    @abstractmethod
    def score(state: RobotState, command: Array) -> Array:
        """Return the reward that datasets store and evaluation reports, (N,)."""

    @staticmethod
    @abstractmethod
    def features(state: RobotState) -> np.ndarray:
        """Return diversity features by `feature_names`, (N, features)."""

    @staticmethod
    @abstractmethod
    def fallen(state: RobotState) -> np.ndarray:
        """Return which robots have fallen, (N,)."""

    @staticmethod
    @abstractmethod
    def initial_motion(count: int, standing_share: float, rng: np.random.Generator) -> Motion:
        """Draw start motions; the given share of robots starts in the standing pose."""

    @abstractmethod
    def draw_commands(self, count: int, rng: np.random.Generator) -> Array:
        """Draw commands, (count, command_size)."""

    def inputs(self, motion: Motion) -> Inputs:
        """Return the quantities that the observation is built from."""
        return Inputs(motion=motion, previous_action=self.previous_action, command=self.command)

    def draw_motion(self, count: int, rng: np.random.Generator) -> Motion:
        """Draw start motions with this task's share of standing robots."""
        return self.initial_motion(count, self.config.standing_share, rng)

    def observe(self) -> np.ndarray:
        """Return the current input of the policy, (N, observation)."""
        return self._observe(self.simulator.state())

    def step(self, action: Array) -> Transition:
        """Apply policy outputs (N, 12) for one control step; restart robots at an episode's end."""
        target = joint_target(action, self.setup)
        self._push()
        state = self._simulate(target)
        before = PreviousStep(self.target, self.foot_position_w, self.foot_contact)
        reward = self.rewards(state, target, before, self.command)
        score = self.score(state, self.command)
        self._remember(action, target, state)
        self.age += 1
        fallen = self.fallen(state)
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
            features=self.features(state),
            fallen=fallen,
            timed_out=timed_out,
            state=state,
        )

    def save(self) -> dict[str, np.ndarray]:
        """Return the state that an exact continuation needs, apart from the generator's state."""
        saved = {}
        for name in SAVED:
            saved[name] = getattr(self, name).copy()
        return saved | self.simulator.save()

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Continue from the result of `save`."""
        for name in SAVED:
            setattr(self, name, saved[name].copy())
        self.simulator.load(saved)

    def _simulate(self, target: Array) -> RobotState:
        """Hold joint targets for one control step."""
        return self.simulator.step(target)

    def _observe(self, state: Motion) -> np.ndarray:
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
        self._start(robots)
        observation = observation.copy()
        observation[robots] = self.observe()[robots]
        return observation

    def _start(self, robots: np.ndarray) -> None:
        """Begin an episode with new physics, sensor errors, pose and command."""
        start = self.randomness.starts(robots)
        self.simulator.set_domain(self.simulator.possible_domain(start.domain, robots), robots)
        self.bias[robots] = start.bias
        home = np.tile(self.setup.default_pose, (len(robots), 1))
        state = self.simulator.reset(start.motion, robots, target=home)
        self.previous_action[robots] = 0.0
        self.age[robots] = 0
        self.target[robots] = home
        self.foot_position_w[robots] = state.foot_position_w[robots]
        self.foot_contact[robots] = True
        self._set_commands(robots)

    def _set_commands(self, robots: np.ndarray) -> None:
        self.command[robots] = self.randomness.commands(robots)
