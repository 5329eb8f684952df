"""Gym tasks agree with Gymnasium's environments to the last bit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from solo_doi.common.errors import SoloError
from solo_doi.sim import SimConfig
from solo_doi.sim.gym.gym_simulator import GymSimulator, gym_motion
from solo_doi.sim.input_checks import SimulationError
from solo_doi.tasks import task_type
from solo_doi.tasks.gym.environments import ENVIRONMENTS, GymEnvironment
from solo_doi.tasks.gym.gym_task import GymTask, HopperTask
from solo_doi.tasks.task import TaskConfig

STEPS = 60
CONFIG = TaskConfig(randomisation="none", episode_steps=1000, early_end=False)


@pytest.fixture(params=ENVIRONMENTS, ids=lambda environment: environment.name)
def environment(request: pytest.FixtureRequest) -> GymEnvironment:
    """Each of the four environments."""
    return request.param


@pytest.fixture
def original(
    environment: GymEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[gymnasium.Env]:
    """Gymnasium's environment, made where MuJoCo may leave its log."""
    monkeypatch.chdir(tmp_path)
    made = gymnasium.make(environment.gymnasium)
    yield made
    made.close()


def started(environment: GymEnvironment, robots: int, config: TaskConfig = CONFIG) -> GymTask:
    """Return a task of some robots with random starts."""
    task = task_type(environment.name)
    simulator = task.make_simulator("mujoco", SimConfig(num_robots=robots, threads=1))
    return task(simulator, config, np.random.default_rng(0))  # type: ignore[return-value]


def test_steps_agree_with_gymnasium(environment: GymEnvironment, original: gymnasium.Env) -> None:
    """States, observations, rewards and ends are equal, from a start of Gymnasium's own draw."""
    seen, _ = original.reset(seed=3)
    inner = original.unwrapped
    task = started(environment, 2)
    positions = np.stack([inner.data.qpos, task.simulator.state().joint_position[1]])
    velocities = np.stack([inner.data.qvel, task.simulator.state().joint_velocity[1]])
    task.simulator.reset(gym_motion(positions, velocities))
    task.base_position_w = task.simulator.state().base_position_w
    np.testing.assert_array_equal(task.observe()[0], seen.astype(np.float32))
    rng = np.random.default_rng(1)
    for _ in range(STEPS):
        action = rng.uniform(-1, 1, (2, len(environment.motors)))
        seen, reward, terminated, _, _ = original.step(action[0])
        step = task.step(action)
        np.testing.assert_array_equal(step.state.joint_position[0], inner.data.qpos)
        np.testing.assert_array_equal(step.state.joint_velocity[0], inner.data.qvel)
        np.testing.assert_array_equal(step.observation[0], seen.astype(np.float32))
        assert step.score[0] == reward
        assert bool(step.fallen[0]) is terminated
        if terminated:
            break
    assert terminated is environment.can_end


def test_numbers_are_those_of_gymnasium(
    environment: GymEnvironment, original: gymnasium.Env
) -> None:
    inner = original.unwrapped
    assert original.spec is not None
    assert original.spec.max_episode_steps == task_type(environment.name).collection.steps
    np.testing.assert_array_equal(environment.start, inner.init_qpos)
    assert (environment.num_velocities, environment.control_dt) == (inner.model.nv, inner.dt)
    assert original.observation_space.shape == (environment.observation_size,)
    actuated = [
        inner.model.joint(inner.model.actuator(i).trnid[0]).name for i in range(inner.model.nu)
    ]
    assert list(environment.motors) == actuated
    assert (original.action_space.low == -1).all()
    assert (original.action_space.high == 1).all()


def test_starts_are_drawn_as_gymnasium_draws_them(
    environment: GymEnvironment, original: gymnasium.Env
) -> None:
    """The same generator gives the same start."""
    original.reset(seed=5)
    motion = task_type(environment.name).initial_motion(1, 0.0, np.random.default_rng(5))
    np.testing.assert_array_equal(motion.joint_position[0], original.unwrapped.data.qpos)
    np.testing.assert_array_equal(motion.joint_velocity[0], original.unwrapped.data.qvel)


def test_robots_of_ended_episodes_halt() -> None:
    """They earn nothing, and stay where they are; the others go on."""
    task = started(HopperTask.environment, 8)
    rng = np.random.default_rng(0)
    for _ in range(200):
        before = task.over().copy()
        step = task.step(rng.uniform(-1, 1, (8, 3)))
        assert (step.score[before] == 0).all()
        assert step.fallen[before].all()
        if task.over().all():
            break
    assert task.over().all()
    assert np.isfinite(step.observation).all()


def test_live_episodes_restart_where_they_end() -> None:
    """Pre-training and evaluation with early ends go on with new episodes."""
    task = started(HopperTask.environment, 4, replace(CONFIG, early_end=True))
    rng = np.random.default_rng(0)
    ended = 0
    for _ in range(60):
        step = task.step(rng.uniform(-1, 1, (4, 3)))
        ended += int(step.fallen.sum())
        assert not task.over().any()
        assert (task.age[step.fallen] == 0).all()
    assert ended


def test_scores_are_those_of_d4rl(environment: GymEnvironment) -> None:
    returns = np.array([environment.random_return, environment.expert_return])
    np.testing.assert_allclose(environment.normalised(returns), [0, 100])


def test_other_simulators_and_randomised_robots_are_refused() -> None:
    with pytest.raises(SoloError, match="Task hopper in 'pybullet': expected --sim mujoco"):
        HopperTask.make_simulator("pybullet", SimConfig())
    with pytest.raises(SoloError, match="Expected --randomisation none"):
        HopperTask.fixed_config("robust", 10, {})


def test_wrong_arrays_are_refused() -> None:
    simulator = GymSimulator(SimConfig(num_robots=2, threads=1), HopperTask.environment.model)
    with pytest.raises(SimulationError, match=r"action has shape \(2, 4\), expected \(2, 3\)"):
        simulator.step(np.zeros((2, 4)))
    with pytest.raises(SimulationError, match=r"joint_velocity of robot 1 is nan"):
        simulator.reset(gym_motion(np.zeros((1, 6)), np.full((1, 6), np.nan)), [1])
    with pytest.raises(SimulationError, match="cannot be pushed"):
        simulator.kick([0], np.zeros((1, 3)), np.zeros((1, 3)))
