"""Recordings of rollouts."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from solo_doi.common.errors import MissingPackageError
from solo_doi.evaluate.rollouts.recording import evaluation_task, record
from solo_doi.sim import SimConfig, make_simulator
from solo_doi.solo12.constants import CONTROL_SETUPS
from solo_doi.solo12.observation import LAYOUTS
from solo_doi.solo12.state import standing

COMMAND = LAYOUTS["locomotion"].slices["command"]
TRAILING = {
    "position_w": (3,),
    "quaternion": (4,),
    "linear_velocity_b": (3,),
    "angular_velocity_b": (3,),
    "joint_position": (12,),
    "joint_velocity": (12,),
    "torque": (12,),
    "foot_position_w": (4, 3),
    "foot_contact": (4,),
    "reward": (2,),
    "fallen": (),
    "observation": (48,),
    "over": (),
    "score": (),
}


def still(observation: np.ndarray) -> np.ndarray:
    """Hold the default pose."""
    return np.zeros((len(observation), 12), dtype=np.float32)


def test_a_recording_has_every_step_of_every_robot() -> None:
    """Ten steps of three robots, finite, with the shapes that are documented."""
    task = evaluation_task("mujoco", 3, "robust", seed=0)
    with task.simulator:
        recording = record(task, still, 10)
    assert {field.name for field in fields(recording)} == {*TRAILING, "terrain"}
    assert recording.terrain is not None
    assert recording.terrain.num_boxes == 0
    for name, shape in TRAILING.items():
        values = getattr(recording, name)
        assert values.shape == (10, 3, *shape), name
        assert np.isfinite(values).all(), name


def test_steps_are_recorded_one_by_one() -> None:
    """A dropped robot is lower in every step: no row is a view of a later one."""
    task = evaluation_task("mujoco", 1, "none", seed=0, standing_share=0.0)
    with task.simulator:
        motion = standing(CONTROL_SETUPS["locomotion"], 1)
        motion.base_position_w[:, 2] += 1.0
        task.simulator.reset(motion)
        height = record(task, still, 6).position_w[:, 0, 2]
    assert (np.diff(height) < 0).all()


def test_the_policy_sees_the_fixed_command_in_every_step() -> None:
    """The observation is the state after the previous step."""
    task = evaluation_task("mujoco", 2, "none", seed=0, command=(0.5, -0.3, 0.2))
    seen = []

    def act(observation: np.ndarray) -> np.ndarray:
        seen.append(observation.copy())
        return still(observation)

    with task.simulator:
        recording = record(task, act, 5)
    assert len(seen) == 5
    for observation in seen:
        np.testing.assert_allclose(
            observation[:, COMMAND], np.tile([0.5, -0.3, 0.2], (2, 1)), rtol=1e-6
        )
    np.testing.assert_allclose(seen[3][:, :3], recording.linear_velocity_b[2], atol=1e-6)


def test_observations_are_what_the_policy_saw() -> None:
    """They include noise and constant errors and are taken before each step, as in datasets."""
    seen = []

    def act(observation: np.ndarray) -> np.ndarray:
        seen.append(observation.copy())
        return still(observation)

    task = evaluation_task("mujoco", 2, "robust", seed=0)
    with task.simulator:
        recording = record(task, act, 5)
    np.testing.assert_array_equal(recording.observation, np.stack(seen))
    velocity = recording.observation[1:, :, LAYOUTS["locomotion"].slices["joint_velocity"]]
    error = velocity - recording.joint_velocity[:-1]
    assert 0.1 < abs(error).max() <= 1.0  # uniform noise of 1 rad/s


def test_standing_still_can_be_commanded() -> None:
    """A command of zero is valid."""
    task = evaluation_task("mujoco", 2, "none", seed=0, command=(0.0, 0.0, 0.0))
    with task.simulator:
        np.testing.assert_array_equal(task.command, 0.0)


def test_fallen_robots_are_counted_once_and_not_placed_anew() -> None:
    """A robot that collapses is not reset, and is marked for the whole episode."""

    def collapse(observation: np.ndarray) -> np.ndarray:
        action = still(observation)
        action[1] = np.tile([0.0, 8.0, 8.0], 4)  # the second robot folds its legs
        return action

    task = evaluation_task("mujoco", 2, "none", seed=0, standing_share=1.0)
    with task.simulator:
        recording = record(task, collapse, 60)
    assert recording.ever_fallen.tolist() == [False, True]
    assert recording.position_w[-1, 1, 2] < 0.2


@pytest.mark.parametrize("sim", ["mujoco", "pybullet"])
def test_the_same_seed_gives_the_same_recording(sim: str) -> None:
    """Evaluations are repeatable; another seed draws other robots."""
    try:
        make_simulator(sim, SimConfig()).close()
    except MissingPackageError as error:
        pytest.skip(str(error))
    recordings = []
    for seed in (4, 4, 5):
        task = evaluation_task(sim, 2, "robust", seed)
        with task.simulator:
            recordings.append(record(task, still, 5))
    one, same, other = recordings
    for name in TRAILING:
        np.testing.assert_array_equal(getattr(one, name), getattr(same, name), err_msg=name)
    assert (one.joint_position != other.joint_position).any()
