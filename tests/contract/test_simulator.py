"""Contract of every simulator: motion and states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solo_doi.solo12.constants import CONTROL_SETUPS, GRAVITY, ControlSetup
from solo_doi.solo12.rotations import from_rpy, rotate
from solo_doi.solo12.state import feet_in_world, standing

from .simulators import (
    LOCOMOTION,
    MILLISECOND,
    Make,
    default_targets,
    hold,
    in_the_air,
)


@pytest.mark.parametrize("setup", CONTROL_SETUPS.values(), ids=CONTROL_SETUPS)
def test_a_standing_robot_stays(make: Make, setup: ControlSetup) -> None:
    """After two seconds of settling, the robot is at rest.

    There is no drift, no creeping foot, and no contact except at the feet.
    """
    simulator, target = make(kp=setup.kp, kd=setup.kd), setup.default_pose[None]
    simulator.reset(standing(setup, 1))
    settled = hold(simulator, 2.0, target)
    later = hold(simulator, 1.0, target)
    np.testing.assert_allclose(later.base_position_w, settled.base_position_w, atol=1e-4)
    np.testing.assert_allclose(later.foot_position_w, settled.foot_position_w, atol=1e-4)
    np.testing.assert_allclose(later.joint_velocity, 0, atol=1e-3)
    np.testing.assert_allclose(later.base_position_w[0, :2], 0, atol=2e-3)
    assert 0.6 * setup.standing_height < later.base_position_w[0, 2] < setup.standing_height
    assert later.foot_contact.all()
    assert not later.body_contact.any()


def test_a_robot_in_the_air_falls_at_g(engine: str, make: Make, tiny: float) -> None:
    """The velocity is g t in any integrator.

    The fallen height differs from g t^2 / 2 by at most g dt t / 2, the share of one step of 5 ms.
    """
    simulator, height, time = make(), 5.0 + LOCOMOTION.standing_height, 0.4
    simulator.reset(in_the_air())
    state = hold(simulator, time)
    rounding = tiny if engine == "warp" else 1e-6  # of 80 sums in single precision
    np.testing.assert_allclose(state.linear_velocity_b[0], [0, 0, -GRAVITY * time], atol=rounding)
    fallen = height - state.base_position_w[0, 2]
    assert abs(fallen - GRAVITY * time**2 / 2) <= GRAVITY * 0.005 * time / 2 + tiny
    for still in (
        state.angular_velocity_b,
        state.joint_velocity,
        state.torque,
        state.foot_force_w,
        state.body_force_w,
    ):
        np.testing.assert_allclose(still, 0, atol=tiny)


def test_state_after_reset_is_the_motion_that_was_given(make: Make, tiny: float) -> None:
    """Frames and conventions agree on the way in and out, for any attitude and velocity.

    Torques and contact forces are zero before the first step.
    """
    rng, count = np.random.default_rng(0), 6
    motion = replace(
        in_the_air(count),
        base_quaternion=from_rpy(*rng.uniform(-1.4, 1.4, (3, count))),
        linear_velocity_b=rng.normal(size=(count, 3)),
        angular_velocity_b=rng.normal(size=(count, 3)),
        joint_position=rng.uniform(-0.8, 0.8, (count, 12)),
        joint_velocity=rng.normal(size=(count, 12)),
    )
    simulator = make(num_robots=count)
    hold(simulator, 0.1)
    state = simulator.reset(motion)
    for name, value in vars(motion).items():
        sign = 1.0
        if name == "base_quaternion":  # q and -q are the same attitude
            sign = np.sign(np.sum(value * state.base_quaternion, axis=-1, keepdims=True))
        np.testing.assert_allclose(sign * getattr(state, name), value, atol=tiny, err_msg=name)
    foot_position_w, foot_velocity_w = feet_in_world(motion)
    np.testing.assert_allclose(state.foot_position_w, foot_position_w, atol=tiny)
    np.testing.assert_allclose(state.foot_velocity_w, foot_velocity_w, atol=10 * tiny)
    for unfelt in (state.torque, state.foot_force_w, state.body_force_w):
        np.testing.assert_array_equal(unfelt, 0.0)


def test_velocities_are_the_derivatives_of_positions(make: Make) -> None:
    """A tumbling robot is simulated in 1 ms steps.

    Velocities of base, joints and feet match finite differences in their frames.
    """
    simulator = make(**MILLISECOND)
    spin = replace(
        in_the_air(),
        base_quaternion=from_rpy(0.4, -0.3, 2.0)[None],
        linear_velocity_b=np.array([[1.0, 0.5, -0.2]]),
        angular_velocity_b=np.array([[2.0, -1.0, 1.5]]),
        joint_velocity=np.linspace(-1, 1, 12)[None],
    )
    simulator.reset(spin)
    hold(simulator, 0.01)
    before, after = simulator.state(), simulator.step(default_targets(1))
    middle_w = (
        rotate(before.base_quaternion, before.linear_velocity_b)
        + rotate(after.base_quaternion, after.linear_velocity_b)
    ) / 2
    # The tolerance is half a step of acceleration: up to 10 m/s^2 at the base, 1000 rad/s^2 at the
    # joints.
    np.testing.assert_allclose(
        (after.base_position_w - before.base_position_w) / 0.001, middle_w, atol=0.02
    )
    joint_rate = (after.joint_position - before.joint_position) / 0.001
    np.testing.assert_allclose(
        joint_rate, (before.joint_velocity + after.joint_velocity) / 2, atol=0.3
    )
    foot_rate = (after.foot_position_w - before.foot_position_w) / 0.001
    np.testing.assert_allclose(
        foot_rate, (before.foot_velocity_w + after.foot_velocity_w) / 2, atol=0.05
    )


def test_state_is_a_copy(make: Make) -> None:
    """A stored state and the simulation do not change each other."""
    simulator = make()
    state = hold(simulator, 0.1)
    height = state.base_position_w.copy()
    state.joint_position[:] = 0.0
    simulator.reset(in_the_air())
    hold(simulator, 0.1)
    np.testing.assert_array_equal(state.base_position_w, height)
    assert np.abs(simulator.state().joint_position).max() > 1.0


def test_a_kick_adds_to_the_velocity_of_the_chosen_bases(make: Make, tiny: float) -> None:
    """The kick is linear in the world frame and angular in the base frame.

    Joints and other robots keep their velocities.
    """
    simulator = make(num_robots=3)
    motion = replace(
        in_the_air(3),
        base_quaternion=from_rpy(0.3, 0.2, np.full(3, 1.0)),
        linear_velocity_b=np.full((3, 3), 0.5),
        angular_velocity_b=np.full((3, 3), -0.5),
    )
    before = simulator.reset(motion)
    linear_w, angular_b = (
        np.array([[0.1, 0.2, 0.3], [0.4, 0, 0]]),
        np.array([[0.4, 0.5, 0.6], [0, 0, -1.0]]),
    )
    simulator.kick([2, 0], linear_w, angular_b)
    after = simulator.state()
    gained_w = rotate(after.base_quaternion, after.linear_velocity_b) - rotate(
        before.base_quaternion, before.linear_velocity_b
    )
    np.testing.assert_allclose(gained_w, [linear_w[1], [0, 0, 0], linear_w[0]], atol=tiny)
    gained_b = after.angular_velocity_b - before.angular_velocity_b
    np.testing.assert_allclose(gained_b, [angular_b[1], [0, 0, 0], angular_b[0]], atol=tiny)
    np.testing.assert_allclose(after.joint_velocity, before.joint_velocity, atol=tiny)
    np.testing.assert_allclose(after.base_position_w, before.base_position_w, atol=tiny)
