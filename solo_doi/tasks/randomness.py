"""Random numbers of a running task: drawn live from a generator, or given beforehand.

The interface is the same in both cases, so the task step is written once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from solo_doi.sim.domain import Domain
from solo_doi.sim.terrain import Terrain
from solo_doi.solo12.constants import Array
from solo_doi.solo12.observation import Inputs, Layout
from solo_doi.solo12.state import Motion

from .episode import Draws
from .randomisation import Randomisation


@dataclass(frozen=True)
class EpisodeStart:
    """Random conditions of M robots at the start of an episode."""

    domain: Domain
    bias: np.ndarray  # (M, observation) constant sensor error
    motion: Motion
    terrain: Terrain | None = None
    """New ground of these robots; None if it does not change."""


@dataclass(frozen=True)
class Pushes:
    """Sudden changes of base velocity of M robots."""

    robots: np.ndarray  # (M,) indices
    linear_w: Array  # (M, 3) [m/s]
    angular_b: Array  # (M, 3) [rad/s]


class Randomness(ABC):
    """Source of all random numbers of a task."""

    restarts: bool
    """True if a robot can start another episode after the end of one."""

    @abstractmethod
    def starts(self, robots: np.ndarray) -> EpisodeStart:
        """Return the start conditions of these robots' next episodes."""

    @abstractmethod
    def ages(self, num_robots: int, episode_steps: int) -> np.ndarray:
        """Return the age of every robot's first episode [control steps]."""

    @abstractmethod
    def commands(self, robots: np.ndarray) -> Array:
        """Return new commands of these robots, (M, command)."""

    @abstractmethod
    def pushes(self, num_robots: int) -> Pushes:
        """Return the pushes at the beginning of a control step. Called once per step."""

    @abstractmethod
    def observation(self, inputs: Inputs) -> np.ndarray:
        """Build observations with white sensor noise, (N, observation)."""


class DrawnTask(Protocol):
    """Part of a task that live draws depend on."""

    layout: ClassVar[Layout]
    random: Randomisation

    def draw_motion(self, count: int, rng: np.random.Generator) -> Motion:
        """Draw start motions."""

    def draw_commands(self, count: int, rng: np.random.Generator) -> Array:
        """Draw commands."""

    def draw_terrain(self, robots: np.ndarray, rng: np.random.Generator) -> Terrain | None:
        """Draw the ground."""


class LiveRandomness(Randomness):
    """Random numbers drawn from one generator while the task runs."""

    restarts = True

    def __init__(
        self, task: DrawnTask, rng: np.random.Generator, nominal_fields: frozenset[str]
    ) -> None:
        """Draw for `task`; the engine cannot vary the domain fields `nominal_fields`."""
        self._task = task
        self._rng = rng
        self._nominal_fields = nominal_fields

    def starts(self, robots: np.ndarray) -> EpisodeStart:
        """Draw domain, sensor error, motion and ground, in this order."""
        preset = self._task.random
        count = len(robots)
        domain = preset.draw_domain(count, self._rng, fixed=self._nominal_fields)
        bias = preset.draw_bias(count, self._task.layout, self._rng)
        motion = self._task.draw_motion(count, self._rng)
        return EpisodeStart(domain, bias, motion, self._task.draw_terrain(robots, self._rng))

    def ages(self, num_robots: int, episode_steps: int) -> np.ndarray:
        """Draw ages evenly, so that not all first episodes end at once."""
        return self._rng.integers(0, episode_steps, num_robots)

    def commands(self, robots: np.ndarray) -> Array:
        """Draw commands as the task declares them."""
        return self._task.draw_commands(len(robots), self._rng)

    def pushes(self, num_robots: int) -> Pushes:
        """Draw the robots that are pushed, then their pushes."""
        preset = self._task.random
        robots = np.flatnonzero(preset.draw_pushed(num_robots, self._rng))
        velocity = preset.draw_push_velocity((2, len(robots), 3), self._rng)
        return Pushes(robots, velocity[0], velocity[1])

    def observation(self, inputs: Inputs) -> np.ndarray:
        """Add the layout's noise before the observation is clipped."""
        noise = self._rng if self._task.random.observation_noise else None
        return self._task.layout.build(inputs, noise)


class GivenEpisodes(Randomness):
    """Episodes drawn beforehand, one per robot, all with given commands. No episode restarts."""

    restarts = False

    def __init__(
        self, draws: Draws, command: Array, layout: Layout, terrain: Terrain | None = None
    ) -> None:
        """Use `draws` from their first step on.

        Args:
            draws: Random numbers of all episodes.
            command: Command of all robots, (command,).
            layout: Observation of the task.
            terrain: Ground of all robots; None if the simulator's stays.
        """
        self._draws = draws
        self._terrain = terrain
        self._command = command
        self._layout = layout
        self._step = 0

    def starts(self, robots: np.ndarray) -> EpisodeStart:
        """Return the drawn start conditions."""
        draws = self._draws
        terrain = None if self._terrain is None else self._terrain[robots]
        return EpisodeStart(draws.domain[robots], draws.bias[robots], draws.motion[robots], terrain)

    def ages(self, num_robots: int, episode_steps: int) -> np.ndarray:
        """Return zeros: every episode is simulated from its beginning."""
        return np.zeros(num_robots, dtype=np.int64)

    def commands(self, robots: np.ndarray) -> Array:
        """Return the given command for each robot."""
        return np.tile(self._command, (len(robots), 1))

    def pushes(self, num_robots: int) -> Pushes:
        """Return the pushes of the next step."""
        kick = self._draws.kick[self._step]
        self._step += 1
        robots = np.flatnonzero(kick.any(axis=-1))
        return Pushes(robots, kick[robots, :3], kick[robots, 3:])

    def observation(self, inputs: Inputs) -> np.ndarray:
        """Add the drawn noise. It follows the clipping, as in datasets of earlier versions."""
        return self._layout.build(inputs) + self._draws.noise[self._step]
