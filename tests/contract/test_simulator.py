"""Contract of every simulator: motion, motors and repeatability."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solo_doi.common.errors import SoloError
from solo_doi.sim import Domain
from solo_doi.solo12.action import joint_torque
from solo_doi.solo12.constants import CONTROL_SETUPS, GRAVITY, JOINT_NAMES, ControlSetup
from solo_doi.solo12.rotations import from_rpy, rotate
from solo_doi.solo12.state import JointCommand, feet_in_world, standing

from .simulators import (
    LOCOMOTION,
    Make,
    default_targets,
    differences,
    hold,
    in_the_air,
    random_targets,
)

KNEE = JOINT_NAMES.index("FL_KFE")
MILLISECOND = {"physics_dt": 0.001, "decimation": 1}
"""One physics step per control step, short enough for every engine to take it in one."""


@pytest.mark.parametrize("setup", CONTROL_SETUPS.values(), ids=CONTROL_SETUPS)
def test_a_standing_robot_stays(make: Make, setup: ControlSetup) -> None:
    """Two seconds to sag, then nothing moves any more.

    No drift, no creeping feet, no contact but the feet's.
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


def test_static_torques_are_gain_times_error(make: Make) -> None:
    """At rest the reported torque is kp (target - q), and it is what carries the robot."""
    simulator = make()
    state = hold(simulator, 2.0)
    np.testing.assert_allclose(
        state.torque, 5.0 * (LOCOMOTION.default_pose - state.joint_position), atol=1e-3
    )
    assert np.abs(state.torque[0, KNEE]) > 0.3


def test_a_robot_in_the_air_falls_at_g(make: Make, tiny: float) -> None:
    """V = g t in any integrator.

    Z differs from g t^2 / 2 by at most what one step of 5 ms adds, g dt t / 2.
    """
    simulator, height, time = make(), 5.0 + LOCOMOTION.standing_height, 0.4
    simulator.reset(in_the_air())
    state = hold(simulator, time)
    np.testing.assert_allclose(state.linear_velocity_b[0], [0, 0, -GRAVITY * time], atol=1e-6)
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


def test_joints_go_to_their_targets_and_rest_there(make: Make) -> None:
    """Half a second after a step of 0.1 rad, legs in the air rest at the target, with all gains."""
    for setup in CONTROL_SETUPS.values():
        simulator = make(kp=setup.kp, kd=setup.kd)
        motion = replace(in_the_air(), joint_position=setup.default_pose[None])
        simulator.reset(motion)
        target = motion.joint_position + 0.1
        state = hold(simulator, 0.5, target)
        np.testing.assert_allclose(state.joint_position, target, atol=5e-3)
        np.testing.assert_allclose(state.joint_velocity, 0, atol=0.1)


def test_torque_is_that_of_the_joint_controller_at_every_step(make: Make, tiny: float) -> None:
    """Gains and clip at 2.5 N m, recomputed from the joint states of the step before."""
    simulator = make(**MILLISECOND)
    simulator.set_domain(Domain.nominal(1, motor_lag=0.0))
    before = simulator.reset(in_the_air())
    target = default_targets(1)
    target[0, KNEE] += 1.0  # asks for 5 N m at first
    seen = []
    for _ in range(100):
        after = simulator.step(target)
        command = JointCommand(position=target, kp=5.0, kd=0.1)
        expected = joint_torque(command, before.joint_position, before.joint_velocity)
        np.testing.assert_allclose(after.torque, expected, atol=tiny)
        seen.append(after.torque[0, KNEE])
        before = after
    assert seen[0] == 2.5
    assert min(seen) < 0 < max(seen)


@pytest.mark.parametrize("limit", [2.5, 1.0])
def test_torque_never_exceeds_the_limit(make: Make, limit: float) -> None:
    """Targets from one end to the other every 0.1 s, on the ground.

    Always at the limit somewhere, never beyond.
    """
    simulator = make(num_robots=2, torque_limit=limit)
    peaks = []
    for step in range(20):
        target = default_targets(2) + (0.6 if step // 5 % 2 else -0.6)
        peaks.append(np.abs(simulator.step(target).torque).max())
    assert max(peaks) == limit


def test_lag_is_three_physics_steps_of_5_ms(make: Make, tiny: float) -> None:
    """One physics step per control step.

    Torque and motion begin in the fourth step after a target is given.
    """
    simulator = make(decimation=1)
    simulator.reset(in_the_air())
    target = default_targets(1)
    target[0, KNEE] += 0.1
    states = [simulator.step(target) for _ in range(5)]
    for state in states[:3]:
        np.testing.assert_allclose(state.torque, 0, atol=tiny)
        np.testing.assert_allclose(state.joint_velocity, 0, atol=tiny)
    assert states[3].torque[0, KNEE] > 0.01
    assert states[3].joint_velocity[0, KNEE] > 0.1
    assert states[3].joint_position[0, KNEE] > LOCOMOTION.default_pose[KNEE] + 1e-4


def test_lag_splits_a_control_step(make: Make) -> None:
    """Only the last of four physics steps in a control step follows the new target.

    As if it acted alone.
    """
    whole, single = make(), make(decimation=1)
    target = default_targets(1)
    target[0, KNEE] += 0.1
    for simulator in (whole, single):
        simulator.reset(in_the_air())
    after_whole = whole.step(target)
    for _ in range(4):
        after_single = single.step(target)
    assert differences(after_whole, after_single) == []
    assert after_whole.torque[0, KNEE] > 0.01


def test_robots_have_lags_of_their_own(make: Make) -> None:
    """0, 10, 15 and 25 ms side by side: the response begins after 0, 2, 3 and 5 steps."""
    simulator = make(num_robots=4, decimation=1)
    simulator.set_domain(Domain.nominal(4, motor_lag=np.array([0.0, 0.010, 0.015, 0.025])))
    simulator.reset(in_the_air(4))
    torque = np.array([simulator.step(default_targets(4) + 0.1).torque[:, KNEE] for _ in range(8)])
    assert np.argmax(np.abs(torque) > 1e-6, axis=0).tolist() == [0, 2, 3, 5]


def test_reset_forgets_targets_on_their_way(make: Make, tiny: float) -> None:
    """Motors hold the pose of the reset until a new target arrives, not an earlier target."""
    simulator = make(decimation=1)
    for _ in range(3):
        simulator.step(default_targets(1) + 0.3)
    simulator.reset(in_the_air())
    for _ in range(3):
        np.testing.assert_allclose(simulator.step(default_targets(1)).torque, 0, atol=tiny)


def test_reset_can_say_what_the_motors_hold(make: Make) -> None:
    """A robot reset to another pose than its target moves from the first step on."""
    simulator = make(decimation=1)
    simulator.reset(in_the_air(), target=default_targets(1) + 0.1)
    assert (simulator.step(default_targets(1)).torque > 0.01).all()


def test_state_after_reset_is_the_motion_that_was_given(make: Make, tiny: float) -> None:
    """Frames and conventions on the way in and out.

    Any attitude, any velocity; nothing felt before the first step.
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
    """A tumbling robot in 1 ms steps.

    Base, joints and feet move as their velocities say, in the frames they say.
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
    # Half a step of acceleration, up to 10 m/s^2 at the base and 1000 rad/s^2 at the joints, is
    # the error of this.
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


def test_resetting_some_robots_leaves_the_others_bit_identical(make: Make) -> None:
    """A reset of one robot does not change the others."""
    disturbed, alone = make(num_robots=4), make(num_robots=4)
    targets = random_targets(4, 40)
    for step, target in enumerate(targets):
        if step in (10, 25):
            other = Domain.nominal(2, friction=0.4, added_mass=0.3, kp_scale=1.1)
            disturbed.set_domain(disturbed.possible_domain(other, [1, 3]), robots=[1, 3])
            disturbed.reset(standing(LOCOMOTION, 2), robots=[1, 3])
        state, reference = disturbed.step(target), alone.step(target)
        assert differences(state[[0, 2]], reference[[0, 2]]) == []
    assert "base_position_w" in differences(state[[1, 3]], reference[[1, 3]])


def test_same_inputs_give_the_same_trajectory(make: Make) -> None:
    """Two instances, bit for bit; other targets, another trajectory."""
    targets, first, second = random_targets(2, 50), make(num_robots=2), make(num_robots=2)
    for target in targets:
        state, again = first.step(target), second.step(target)
        assert differences(state, again) == []
    other = make(num_robots=2)
    for target in random_targets(2, 50, seed=1):
        another = other.step(target)
    assert "joint_position" in differences(state, another)


def test_a_reset_robot_has_no_memory(make: Make) -> None:
    """After a stumble, a push and a reset, a robot moves like a new one, alone or in a batch."""
    used, fresh = make(num_robots=3), make(num_robots=1)
    for target in random_targets(3, 30):
        used.step(target, push_w=np.full((3, 3), 1.0))
    used.reset(standing(LOCOMOTION, 3))
    for target in random_targets(3, 30, seed=1):
        state, reference = used.step(target), fresh.step(target[1:2])
    assert differences(state[1:2], reference) == []


def test_simulators_in_one_process_do_not_disturb_each_other(make: Make) -> None:
    """Another one is made, stepped differently and closed in between: not a bit changes."""
    targets, alone = random_targets(2, 30), make(num_robots=2)
    expected = [alone.step(target) for target in targets]
    simulator, neighbour = make(num_robots=2), make(num_robots=3)
    for step, (target, reference) in enumerate(zip(targets, expected, strict=True)):
        if step < 20:
            neighbour.step(default_targets(3) - 0.3)
        elif step == 20:
            neighbour.close()
        assert differences(simulator.step(target), reference) == []


def test_a_kick_adds_to_the_velocity_of_the_chosen_bases(make: Make, tiny: float) -> None:
    """Linear in the world frame, angular in the base frame; joints and other robots keep theirs."""
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


def test_gain_scales_act_on_each_robot(make: Make, tiny: float) -> None:
    """0.1 rad of error: 0.25, 0.5 and 1 N m; 1 rad/s of motion: -0.05, -0.1 and -0.2 N m."""
    simulator, scales = make(num_robots=3, **MILLISECOND), np.array([0.5, 1.0, 2.0])
    motion = in_the_air(3)
    simulator.set_domain(Domain.nominal(3, kp_scale=scales, motor_lag=0.0))
    simulator.reset(motion)
    torque = simulator.step(motion.joint_position + 0.1).torque
    np.testing.assert_allclose(torque, np.tile(5.0 * 0.1 * scales[:, None], 12), atol=tiny)
    simulator.set_domain(Domain.nominal(3, kd_scale=scales, motor_lag=0.0))
    simulator.reset(replace(motion, joint_velocity=np.ones((3, 12))))
    torque = simulator.step(motion.joint_position).torque
    np.testing.assert_allclose(torque, np.tile(-0.1 * scales[:, None], 12), atol=tiny)


def test_rotor_inertia_slows_joints_or_is_refused(make: Make) -> None:
    """An engine without a domain field must refuse it.

    Silently ignoring a domain would make results invalid.
    """
    simulator = make(num_robots=2)
    domain = Domain.nominal(2, armature=np.array([0.0, 0.005]))
    if "armature" in simulator.unsupported_domain:
        with pytest.raises(
            SoloError, match=r"'armature' than 0.0; robot 1 asks for 0.005.*use MuJoCo"
        ):
            simulator.set_domain(domain)
        return
    simulator.set_domain(domain)
    simulator.reset(in_the_air(2))
    state = hold(simulator, 0.04, default_targets(2) + 0.1)
    light, heavy = state.joint_position[:, KNEE] - LOCOMOTION.default_pose[KNEE]
    assert 0 < heavy < 0.5 * light


def test_what_lasts_is_set_before_the_first_step_and_refused_after_it(make: Make) -> None:
    """Isaac Gym cannot change masses on a GPU.

    `possible_domain` keeps them, a change by mistake is an error.
    """
    simulator = make(num_robots=3)
    first = Domain.nominal(3, added_mass=np.array([0.1, 0.2, 0.3]))
    simulator.set_domain(first)
    simulator.step(default_targets(3))
    other = Domain.nominal(2, added_mass=0.5, friction=0.7)
    if "added_mass" in simulator.constant_domain:
        with pytest.raises(
            SoloError,
            match=r"cannot change 'added_mass'.*robot 2 has 0.3 and is to get 0.5.*before",
        ):
            simulator.set_domain(other, robots=[2, 0])
    possible = simulator.possible_domain(other, [2, 0])
    simulator.set_domain(possible, robots=[2, 0])
    assert possible.friction.tolist() == [0.7, 0.7]
    lasts = "added_mass" in simulator.constant_domain
    assert simulator.domain.added_mass.tolist() == ([0.1, 0.2, 0.3] if lasts else [0.5, 0.2, 0.5])


def test_the_default_engine_varies_every_domain_field(engine: str, make: Make) -> None:
    """Others may lack the rotor's inertia and nothing else.

    What Isaac Gym's robots are made of lasts.
    """
    simulator = make()
    assert simulator.unsupported_domain <= ({"armature"} if engine == "pybullet" else set())
    assert simulator.constant_domain <= (
        {"added_mass", "armature"} if engine == "isaacgym" else set()
    )


def test_a_saved_simulation_continues_with_the_same_numbers_or_is_refused(
    engine: str, make: Make
) -> None:
    """Training resumes exactly where it stopped, lag and domain included.

    An engine that cannot says so.
    """
    simulator, targets = make(num_robots=2), random_targets(2, 30)
    simulator.set_domain(
        Domain.nominal(2, friction=np.array([0.5, 1.2]), motor_lag=np.array([0.01, 0.035]))
    )
    for target in targets[:15]:
        simulator.step(target)
    try:
        saved = simulator.save()
    except SoloError as error:
        assert engine != "mujoco"
        assert simulator.name in str(error)  # noqa: PT017
        return
    expected = [simulator.step(target) for target in targets[15:]]
    resumed = make(num_robots=2)
    resumed.load(saved)
    for target, reference in zip(targets[15:], expected, strict=True):
        assert differences(resumed.step(target), reference) == []
