"""Conversion from policy output to joint target to torque."""

from __future__ import annotations

import numpy as np
import pytest

from solo_doi.solo12.action import joint_target, joint_torque
from solo_doi.solo12.constants import CONTROL_SETUPS, ControlSetup
from solo_doi.solo12.limits import TRAINING_LIMITS
from solo_doi.solo12.state import JointCommand

LOCOMOTION = CONTROL_SETUPS["locomotion"]


@pytest.mark.parametrize("setup", CONTROL_SETUPS.values(), ids=CONTROL_SETUPS)
def test_zero_action_is_the_default_pose(setup: ControlSetup) -> None:
    """An untrained policy stands."""
    np.testing.assert_array_equal(joint_target(np.zeros(12), setup), setup.default_pose)


def test_a_unit_of_action_is_a_quarter_radian() -> None:
    """FL_HFE: 0.6 + 0.25 x 2 = 1.1 rad; the other joints stay."""
    action = np.zeros(12)
    action[1] = 2.0
    expected = LOCOMOTION.default_pose.copy()
    expected[1] = 1.1
    np.testing.assert_allclose(joint_target(action, LOCOMOTION), expected, rtol=1e-15)


def test_targets_are_clamped_to_the_training_limits_joint_by_joint() -> None:
    """Any output of a policy is clamped to +-0.8, +-1.35, +-2.6 rad."""
    np.testing.assert_array_equal(
        joint_target(np.full((2, 12), 1e3), LOCOMOTION), np.tile(TRAINING_LIMITS.position, (2, 1))
    )
    np.testing.assert_array_equal(
        joint_target(np.full(12, -1e3), LOCOMOTION), np.tile([-0.80, -1.35, -2.60], 4)
    )


def test_torque_is_position_error_and_damping() -> None:
    """5 (0.3 - 0.1) - 0.1 x 2 = 0.8 N m."""
    command = JointCommand(position=np.full(12, 0.3), kp=5.0, kd=0.1)
    np.testing.assert_allclose(joint_torque(command, np.full(12, 0.1), np.full(12, 2.0)), 0.8)


def test_torque_is_limited_in_both_directions() -> None:
    """5 N m/rad x 1 rad would be 5 N m; the limit is 2.5 N m, or the caller's."""
    command = JointCommand(position=np.repeat([1.0, -1.0], 6), kp=5.0, kd=0.1)
    np.testing.assert_array_equal(
        joint_torque(command, np.zeros(12), np.zeros(12)), np.repeat([2.5, -2.5], 6)
    )
    np.testing.assert_array_equal(
        joint_torque(command, np.zeros(12), np.zeros(12), limit=1.8), np.repeat([1.8, -1.8], 6)
    )


def test_gains_may_differ_per_joint() -> None:
    """Commands for the real robot have gains per joint."""
    command = JointCommand(position=np.ones(12), kp=np.arange(12) / 10, kd=0.0)
    np.testing.assert_allclose(joint_torque(command, np.zeros(12), np.ones(12)), np.arange(12) / 10)
