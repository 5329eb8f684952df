"""The locomotion task: initial states of episodes."""

from __future__ import annotations

import numpy as np

from solo_doi.solo12.state import standing
from solo_doi.tasks.locomotion import LocomotionTask

from .locomotion import Make, still
from .states import SETUP


def test_standing_starts_are_as_the_controller_leaves_the_robot() -> None:
    """The robot is at rest, at standing height, level, with joints within 0.05 rad of the pose."""
    motion = LocomotionTask.initial_motion(500, 1.0, np.random.default_rng(0))
    expected = standing(SETUP, 500)
    for name in (
        "base_position_w",
        "base_quaternion",
        "linear_velocity_b",
        "angular_velocity_b",
        "joint_velocity",
    ):
        np.testing.assert_array_equal(getattr(motion, name), getattr(expected, name))
    offset = np.abs(motion.joint_position - SETUP.default_pose)
    assert 0.0495 < offset.max() <= 0.05


def test_other_starts_drop_in_moving() -> None:
    """The bounds are 0.1 m above the ground, 0.5 m/s, 0.5 rad/s and 0.05 + 0.15 rad per joint."""
    motion = LocomotionTask.initial_motion(500, 0.0, np.random.default_rng(0))
    above = motion.base_position_w[:, 2] - SETUP.standing_height
    assert 0 <= above.min() < 0.001
    assert 0.099 < above.max() <= 0.1
    for velocity in (motion.linear_velocity_b, motion.angular_velocity_b):
        assert velocity.all()
        assert 0.499 < np.abs(velocity).max() <= 0.5
    assert 0.15 < np.abs(motion.joint_position - SETUP.default_pose).max() <= 0.2


def test_the_standing_share_of_episodes_starts_standing() -> None:
    """1000 draws at 25 % are 250, within five standard deviations of 14."""
    motion = LocomotionTask.initial_motion(1000, 0.25, np.random.default_rng(0))
    at_rest = (motion.linear_velocity_b == 0).all(axis=1)
    assert abs(at_rest.sum() - 250) < 70
    np.testing.assert_array_equal(at_rest, (motion.angular_velocity_b == 0).all(axis=1))
    np.testing.assert_array_equal(at_rest, motion.base_position_w[:, 2] == SETUP.standing_height)


def test_a_standing_robot_stays_up_with_zero_actions(make: Make) -> None:
    """The motors hold the default pose from the first step on.

    The robot still stands half a second later.
    """
    task = make(standing_share=1.0)
    for _ in range(25):
        step = task.step(still(task))
    assert not step.fallen.any()
    np.testing.assert_allclose(step.state.base_position_w[:, 2], SETUP.standing_height, atol=0.03)


def test_first_episodes_have_random_ages_where_falls_end_them(make: Make) -> None:
    """Otherwise all robots of a training run would time out in the same step."""
    age = make(100, episode_steps=50).age
    assert 0 <= age.min() < 10
    assert 40 < age.max() < 50
    assert (make(10, early_end=False).age == 0).all()
