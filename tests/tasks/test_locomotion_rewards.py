"""The locomotion task: features and rewards of a state."""

from __future__ import annotations

from dataclasses import replace
from math import exp

import numpy as np
import pytest

from solo_doi.solo12.rotations import from_rpy
from solo_doi.solo12.state import RobotState, standing
from solo_doi.tasks import rewards
from solo_doi.tasks.features import MOTION, POSTURE
from solo_doi.tasks.locomotion import LocomotionTask
from solo_doi.tasks.task import PreviousStep

from .locomotion import Make, still
from .states import SETUP, moment, on_feet, previous, standing_state


def test_features_are_base_and_feet_in_the_documented_order() -> None:
    """Vertical velocity, roll and pitch rates of the base, then vertical foot velocities."""
    state = standing_state(
        linear_velocity_b=np.array([[1.0, 2.0, 3.0]]),
        angular_velocity_b=np.array([[4.0, 5.0, 6.0]]),
        foot_velocity_w=np.array([[[0, 0, 7.0], [0, 0, 8.0], [0, 0, 9.0], [0, 0, 10.0]]]),
    )
    assert MOTION.names == (
        "vz",
        "roll_rate",
        "pitch_rate",
        "vz_FL",
        "vz_FR",
        "vz_HL",
        "vz_HR",
    )
    np.testing.assert_array_equal(MOTION.compute(state), [[3, 4, 5, 7, 8, 9, 10]])


def test_posture_features_are_visible_averages() -> None:
    """Height of the base, and mean height of the feet, computed by hand."""
    feet = np.zeros((1, 4, 3))
    feet[0, :, 2] = 0.02, 0.02, 0.06, 0.06
    state = standing_state(
        base_position_w=np.array([[3.0, 4.0, 0.22]]),
        base_quaternion=from_rpy(0.0, np.arcsin(0.1), 0.5)[None],
        foot_position_w=feet,
    )
    assert POSTURE.names == ("height", "foot_height")
    assert len(POSTURE.units) == len(POSTURE.names)
    np.testing.assert_allclose(POSTURE.compute(state), [[0.22, 0.04]], rtol=1e-6)


def perfect() -> tuple[RobotState, PreviousStep]:
    """Return a robot in a perfect stance, and an equal previous step."""
    position_w = np.array([[0.0, 0.0, 0.25]])
    foot_position_w = standing_state().foot_position_w
    foot_position_w[..., 2] = 0.04  # the height that `stand_still` prefers
    state = standing_state(base_position_w=position_w, foot_position_w=foot_position_w)
    return state, previous(state)


def test_perfect_standing_earns_one_in_both_groups() -> None:
    """Every term is one, and so is their product."""
    state, before = perfect()
    np.testing.assert_allclose(LocomotionTask.rewards(moment(state, before=before)), [[1.0, 1.0]])


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
    """With one error at a time, one group has that term's value, the other stays one."""
    state, before = perfect()
    changed = moment(replace(state, **change), before=before, target=target)
    reward = LocomotionTask.rewards(changed)
    np.testing.assert_allclose(reward, [[regular, task]])


def test_the_trot_counts_for_the_task_and_only_on_the_move() -> None:
    """The robot stands on four feet.

    With a standing command the reward is one; at 1 m/s forward the trot's factor applies.
    """
    state, before = perfect()
    state = replace(state, foot_force_w=on_feet("FL", "FR", "HL", "HR").foot_force_w)
    before = replace(before, foot_contact=state.foot_contact)
    standing_reward, moving_reward = (
        LocomotionTask.rewards(
            moment(
                replace(state, linear_velocity_b=np.array([velocity])),
                np.array([velocity]),
                before,
            )
        )
        for velocity in ([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    )
    np.testing.assert_allclose(standing_reward, [[1.0, 1.0]])
    np.testing.assert_allclose(moving_reward, [[1.0, exp(-rewards.TROT_WEIGHT)]])


def test_rewards_are_in_range_and_ordered_by_group(make: Make) -> None:
    """A robot that moves as commanded has a higher task reward than one that stands.

    Jerking lowers regularity.
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
