"""Kinematics of one leg in plain numbers, against arrays and axes that are rotated by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solo_doi.solo12.constants import NUM_JOINTS, NUM_LEGS, TOTAL_MASS, Array
from solo_doi.solo12.kinematics import foot_jacobians, foot_motion
from solo_doi.solo12.rotations import from_rpy, projected_gravity, rotate
from solo_doi.solo12.single_leg import SingleLeg, cross

ANGLES = st.lists(st.floats(-3.0, 3.0), min_size=NUM_JOINTS, max_size=NUM_JOINTS)
RATES = st.lists(st.floats(-50.0, 50.0), min_size=NUM_JOINTS, max_size=NUM_JOINTS)


def legs(angles: Array) -> list[SingleLeg]:
    """Return the four legs of a robot."""
    return [
        SingleLeg(number, angles[3 * number : 3 * number + 3].tolist())
        for number in range(NUM_LEGS)
    ]


def test_cross_product_is_numpy_s() -> None:
    """The vectors have no zeros."""
    a, b = (1.0, -2.0, 3.0), (0.5, 4.0, -1.5)
    np.testing.assert_allclose(cross(a, b), np.cross(a, b))


@given(angles=ANGLES, rates=RATES)
def test_feet_are_where_and_as_fast_as_in_arrays(angles: list[float], rates: list[float]) -> None:
    """This holds for all four feet, in every pose."""
    q, dq = np.array(angles), np.array(rates)
    positions, velocities = foot_motion(q, dq)
    for number, leg in enumerate(legs(q)):
        joints = slice(3 * number, 3 * number + 3)
        np.testing.assert_allclose(leg.position(), positions[number], atol=1e-12)
        np.testing.assert_allclose(leg.velocity(rates[joints]), velocities[number], atol=1e-11)


def test_shanks_turn_about_axes_that_the_hips_have_turned() -> None:
    """HAA turns about x; HFE and KFE turn about the y axis of the leg after HAA.

    On slopes all three components count.
    """
    rng = np.random.default_rng(1)
    position, velocity = rng.uniform(-1, 1, NUM_JOINTS), rng.uniform(-5, 5, NUM_JOINTS)
    for number, leg in enumerate(legs(position)):
        haa, hfe, kfe = velocity[3 * number : 3 * number + 3]
        axis = rotate(from_rpy(position[3 * number], 0, 0), np.array([0.0, 1.0, 0.0]))
        expected = haa * np.array([1.0, 0, 0]) + (hfe + kfe) * axis
        np.testing.assert_allclose(leg.shank_rate([haa, hfe, kfe]), expected, atol=1e-12)


def test_supported_weight_is_the_force_behind_the_torques() -> None:
    """Forces along gravity of a tilted base become torques by the Jacobian and are recovered."""
    rng = np.random.default_rng(2)
    for _ in range(100):
        q = np.tile([0.0, 0.6, -1.4], NUM_LEGS) + rng.uniform(-0.4, 0.4, NUM_JOINTS)
        gravity, newtons = (
            projected_gravity(from_rpy(*rng.uniform(-0.5, 0.5, 3))),
            rng.uniform(0, 10 * TOTAL_MASS),
        )
        torque = np.einsum("lij,i->lj", foot_jacobians(q), newtons * gravity)
        gx, gy, gz = gravity.tolist()
        for leg, torques in zip(legs(q), torque.tolist(), strict=True):
            assert leg.supported_weight(torques, (gx, gy, gz)) == pytest.approx(newtons, abs=1e-9)


@pytest.mark.parametrize("angles", [(0.0, 0.3, 0.0), (0.0, np.pi / 2 - 0.2, 0.4)])
def test_a_leg_in_a_singular_pose_supports_no_weight(angles: tuple[float, float, float]) -> None:
    """The knee is straight, or the foot is at the height of its hip."""
    assert SingleLeg(0, angles).supported_weight((1.0, 1.0, 1.0), (0.0, 0.0, -1.0)) == 0.0
