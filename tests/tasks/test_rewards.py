"""Reward terms against hand-computed values, and at their limits."""

from __future__ import annotations

from math import exp, pi

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solo_doi.solo12.constants import FOOT_RADIUS
from solo_doi.solo12.limits import TRAINING_LIMITS
from solo_doi.solo12.rotations import from_rpy
from solo_doi.tasks import rewards

from .states import on_feet, standing_state, with_feet_at

MOVING, STILL = np.array([True]), np.array([False])


def test_bell_is_one_at_zero_and_falls_to_1_over_e_at_its_width() -> None:
    """exp(-(x / w)^2): 1, 1/e, 1/e^4 at 0, 1 and 2 widths, on both sides."""
    np.testing.assert_allclose(
        rewards.bell(np.array([0.0, 0.3, -0.3, 0.6]), 0.3), [1, exp(-1), exp(-1), exp(-4)]
    )


def test_target_rate_takes_the_norm_over_joints() -> None:
    """Changes of 0.3 and 0.4 rad have norm 0.5: exp(-0.25)."""
    target, previous = np.zeros((2, 12)), np.zeros((2, 12))
    target[1, [0, 7]] = 0.3, -0.4
    np.testing.assert_allclose(rewards.target_rate(target, previous), [1.0, exp(-0.25)])


def test_foot_slip_sums_the_motion_of_feet_near_the_ground() -> None:
    """5 mm sideways at 20 mm height count 0.005 / (0.1 + 0.06), on each of four feet."""
    state = with_feet_at(0.02)
    before_w = state.foot_position_w + np.array(
        [0.003, -0.004, 0.7]
    )  # vertical motion does not count
    np.testing.assert_allclose(rewards.foot_slip(state, before_w), exp(-((4 * 0.005 / 0.16) ** 2)))


def test_foot_slip_ignores_feet_in_the_air() -> None:
    """A swinging foot must move; the boundary is 40 mm."""
    for height, expected in ((0.04, 1.0), (0.0399, exp(-((4 * 0.1 / (0.1 + 3 * 0.0399)) ** 2)))):
        state = with_feet_at(height)
        np.testing.assert_allclose(
            rewards.foot_slip(state, state.foot_position_w - np.array([0.1, 0, 0])), expected
        )


def test_foot_slip_is_not_made_worse_by_feet_that_sink_in() -> None:
    """Below the ground the divisor stays 0.1; otherwise it would be zero at 33 mm."""
    state = with_feet_at(-0.033)
    np.testing.assert_allclose(
        rewards.foot_slip(state, state.foot_position_w + np.array([0, 0.01, 0])), exp(-(0.4**2))
    )


def test_contact_changes_are_counted_per_foot_in_both_directions() -> None:
    """One foot lifts and one touches down: two changes, two factors."""
    before, now = np.array([[True, False, True, True]]), np.array([[False, True, True, True]])
    np.testing.assert_allclose(
        rewards.contact_changes(now, before), exp(-2 * rewards.CHANGE_WEIGHT)
    )
    np.testing.assert_array_equal(rewards.contact_changes(now, now), 1.0)


def test_stand_still_counts_only_for_a_zero_command() -> None:
    """Four feet 0.1 m up are each 0.06 m above 0.04 m, with norm 0.12.

    The reward is exp(-1.44). It does not apply on the move.
    """
    np.testing.assert_allclose(rewards.stand_still(with_feet_at(0.10), STILL), exp(-(1.2**2)))
    np.testing.assert_array_equal(rewards.stand_still(with_feet_at(0.10), MOVING), 1.0)


def test_stand_still_is_better_with_the_feet_down_than_lifted() -> None:
    """Feet on the ground have their centres at the foot's radius.

    The reward exp(-(2 * 0.024 / 0.1)^2) is above that of any real lift.
    """
    down = rewards.stand_still(with_feet_at(FOOT_RADIUS), STILL)
    np.testing.assert_allclose(down, exp(-(0.48**2)))
    assert down > rewards.stand_still(with_feet_at(0.08), STILL)


def test_torque_takes_the_norm_over_joints() -> None:
    """1.5 N m and 2 N m have norm 2.5: exp(-0.25).

    All twelve joints at the limit have norm 2.5 sqrt(12): exp(-3).
    """
    torque = np.zeros((2, 12))
    torque[0, [2, 5]] = 1.5, -2.0
    torque[1] = TRAINING_LIMITS.torque
    np.testing.assert_allclose(
        rewards.torque(standing_state(2, torque=torque)), [exp(-0.25), exp(-3)]
    )


def test_tracking_is_half_a_narrow_and_half_a_wide_kernel() -> None:
    """At an error of 0.3, the value is half of exp(-1) plus half of exp(-0.09)."""
    expected = [1.0, 0.5 * exp(-1) + 0.5 * exp(-0.09), 0.5 * exp(-1) + 0.5 * exp(-0.09)]
    np.testing.assert_allclose(rewards.tracking(np.array([0.0, 0.3, -0.3]), 0.3), expected)


def test_tracking_has_a_slope_for_a_standing_robot() -> None:
    """At an error of 1 m/s, the first 0.1 m/s must be worth a hundredth.

    With the narrow kernel alone it is worth a ten-thousandth.
    """
    gain = np.diff(rewards.tracking(np.array([1.0, 0.9]), 0.3))
    narrow = np.diff(rewards.bell(np.array([1.0, 0.9]), 0.3))
    assert gain > 0.01 > 0.0002 > narrow


def test_the_reported_return_is_the_narrow_kernel_of_the_forward_velocity() -> None:
    """An error of 0.3 m/s gives exp(-1); sideways motion does not count."""
    state = standing_state(2, linear_velocity_b=np.array([[1.0, 5.0, 5.0], [0.7, 0, 0]]))
    command = np.array([[1.0, 0, 0], [1.0, 0, 0]])
    np.testing.assert_allclose(rewards.tracking_return(state, command), [1.0, exp(-1)])


def test_height_is_best_at_a_quarter_metre() -> None:
    """0.2 and 0.3 m are half a width off and give exp(-0.25)."""
    position_w = np.array([[5.0, -3.0, 0.25], [0, 0, 0.2], [0, 0, 0.3]])
    values = rewards.height(standing_state(3, base_position_w=position_w))
    np.testing.assert_allclose(values, [1.0, exp(-0.25), exp(-0.25)])


def test_attitude_is_flat_near_level_and_a_bell_beyond() -> None:
    """0.12 and 0.16 rad have norm 0.2: exp(-1) / 0.9.

    Below 0.065 rad, where the bell is 0.9, the reward is one.
    """
    rpy = np.array([(0, 0, 0), (0.06, 0, 0), (0, -0.06, 0), (0.12, 0, 0), (0.12, 0.16, 0)])
    values = rewards.attitude(standing_state(5, base_quaternion=from_rpy(*rpy.T)))
    np.testing.assert_allclose(values, [1, 1, 1, exp(-0.36) / 0.9, exp(-1) / 0.9])


@pytest.mark.parametrize("angle", [0.01, 0.15, 0.4])
def test_attitude_treats_negative_angles_like_positive_ones(angle: float) -> None:
    """In [0, 2 pi), a roll of -0.01 would be 6.27, and an almost level base would get no reward."""
    roll, pitch = np.array([angle, -angle, 0, 0]), np.array([0, 0, angle, -angle])
    values = rewards.attitude(standing_state(4, base_quaternion=from_rpy(roll, pitch, np.zeros(4))))
    np.testing.assert_allclose(values, min(exp(-((angle / 0.2) ** 2)), 0.9) / 0.9)


@pytest.mark.parametrize("yaw", [-3.0, -0.5, pi])
def test_attitude_does_not_depend_on_heading(yaw: float) -> None:
    state = standing_state(
        base_quaternion=from_rpy(np.array([0.1]), np.array([-0.05]), np.array([yaw]))
    )
    np.testing.assert_allclose(rewards.attitude(state), exp(-(0.1**2 + 0.05**2) / 0.04) / 0.9)


GAITS: dict[str, list[tuple[str, ...]]] = {
    "trot": [("FL", "HR"), ("FR", "HL")],
    "pace": [("FL", "HL"), ("FR", "HR")],
    "bound": [("FL", "FR"), ("HL", "HR")],
    "pronk": [("FL", "FR", "HL", "HR"), ()],
    "stand": [("FL", "FR", "HL", "HR")],
    "walk": [("FR", "HL", "HR"), ("FL", "FR", "HR"), ("FL", "HL", "HR"), ("FL", "FR", "HL")],
}
"""Feet on the ground in each part of a stride."""


@pytest.mark.parametrize(
    ("gait", "cost"),
    # Half a point for each diagonal with feet that differ; a point if both diagonals do the same,
    # half if nearly.
    [("trot", 0.0), ("pace", 2.0), ("bound", 2.0), ("pronk", 1.0), ("stand", 1.0), ("walk", 1.0)],
)
def test_trot_term_is_one_for_a_trot_and_lower_for_every_other_gait(gait: str, cost: float) -> None:
    """The expert must trot; the values are averages over a stride."""
    values = [rewards.trot(on_feet(*feet), MOVING)[0] for feet in GAITS[gait]]
    np.testing.assert_allclose(np.mean(values), exp(-rewards.TROT_WEIGHT * cost))


def test_trot_term_is_ignored_when_standing_is_commanded() -> None:
    """The robot stands on four feet and the reward is one."""
    np.testing.assert_array_equal(rewards.trot(on_feet("FL", "FR", "HL", "HR"), STILL), 1.0)


angles = st.floats(-pi, pi)


@given(
    roll=angles,
    pitch=st.floats(-pi / 2, pi / 2),
    height=st.floats(0, 1),
    contact=st.integers(0, 15),
    moving=st.booleans(),
)
def test_every_term_of_a_state_is_above_zero_and_at_most_one(
    roll: float, pitch: float, height: float, contact: int, moving: bool
) -> None:
    """Within a group, terms are multiplied.

    A zero would hide all others, and a term above one would dominate.
    """
    state = standing_state(
        base_quaternion=from_rpy(roll, pitch, 0.0)[None],
        base_position_w=np.array([[0, 0, height]]),
        foot_position_w=with_feet_at(height / 4).foot_position_w,
        foot_force_w=np.array([[[0, 0, 10.0 * (contact >> foot & 1)] for foot in range(4)]]),
        torque=np.full((1, 12), 2 * TRAINING_LIMITS.torque * (height - 0.5)),
    )
    flag = np.array([moving])
    values = [
        rewards.foot_slip(state, state.foot_position_w + np.array([0.1, 0, 0])),
        rewards.contact_changes(state.foot_contact, ~state.foot_contact),
        rewards.stand_still(state, flag),
        rewards.torque(state),
        rewards.height(state),
        rewards.attitude(state),
        rewards.trot(state, flag),
    ]
    assert all(0 < value <= 1 for value in np.concatenate(values))


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=5), st.sampled_from([0.3, 0.6]))
def test_tracking_is_above_zero_at_most_one_and_falls_with_the_error(
    errors: list[float], width: float
) -> None:
    """A smaller error never gives a smaller reward."""
    values = rewards.tracking(np.array(sorted(errors, key=abs)), width)
    assert (values > 0).all()
    assert (values <= 1).all()
    assert (np.diff(values) <= 0).all()


def test_target_rate_stays_above_zero_for_the_largest_jump_there_is() -> None:
    """Every joint moves from one training limit to the other."""
    assert rewards.target_rate(TRAINING_LIMITS.position, -TRAINING_LIMITS.position) > 0
