"""The locomotion task: features of a state and what it earns."""

from __future__ import annotations

from dataclasses import replace
from math import exp

import numpy as np
import pytest

from solo_doi.solo12.rotations import from_rpy
from solo_doi.solo12.state import RobotState, standing
from solo_doi.tasks import rewards
from solo_doi.tasks.locomotion import LocomotionTask
from solo_doi.tasks.task import PreviousStep

from .locomotion import Make, still
from .states import SETUP, on_feet, standing_state


def test_features_are_base_and_feet_in_the_documented_order() -> None:
    """Vertical velocity, roll and pitch rates of the base, then vertical foot velocities."""
    state = standing_state(
        linear_velocity_b=np.array([[1.0, 2.0, 3.0]]),
        angular_velocity_b=np.array([[4.0, 5.0, 6.0]]),
        foot_velocity_w=np.array([[[0, 0, 7.0], [0, 0, 8.0], [0, 0, 9.0], [0, 0, 10.0]]]),
    )
    assert LocomotionTask.feature_names == (
        "vz",
        "roll_rate",
        "pitch_rate",
        "vz_FL",
        "vz_FR",
        "vz_HL",
        "vz_HR",
    )
    np.testing.assert_array_equal(LocomotionTask.features(state), [[3, 4, 5, 7, 8, 9, 10]])


def perfect() -> tuple[RobotState, PreviousStep]:
    """A robot that stands as well as one can, and the step before, which was the same."""
    position_w = np.array([[0.0, 0.0, 0.25]])
    foot_position_w = standing_state().foot_position_w
    foot_position_w[..., 2] = 0.04  # where `stand_still` wants them
    state = standing_state(base_position_w=position_w, foot_position_w=foot_position_w)
    return state, PreviousStep(np.zeros((1, 12)), foot_position_w, state.foot_contact)


def test_perfect_standing_earns_one_in_both_groups() -> None:
    """Every term is one, and so is their product."""
    state, before = perfect()
    np.testing.assert_allclose(
        LocomotionTask.rewards(state, before.target, before, np.zeros((1, 3))), [[1.0, 1.0]]
    )


TORQUE, TURN = np.zeros((1, 12)), np.zeros((1, 12))
TORQUE[0, [0, 1]] = 1.5, 2.0  # norm 2.5, half the width
TURN[0, [3, 4]] = 0.3, 0.4  # norm 0.5
ONE_FOOT = np.array([[[0, 0, 10.0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]])


@pytest.mark.parametrize(
    ("change", "target", "regular", "task"),
    [
        ({"torque": TORQUE}, 0 * TURN, exp(-0.25), 1.0),
        ({}, TURN, exp(-0.25), 1.0),
        ({"foot_force_w": ONE_FOOT}, 0 * TURN, exp(-rewards.CHANGE_WEIGHT), 1.0),
        (
            {"linear_velocity_b": np.array([[0.3, 0, 9.0]])},
            0 * TURN,
            1.0,
            0.5 * exp(-1) + 0.5 * exp(-0.09),
        ),
        (
            {"linear_velocity_b": np.array([[0, -0.3, 0]])},
            0 * TURN,
            1.0,
            0.5 * exp(-1) + 0.5 * exp(-0.09),
        ),
        (
            {"angular_velocity_b": np.array([[9.0, 9.0, 0.6]])},
            0 * TURN,
            1.0,
            0.5 * exp(-1) + 0.5 * exp(-0.36),
        ),
        ({"base_position_w": np.array([[0, 0, 0.2]])}, 0 * TURN, 1.0, exp(-0.25)),
        ({"base_quaternion": from_rpy(0.2, 0, 0)[None]}, 0 * TURN, 1.0, exp(-1) / 0.9),
    ],
    ids=["torque", "target", "contact", "vx", "vy", "yaw rate", "height", "attitude"],
)
def test_each_term_is_a_factor_of_its_group(
    change: dict[str, np.ndarray], target: np.ndarray, regular: float, task: float
) -> None:
    """One thing is off at a time: one group has that term's value, the other stays one."""
    state, before = perfect()
    reward = LocomotionTask.rewards(replace(state, **change), target, before, np.zeros((1, 3)))
    np.testing.assert_allclose(reward, [[regular, task]])


def test_the_trot_counts_for_the_task_and_only_on_the_move() -> None:
    """The same stance on all fours.

    Nothing lost when standing is asked, the trot's factor at 1 m/s forward.
    """
    state, before = perfect()
    state = replace(state, foot_force_w=on_feet("FL", "FR", "HL", "HR").foot_force_w)
    before = replace(before, foot_contact=state.foot_contact)
    standing_reward, moving_reward = (
        LocomotionTask.rewards(
            replace(state, linear_velocity_b=np.array([velocity])),
            before.target,
            before,
            np.array([velocity]),
        )
        for velocity in ([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    )
    np.testing.assert_allclose(standing_reward, [[1.0, 1.0]])
    np.testing.assert_allclose(moving_reward, [[1.0, exp(-rewards.TROT_WEIGHT)]])


def test_rewards_are_in_range_and_ordered_by_group(make: Make) -> None:
    """A robot that moves as commanded earns more for the task than one that stands.

    Jerking costs regularity.
    """
    task = make()
    assert LocomotionTask.reward_groups == ("regular", "task")
    motion = standing(SETUP, 3)
    motion.linear_velocity_b[0, 0] = 1.0
    task.simulator.reset(motion)
    action = still(task)
    action[2] = 3.0 * np.resize([1, -1], 12)
    reward = task.step(action).reward
    assert reward.shape == (3, 2)
    assert (reward > 0).all()
    assert (reward <= 1).all()
    assert reward[0, 1] > 2 * reward[1, 1]
    assert reward[2, 0] < reward[1, 0] / 2
