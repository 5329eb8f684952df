"""Gymnasium's environments as tasks: walker2d, halfcheetah, hopper and ant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.sim import SimConfig
from solo_doi.sim.gym.gym_simulator import GymSimulator, GymState, gym_motion
from solo_doi.sim.simulator import Simulator
from solo_doi.solo12.constants import Array, ControlSetup, constant
from solo_doi.solo12.observation import Inputs, Layout, Term
from solo_doi.solo12.state import Motion
from solo_doi.tasks.declarations import (
    RETURN,
    CollectionDefaults,
    Episodes,
    EvaluationDefaults,
    Measure,
    SceneNumbers,
    TrainingDefaults,
)
from solo_doi.tasks.features import FeatureSet
from solo_doi.tasks.task import Moment, Task, TaskConfig

from .environments import ANT, HALFCHEETAH, HOPPER, WALKER2D, GymEnvironment

RANDOM_STEPS = 1_000_000
"""Control steps of random data at scale 1, as in D4RL."""
EPISODE_STEPS = 1000
"""Time limit of an episode [steps]."""
FAILED_BELOW = 20.0
"""D4RL score below which an episode counts as failed, although the robot did not fall."""
SCORE_MEANING = "return of an episode, 0 for D4RL's random policy and 100 for its expert"
FAILED_MEANING = (
    f"share of episodes that end before the time limit, or with a score below {FAILED_BELOW:g}"
)
PLAIN = "none"
"""The only preset of domain randomisation: Gymnasium has none."""


@dataclass(frozen=True, kw_only=True)
class GymConfig(TaskConfig):
    """Settings of a Gym task."""

    randomisation: str = PLAIN
    """Preset of domain randomisation: none."""


class GymTask(Task):
    """Robots of one environment. A subclass names it; all declarations follow from it.

    Episodes that are recorded end where Gymnasium ends them: their robots halt, with a reward of
    zero.
    """

    environment: ClassVar[GymEnvironment]
    reward_groups = ("task",)
    feature_sets: ClassVar[Mapping[str, FeatureSet]] = {}
    command_size = 0
    config_type = GymConfig
    randomised = False
    only_simulator = "mujoco"
    training = TrainingDefaults(doi=None)

    def __init_subclass__(cls) -> None:
        """Declare what follows from the environment."""
        environment = cls.environment
        cls.name = environment.name
        cls.joint_names = environment.motors
        cls.control_dt = environment.control_dt
        cls.layout = _layout(environment)
        rest = constant(np.zeros(len(environment.motors)))
        cls.setup = ControlSetup(rest, kp=0.0, kd=0.0, standing_height=0.0)
        cls.collection = _collection(environment)
        cls.evaluation = _evaluation(environment)

    @classmethod
    def rewards(cls, moment: Moment) -> Array:
        """Return Gymnasium's reward, (N, 1)."""
        return cls.score(moment)[:, None]

    @classmethod
    def score(cls, moment: Moment) -> Array:
        """Return Gymnasium's reward, (N,)."""
        state = _gym_state(moment)
        moved = state.base_position_w[:, 0] - moment.before.base_position_w[:, 0]
        return cls.environment.reward(state, moved / cls.control_dt, moment.target)

    @classmethod
    def fallen(cls, moment: Moment) -> np.ndarray:
        """Return which robots are in a state that ends an episode, (N,)."""
        return ~cls.environment.healthy(_gym_state(moment))

    @classmethod
    def initial_motion(cls, count: int, standing_share: float, rng: np.random.Generator) -> Motion:
        """Draw start states as Gymnasium does."""
        environment = cls.environment
        noise = environment.start_noise
        positions = np.array(environment.start)
        joints = positions + rng.uniform(-noise, noise, (count, len(positions)))
        shape = (count, environment.num_velocities)
        if environment.normal_velocity:
            return gym_motion(joints, noise * rng.standard_normal(shape))
        return gym_motion(joints, rng.uniform(-noise, noise, shape))

    def draw_commands(self, count: int, rng: np.random.Generator) -> Array:
        """Return no numbers, (count, 0): there are no commands."""
        return np.zeros((count, 0))

    @classmethod
    def fixed_config(cls, randomisation: str, steps: int, scene: SceneNumbers) -> TaskConfig:
        """Return the settings of recorded episodes, which end early."""
        if randomisation != PLAIN:
            raise SoloError(
                f"Task {cls.name} with randomisation {randomisation!r}: Gymnasium has none. "
                f"Expected --randomisation {PLAIN}."
            )
        return super().fixed_config(randomisation, steps, scene)

    @classmethod
    def make_simulator(cls, sim: str, config: SimConfig) -> Simulator:
        """Return the environment's robots in MuJoCo."""
        if sim != cls.only_simulator:
            raise SoloError(f"Task {cls.name} in {sim!r}: expected --sim {cls.only_simulator}.")
        return GymSimulator(config, cls.environment.model)

    def over(self) -> np.ndarray:
        """Return robots whose recorded episode is over, (N,)."""
        return self._engine.halted

    @property
    def _engine(self) -> GymSimulator:
        assert isinstance(self.simulator, GymSimulator)
        return self.simulator

    def _control(self, action: Array) -> Array:
        """Return motor torques in the units of Gymnasium; none for robots that are halted."""
        return np.where(self.over()[:, None], 0.0, action)

    def _observe(self, state: Motion) -> np.ndarray:
        assert isinstance(state, GymState)
        return self.environment.observe(state).astype(np.float32)

    def _ended(self, fallen: np.ndarray, timed_out: np.ndarray) -> np.ndarray:
        restarting = super()._ended(fallen, timed_out)
        staying = fallen.copy()
        staying[restarting] = False
        self._engine.halt(np.flatnonzero(staying))
        return restarting


def _gym_state(moment: Moment) -> GymState:
    assert isinstance(moment.state, GymState)
    return moment.state


def _not_built(inputs: Inputs, setup: ControlSetup) -> None:
    """Return nothing: the environment computes its observation as a whole."""


def _layout(environment: GymEnvironment) -> Layout:
    """Return the layout with one term of all numbers, as data of D4RL have."""
    size = environment.observation_size
    term = Term("observation", size, 0.0, "as in Gymnasium", environment.gymnasium, _not_built)
    return Layout(environment.name, (term,))


def _collection(environment: GymEnvironment) -> CollectionDefaults:
    return CollectionDefaults(
        trajectories=round(RANDOM_STEPS / environment.random_steps),
        steps=EPISODE_STEPS,
        mean_steps=environment.random_steps,
        command=(),
        expert={"expert": 1.0},
        offline={"random": 1.0},
        coverage_expert=200,
        demonstrations=1,
        foreign_expert=True,
        unused_inputs=environment.older_zeros,
        reward=f"reward of {environment.gymnasium}",
        groups=f"the same reward of {environment.gymnasium}",
        fallen="the robot is in a state that ends an episode",
        ended="the robot fell, and the episode ended",
        commanded="no command",
        action="action of Gymnasium, in [-1, 1]",
        recipes=("random", "medium-replay"),
    )


def _evaluation(environment: GymEnvironment) -> EvaluationDefaults:
    def score(episodes: Episodes) -> np.ndarray:
        return environment.normalised(episodes.score.sum(0))

    def failed(episodes: Episodes) -> np.ndarray:
        return np.asarray(episodes.fallen.any(0) | (score(episodes) < FAILED_BELOW))

    measures = (
        Measure("score", "D4RL score", SCORE_MEANING, score, median=True),
        Measure("failed", "failed", FAILED_MEANING, failed),
        RETURN,
    )
    return EvaluationDefaults(
        steps=EPISODE_STEPS, episodes=30, measures=measures, film=False, diversity=True
    )


class Walker2dTask(GymTask):
    """Two legs in a plane."""

    environment = WALKER2D


class HalfCheetahTask(GymTask):
    """Two legs and a long body in a plane; episodes never end early."""

    environment = HALFCHEETAH


class HopperTask(GymTask):
    """One leg in a plane."""

    environment = HOPPER


class AntTask(GymTask):
    """Four legs in space."""

    environment = ANT
