"""Contract of every simulator: torque, its limit, gains and lag of the motors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solo_doi.sim import Domain
from solo_doi.solo12.action import joint_torque
from solo_doi.solo12.constants import CONTROL_SETUPS
from solo_doi.solo12.state import JointCommand

from .simulators import (
    KNEE,
    LOCOMOTION,
    MILLISECOND,
    Make,
    default_targets,
    differences,
    hold,
    in_the_air,
)


def test_static_torques_are_gain_times_error(make: Make) -> None:
    """At rest the reported torque is kp (target - q), which carries the robot."""
    simulator = make()
    state = hold(simulator, 2.0)
    np.testing.assert_allclose(
        state.torque, 5.0 * (LOCOMOTION.default_pose - state.joint_position), atol=1e-3
    )
    assert np.abs(state.torque[0, KNEE]) > 0.3


def test_joints_go_to_their_targets_and_rest_there(make: Make) -> None:
    """For all gains, legs in the air rest at the target 0.5 s after a step of 0.1 rad."""
    for setup in CONTROL_SETUPS.values():
        simulator = make(kp=setup.kp, kd=setup.kd)
        motion = replace(in_the_air(), joint_position=setup.default_pose[None])
        simulator.reset(motion)
        target = motion.joint_position + 0.1
        state = hold(simulator, 0.5, target)
        np.testing.assert_allclose(state.joint_position, target, atol=5e-3)
        np.testing.assert_allclose(state.joint_velocity, 0, atol=0.1)


def test_torque_is_that_of_the_joint_controller_at_every_step(make: Make, tiny: float) -> None:
    """The reference is computed with gains and clip at 2.5 N m from the previous joint states."""
    simulator = make(**MILLISECOND)
    simulator.set_domain(Domain.nominal(1, motor_lag=0.0))
    before = simulator.reset(in_the_air())
    target = default_targets(1)
    target[0, KNEE] += 1.0  # the initial error demands 5 N m
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
    """Targets jump between both ends every 0.1 s, on the ground.

    The largest torque is exactly the limit.
    """
    simulator = make(num_robots=2, torque_limit=limit)
    peaks = []
    for step in range(20):
        target = default_targets(2) + (0.6 if step // 5 % 2 else -0.6)
        peaks.append(np.abs(simulator.step(target).torque).max())
    assert max(peaks) == limit


def test_lag_is_three_physics_steps_of_5_ms(make: Make, tiny: float) -> None:
    """Each control step is one physics step.

    Torque and motion begin in the fourth step after a new target.
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
    """Of four physics steps in a control step, the last follows the new target.

    The state equals that of four control steps of one physics step each.
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
    """With lags of 0, 10, 15 and 25 ms, the response begins after 0, 2, 3 and 5 steps."""
    simulator = make(num_robots=4, decimation=1)
    simulator.set_domain(Domain.nominal(4, motor_lag=np.array([0.0, 0.010, 0.015, 0.025])))
    simulator.reset(in_the_air(4))
    torque = np.array([simulator.step(default_targets(4) + 0.1).torque[:, KNEE] for _ in range(8)])
    assert np.argmax(np.abs(torque) > 1e-6, axis=0).tolist() == [0, 2, 3, 5]


def test_reset_forgets_targets_on_their_way(make: Make, tiny: float) -> None:
    """Motors hold the pose of the reset until a new target arrives."""
    simulator = make(decimation=1)
    for _ in range(3):
        simulator.step(default_targets(1) + 0.3)
    simulator.reset(in_the_air())
    for _ in range(3):
        np.testing.assert_allclose(simulator.step(default_targets(1)).torque, 0, atol=tiny)


def test_reset_can_set_the_target_of_the_motors(make: Make) -> None:
    """A robot that is reset to another pose than its target moves from the first step on."""
    simulator = make(decimation=1)
    simulator.reset(in_the_air(), target=default_targets(1) + 0.1)
    assert (simulator.step(default_targets(1)).torque > 0.01).all()


def test_gain_scales_act_on_each_robot(make: Make, tiny: float) -> None:
    """0.1 rad of error gives 0.25, 0.5 and 1 N m; 1 rad/s gives -0.05, -0.1 and -0.2 N m."""
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
