"""Types that are shared by all packages."""

from __future__ import annotations

import numpy as np

from solo_doi.solo12.constants import CONTROL_SETUPS, FOOT_RADIUS, symmetric_pose
from solo_doi.solo12.rotations import from_rpy
from solo_doi.solo12.state import Motion, RobotState, feet_in_world, mechanical_power, standing


def test_standing_robots_have_their_feet_on_the_ground() -> None:
    """The tolerance is a millimetre, the precision of the height."""
    for setup in CONTROL_SETUPS.values():
        position_w, velocity_w = feet_in_world(standing(setup, 3))
        assert position_w.shape == (3, 4, 3)
        np.testing.assert_allclose(position_w[..., 2], FOOT_RADIUS, atol=1e-3)
        np.testing.assert_array_equal(velocity_w, 0.0)


def test_feet_turn_with_the_base() -> None:
    """The base is at (1, 2), faces +y and spins at 1 rad/s.

    The front-left foot, at (x, y) in the base, moves with it.
    """
    motion = Motion(
        base_position_w=np.array([1.0, 2.0, 0.5]),
        base_quaternion=from_rpy(0, 0, np.pi / 2),
        linear_velocity_b=np.array([3.0, 0.0, 0.0]),
        angular_velocity_b=np.array([0.0, 0.0, 1.0]),
        joint_position=symmetric_pose(0.0, np.pi / 4, -np.pi / 2),
        joint_velocity=np.zeros(12),
    )
    x, y, z = 0.1946, 0.14695, -0.32 * np.cos(np.pi / 4)
    position_w, velocity_w = feet_in_world(motion)
    np.testing.assert_allclose(position_w[0], (1 - y, 2 + x, 0.5 + z), atol=1e-12)
    # In the base the velocity is (3 - y, x, 0). Facing +y, the base's x is the world's y, and its y
    # the world's -x.
    np.testing.assert_allclose(velocity_w[0], (-x, 3 - y, 0), atol=1e-12)


def test_robots_are_selected_by_index_slice_and_mask() -> None:
    """All fields are selected together."""
    motion = standing(CONTROL_SETUPS["locomotion"], 4)
    motion.base_position_w[:, 0] = np.arange(4)
    motion.joint_velocity[:, 0] = np.arange(4)
    for index in (np.array([1, 3]), slice(1, 4, 2), np.array([False, True, False, True])):
        np.testing.assert_array_equal(motion[index].base_position_w[:, 0], [1, 3])
        np.testing.assert_array_equal(motion[index].joint_velocity[:, 0], [1, 3])
    assert motion[2].base_position_w.shape == (3,)


def test_contact_means_more_than_a_newton_in_any_direction() -> None:
    """A foot pressed against a wall touches, even without a vertical force."""
    motion = standing(CONTROL_SETUPS["locomotion"], 1)
    feet, bodies = np.zeros((1, 4, 3)), np.zeros((1, 13, 3))
    feet[0, :3] = [(0, 0, 1.01), (0, 0, 0.99), (-0.8, 0.8, 0)]
    bodies[0, 5] = (2, 0, 0)
    position_w, velocity_w = feet_in_world(motion)
    state = RobotState(
        **vars(motion),
        torque=np.zeros((1, 12)),
        foot_position_w=position_w,
        foot_velocity_w=velocity_w,
        foot_force_w=feet,
        body_force_w=bodies,
    )
    assert state.foot_contact.tolist() == [[True, False, True, False]]
    assert state.body_contact[0].nonzero()[0].tolist() == [5]


def test_powers_of_joints_do_not_cancel() -> None:
    """A braking joint counts like a driving one; each robot has its own sum."""
    torque, velocity = np.array([[1.0, 2.0], [0.5, 0.0]]), np.array([[3.0, -4.0], [-2.0, 9.0]])
    np.testing.assert_allclose(mechanical_power(torque, velocity), [11.0, 1.0])
