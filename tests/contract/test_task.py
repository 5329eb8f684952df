"""Contract of every task: declared sizes, ranges, repeatability, given episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest

from solo_doi.sim import SimConfig
from solo_doi.tasks import TASKS, make_task, task_type
from solo_doi.tasks.episode import draw_episodes
from solo_doi.tasks.randomisation import PRESETS
from solo_doi.tasks.randomness import GivenEpisodes
from solo_doi.tasks.task import Task

ROBOTS = 3
STEPS = 10
MakeTask = Callable[..., Task]


@pytest.fixture(params=TASKS)
def declared(request: pytest.FixtureRequest) -> type[Task]:
    """Class of a task."""
    return task_type(request.param)


@pytest.fixture
def make(declared: type[Task]) -> Iterator[MakeTask]:
    """Return a function that starts the task in MuJoCo; simulators are closed after the test."""
    with ExitStack() as stack:

        def make_one(randomness: np.random.Generator | GivenEpisodes, **settings: object) -> Task:
            setup = SimConfig(num_robots=ROBOTS)
            simulator = stack.enter_context(declared.make_simulator("mujoco", setup))
            config = replace(declared.config_type(), **settings)  # type: ignore[arg-type]
            return make_task(declared.name, simulator, randomness, config)

        yield make_one


@pytest.fixture
def actions(declared: type[Task]) -> np.ndarray:
    """Random policy outputs, (steps, robots, actions)."""
    shape = (STEPS, ROBOTS, len(declared.joint_names))
    return np.random.default_rng(0).normal(0, 0.5, shape)


def test_the_registry_name_is_the_task_s_own() -> None:
    """Files store the name, and readers look it up."""
    assert {name: task_type(name).name for name in TASKS} == {name: name for name in TASKS}


def test_results_have_the_declared_sizes(
    declared: type[Task], make: MakeTask, actions: np.ndarray
) -> None:
    """The sizes are those of observations, reward groups, features and commands."""
    task = make(np.random.default_rng(0))
    step = task.step(actions[0])
    observations = (ROBOTS, declared.layout.size)
    assert task.observe().shape == observations
    assert step.observation.shape == step.final_observation.shape == observations
    assert step.observation.dtype == np.float32
    assert step.reward.shape == (ROBOTS, len(declared.reward_groups))
    for features in declared.feature_sets.values():
        assert features.compute(step.state).shape == (ROBOTS, len(features.names))
    assert task.command.shape == (ROBOTS, declared.command_size)
    assert step.score.shape == step.fallen.shape == step.timed_out.shape == (ROBOTS,)


def test_rewards_are_finite_and_at_most_one(
    declared: type[Task], make: MakeTask, actions: np.ndarray
) -> None:
    """Values are averages of rewards, so a reward above 1 would break their scale.

    Gymnasium's rewards have their own scale; no values are learned from them.
    """
    largest = 1.0 if declared.randomised else np.inf
    task = make(np.random.default_rng(0))
    for action in actions:
        step = task.step(action)
        assert np.isfinite(step.reward).all()
        assert (step.reward <= largest).all()
        assert (step.score <= largest).all()


def test_the_same_seed_gives_the_same_steps(make: MakeTask, actions: np.ndarray) -> None:
    """Steps are equal to the last bit, even if episodes end.

    Another seed gives other observations.
    """
    one = make(np.random.default_rng(5), episode_steps=4)
    same = make(np.random.default_rng(5), episode_steps=4)
    other = make(np.random.default_rng(6), episode_steps=4)
    for action in actions:
        step = one.step(action)
        np.testing.assert_array_equal(step.observation, same.step(action).observation)
        assert (step.observation != other.step(action).observation).any()


def test_a_saved_task_continues_exactly(make: MakeTask, actions: np.ndarray) -> None:
    """Another task that loads the state takes the same step."""
    task = make(np.random.default_rng(1), randomisation="none", early_end=False)
    for action in actions[:5]:
        task.step(action)
    saved = task.save()
    other = make(np.random.default_rng(2), randomisation="none", early_end=False)
    other.load(saved)
    one = task.step(actions[5])
    two = other.step(actions[5])
    np.testing.assert_array_equal(one.final_observation, two.final_observation)
    np.testing.assert_array_equal(one.reward, two.reward)


def test_a_time_out_starts_a_new_episode(make: MakeTask, actions: np.ndarray) -> None:
    """The transition keeps the last observation of the old episode."""
    task = make(np.random.default_rng(3), episode_steps=STEPS, early_end=False)
    for action in actions:
        step = task.step(action)
    assert step.timed_out.all()
    assert (task.age == 0).all()
    assert (step.observation != step.final_observation).any(axis=1).all()


def test_given_episodes_repeat_and_never_restart(
    declared: type[Task], make: MakeTask, actions: np.ndarray
) -> None:
    """Two runs of drawn episodes are equal, although episodes time out."""
    seeds = [(1, 0, number) for number in range(ROBOTS)]
    draws = draw_episodes(declared, seeds, np.zeros(ROBOTS), STEPS, PRESETS["robust"])
    command = np.full(declared.command_size, 0.5)
    runs = []
    for _ in range(2):
        episodes = GivenEpisodes(draws, command, declared.layout)
        task = make(episodes, episode_steps=4)
        runs.append(np.stack([task.step(action).observation for action in actions]))
        assert (task.age == STEPS).all()
    np.testing.assert_array_equal(runs[0], runs[1])
