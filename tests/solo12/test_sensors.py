"""Motion of a robot from measured joints and an estimated base."""

from __future__ import annotations

import numpy as np

from solo_doi.solo12.estimator import Estimate
from solo_doi.solo12.rotations import projected_gravity
from solo_doi.solo12.sensors import estimated_motion, quaternion_from_gravity


def test_an_estimated_tilt_becomes_an_attitude_that_shows_it() -> None:
    """This works for any tilt; upside down, any valid quaternion is accepted."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        gravity = rng.standard_normal(3)
        gravity /= np.linalg.norm(gravity)
        np.testing.assert_allclose(
            projected_gravity(quaternion_from_gravity(gravity)), gravity, atol=1e-9
        )
    assert np.isfinite(quaternion_from_gravity(np.array([0.0, 0.0, 1.0]))).all()


def test_a_policy_sees_joints_as_measured_and_the_base_as_estimated() -> None:
    """The position of the robot is unknown and therefore zero."""
    tilted = np.array([0.6, 0.0, -0.8])
    estimate = Estimate(tilted, np.array([1.0, 0.1, 0.0]), np.array([0.0, 0.2, 0.0]), np.ones(4))
    seen = estimated_motion(np.arange(12.0), np.arange(12.0) + 12, estimate)
    np.testing.assert_array_equal(seen.joint_position, np.arange(12.0))
    np.testing.assert_array_equal(seen.joint_velocity, np.arange(12.0) + 12)
    np.testing.assert_array_equal(seen.linear_velocity_b, estimate.velocity_b)
    np.testing.assert_array_equal(seen.angular_velocity_b, estimate.angular_velocity_b)
    np.testing.assert_allclose(projected_gravity(seen.base_quaternion), tilted)
    assert not seen.base_position_w.any()
