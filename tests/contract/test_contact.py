"""Contract of every simulator about contact: forces, friction, mass and boxes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solo_doi.common.errors import SoloError
from solo_doi.sim import Domain, Terrain
from solo_doi.solo12.constants import GRAVITY, TOTAL_MASS
from solo_doi.solo12.rotations import from_rpy, rotate
from solo_doi.solo12.state import standing

from .simulators import LOCOMOTION, SQUARE, Make, hold, in_the_air

WEIGHT = TOTAL_MASS * GRAVITY  # 24.81 N


def test_feet_carry_the_weight(make: Make) -> None:
    """At rest the normal forces sum to m g; each leg carries at most a third."""
    state = hold(make(), 2.0)
    assert state.foot_force_w[0, :, 2].sum() == pytest.approx(WEIGHT, rel=1e-3)
    assert (state.foot_force_w[0, :, 2] > WEIGHT / 6).all()
    assert (state.foot_force_w[0, :, 2] < WEIGHT / 3).all()


def test_added_mass_is_felt_by_the_feet(make: Make) -> None:
    """Robots of 2.03, 2.53 and 3.03 kg side by side each press with their own weight."""
    simulator, added = make(num_robots=3), np.array([-0.5, 0.0, 0.5])
    simulator.set_domain(Domain.nominal(3, added_mass=added))
    state = hold(simulator, 2.0)
    np.testing.assert_allclose(
        state.foot_force_w[..., 2].sum(axis=1), (TOTAL_MASS + added) * GRAVITY, rtol=2e-3
    )


def test_added_mass_resists_a_push(make: Make) -> None:
    """In the air, 2 N upwards for 0.1 s give 0.2 N s, so a heavier robot moves more slowly."""
    simulator, added = make(num_robots=2), np.array([0.0, 2.0])
    simulator.set_domain(Domain.nominal(2, added_mass=added))
    simulator.reset(in_the_air(2))
    hold(simulator, 0.1, push_w=np.tile([0.0, 0.0, 2.0], (2, 1)))
    state = hold(simulator, 0.5)  # the legs come to rest relative to the base
    upwards = rotate(state.base_quaternion, state.linear_velocity_b)[:, 2] + GRAVITY * 0.6
    np.testing.assert_allclose(upwards, 0.2 / (TOTAL_MASS + added), rtol=2e-3)


def test_a_robot_on_its_back_is_carried_by_its_body(make: Make) -> None:
    """Contacts of other links count: shoulders carry the weight, feet carry none."""
    simulator = make()
    upside_down = replace(
        standing(LOCOMOTION, 1),
        base_position_w=np.array([[0.0, 0.0, 0.03]]),
        base_quaternion=from_rpy(np.pi, 0, 0)[None],
        joint_position=np.zeros((1, 12)),
    )
    simulator.reset(upside_down)
    state = hold(simulator, 2.0, np.zeros((1, 12)))
    assert state.body_force_w[0, :, 2].sum() == pytest.approx(WEIGHT, rel=5e-3)
    assert state.body_contact.any()
    assert not state.foot_contact.any()


def test_a_box_under_the_belly_carries_the_whole_weight(make: Make) -> None:
    """Two boxes touch in four points or more.

    The force on the base is the sum over these points, not the largest.
    """
    narrow = Terrain(np.zeros((1, 1, 2)), np.array([[[0.3, 0.12, 0.5]]]))
    simulator = make(terrain=narrow)
    motion = standing(SQUARE, 1)
    simulator.reset(replace(motion, base_position_w=np.array([[0.0, 0.0, 0.521]])))
    state = hold(simulator, 2.0, motion.joint_position)
    assert state.body_force_w[0, 0, 2] == pytest.approx(WEIGHT, rel=5e-3)
    assert not state.foot_contact.any()


def test_contact_forces_are_normal_forces(make: Make, tiny: float) -> None:
    """Feet resist a sideways push of 3 N by friction, which is not part of the reported force."""
    simulator = make(num_robots=2)
    hold(simulator, 0.5)
    state = hold(simulator, 0.5, push_w=np.array([[3.0, 0, 0], [0, 3.0, 0]]))
    np.testing.assert_allclose(state.foot_force_w[..., :2], 0, atol=tiny)
    assert state.foot_contact.all()


def test_feet_hold_below_the_friction_cone_and_slide_above(make: Make) -> None:
    """Two robots have mu 0.15, two have 0.3.

    One of each is pushed with 0.9 mu m g, one with 1.1 mu m g.
    """
    friction, fraction = np.array([0.15, 0.15, 0.3, 0.3]), np.array([0.9, 1.1, 0.9, 1.1])
    simulator = make(num_robots=4)
    simulator.set_domain(Domain.nominal(4, friction=friction))
    hold(simulator, 1.0)
    push_w = np.zeros((4, 3))
    push_w[:, 0] = fraction * friction * WEIGHT
    for part in np.linspace(
        0, 1, 50
    ):  # slowly: a sudden push makes the legs swing and the feet slip
        hold(simulator, 0.02, push_w=part * push_w)
    before = hold(simulator, 0.5, push_w=push_w)
    after = hold(simulator, 0.5, push_w=push_w)
    slipped = (after.foot_position_w - before.foot_position_w)[..., 0].mean(axis=1)
    assert (np.abs(slipped[[0, 2]]) < 5e-4).all(), slipped
    # Above the cone the remaining force accelerates the robot: 0.1 mu g over 0.5 s from rest gives
    # 18 and 37 mm.
    assert (slipped[[1, 3]] > 0.1 * friction[[1, 3]] * GRAVITY * 0.5**2 / 2).all(), slipped


def test_robots_stand_on_boxes_of_their_own(make: Make) -> None:
    """Three robots of one simulator stand on boxes of 5, 10 and 20 cm, a fourth on the ground."""
    heights = np.array([0.05, 0.10, 0.20, 0.15])
    centre = np.zeros((4, 1, 2))
    centre[3] = 5.0  # out of reach
    size = np.ones((4, 1, 3))
    size[:, 0, 2] = heights
    terrain = Terrain(centre, size)
    simulator = make(num_robots=4, terrain=terrain)
    ground = terrain.height(np.zeros((4, 1, 2)))[:, 0]
    np.testing.assert_array_equal(ground, [0.05, 0.10, 0.20, 0.0])
    motion = standing(LOCOMOTION, 4)
    motion.base_position_w[:, 2] += ground + 0.02
    simulator.reset(motion)
    state = hold(simulator, 2.0)
    above = state.base_position_w[:, 2] - ground
    np.testing.assert_allclose(above, above[3], atol=1e-3)
    np.testing.assert_allclose(state.foot_force_w[..., 2].sum(axis=1), WEIGHT, rtol=1e-3)
    assert not state.body_contact.any()


def test_a_wall_pushes_back_horizontally(make: Make) -> None:
    """A robot is pressed with 5 N against a box on slippery ground.

    The force of the wall is along -x.
    """
    wall = Terrain(
        np.array([[[0.75, 0.0]]]), np.array([[[1.0, 1.0, 0.5]]])
    )  # face 25 mm from the base
    simulator = make(terrain=wall, kp=10.0, kd=0.2)
    simulator.set_domain(Domain.nominal(1, friction=0.05, motor_lag=0.0))
    motion = standing(SQUARE, 1)
    simulator.reset(motion)
    state = hold(simulator, 2.0, motion.joint_position, push_w=np.array([[5.0, 0.0, 0.0]]))
    # The ground's friction, at most 0.05 m g = 1.24 N, may act in either direction.
    assert -5 - 1.24 <= state.body_force_w[0, 0, 0] <= -5 + 1.24
    np.testing.assert_allclose(state.body_force_w[0, 0, 1:], 0, atol=0.02)
    assert state.base_position_w[0, 0] == pytest.approx(0.025, abs=1e-3)
    assert state.foot_force_w[0, :, 2].sum() == pytest.approx(WEIGHT, rel=0.02)


def test_boxes_stay_where_they_are_after_a_reset(make: Make) -> None:
    """A reset does not change the ground."""
    box = Terrain(np.zeros((2, 1, 2)), np.array([[[1.0, 1.0, 0.10]], [[1.0, 1.0, 0.20]]]))
    simulator = make(num_robots=2, terrain=box)
    motion = standing(LOCOMOTION, 2)
    motion.base_position_w[:, 2] += [0.10, 0.20]
    simulator.reset(motion)
    simulator.reset(motion[[1]], robots=[1])
    state = hold(simulator, 1.0)
    difference = state.base_position_w[1, 2] - state.base_position_w[0, 2]
    assert difference == pytest.approx(0.10, abs=1e-3)


def test_boxes_move_and_rise_between_episodes(make: Make) -> None:
    """A robot gets a higher box with its next episode, another loses its box.

    The ground of the third does not change.
    """
    centre = np.zeros((3, 1, 2))
    size = np.tile([1.0, 1.0, 0.05], (3, 1, 1))
    simulator = make(num_robots=3, terrain=Terrain(centre, size))
    motion = standing(LOCOMOTION, 3)
    motion.base_position_w[:, 2] += 0.05
    simulator.reset(motion)
    hold(simulator, 0.5)
    moved = Terrain(
        np.array([[[0.1, 0.0]], [[50.0, 0.0]]]), np.array([[[1.0, 1.0, 0.2]], [[1.0, 1.0, 0.05]]])
    )
    simulator.set_terrain(moved, [0, 2])
    again = standing(LOCOMOTION, 2)
    again.base_position_w[0, 2] += 0.2
    simulator.reset(again, [0, 2])
    state = hold(simulator, 1.0)
    height = state.base_position_w[:, 2]
    np.testing.assert_allclose(height - height[1] + 0.05, [0.2, 0.05, 0.0], atol=2e-3)
    np.testing.assert_allclose(state.foot_force_w[..., 2].sum(axis=1), WEIGHT, rtol=5e-3)
    np.testing.assert_array_equal(
        simulator.terrain.height(np.zeros((3, 1, 2)))[:, 0], [0.2, 0.05, 0.0]
    )


def test_boxes_cannot_be_resized_or_added(make: Make) -> None:
    """The error names the box, and what can change."""
    simulator = make(num_robots=2, terrain=Terrain(np.zeros((2, 1, 2)), np.ones((2, 1, 3))))
    wide = np.array([[[2.0, 1.0, 0.5]]])
    with pytest.raises(SoloError, match=r"Box 0 of robot 1 has sides .* only place and height can"):
        simulator.set_terrain(Terrain(np.zeros((1, 1, 2)), wide), [1])
    with pytest.raises(SoloError, match="The terrain has 0 boxes for 2 robots, expected 1 for 2"):
        simulator.set_terrain(Terrain.flat(2))
