"""The controller with a robot that follows: stand up, walk, change skills, stop, lie down."""

from __future__ import annotations

import numpy as np

from deploy.common.deploy_config import ControllerConfig
from deploy.common.poses import LYING
from deploy.common.robot_constants import DAMPING_GAIN
from deploy.common.state_machine import ControllerState
from deploy.controller.controller import Controller
from deploy.controller.skill_runner import BLEND_STEPS
from deploy.messages.lcm_link import Mode, Request
from deploy.robots.simulated.mock_solo import MockSolo
from solo_doi.solo12.constants import CONTROL_SETUPS, NUM_JOINTS
from solo_doi.solo12.limits import TRAINING_LIMITS
from tests.deploy.stage import MS, Counting, Rig, Stage, shipped

POSE = CONTROL_SETUPS["locomotion"].default_pose


def targets(stage: Stage, start: int = 0) -> np.ndarray:
    """Joint targets of all commands from a tick on."""
    return np.array([command.position for command in stage.commands[start:]])


# --- One whole run -------------------------------------------------------------------------------


def test_the_mock_robot_stands_walks_stops_and_lies_down() -> None:
    """States and times are as specified, and the robot's gate accepts all commands."""
    plan = {
        100: (Request.STAND, -1),
        2000: (Request.WALK, 3),
        2500: (Request.STOP, -1),
        4000: (Request.SIT, -1),
    }
    rig = Rig(MockSolo(), Controller(shipped(), 0), plan)
    for _ in range(6000):
        rig.tick()
    assert rig.process.gate.fault is None
    assert rig.controller.fault is None
    assert [(name.name, tick) for tick, name in rig.states] == [
        ("IDLE", 0), ("STAND", 100), ("READY", 1600), ("WALK", 2000), ("STAND", 2500), ("READY",
        3300),
        ("SIT", 4000), ("IDLE", 5500),
    ]  # fmt: skip
    np.testing.assert_allclose(rig.robot.sense().joint_position, LYING, atol=1e-2)  # type: ignore[union-attr]


def test_walking_can_end_on_the_ground_at_once() -> None:
    """A request to lie down also stops the walk; the feet come to rest first."""
    stage = Stage()
    stage.walking()
    stage.run(300)
    begun = len(stage.commands)
    stage.until(ControllerState.IDLE, Request.SIT)
    assert stage.controller.fault is None
    modes = [command.mode for command in stage.commands[begun:]]
    assert modes.index(Mode.MOVE) in (800, 801)  # times are sums of rounded ticks
    np.testing.assert_allclose(stage.commands[-2].position, LYING, atol=1e-3)


# --- Standing up ---------------------------------------------------------------------------------


def test_without_a_robot_no_motor_is_powered() -> None:
    """The request is not stored either."""
    controller = Controller(shipped(), 0)
    controller.on_operator_request(Request.STAND, 0)
    command = controller.tick(0)
    assert (controller.state, command.kp, command.kd, command.mode) == (
        ControllerState.IDLE,
        0.0,
        DAMPING_GAIN,
        Mode.DAMP,
    )
    assert command.expires_ns == 0
    assert np.isfinite(command.position).all()


def test_standing_up_starts_where_the_joints_are() -> None:
    """The gain ramps up in 0.3 s, and targets end in the bundle's pose."""
    stage = Stage(config=ControllerConfig())
    stage.position = LYING + 0.05
    stage.tick()
    first = stage.tick(Request.STAND)
    assert (first.mode, first.kp, first.kd) == (Mode.MOVE, 0.0, 0.2)
    np.testing.assert_array_equal(first.position, LYING + 0.05)
    gains = [stage.tick().kp for _ in range(400)]
    np.testing.assert_allclose(gains[:300], 5.0 * np.arange(1, 301) / 300, atol=1e-6)
    assert gains[300:] == [5.0] * 100
    stage.until(ControllerState.READY)
    np.testing.assert_allclose(stage.commands[-1].position, POSE, atol=1e-6)
    assert np.abs(np.diff(targets(stage, 2), axis=0)).max() < 0.002


def test_joints_beyond_their_limits_are_fetched_from_inside() -> None:
    """Knees may be folded too far on the belly; targets stay within the limits of training."""
    stage = Stage()
    stage.position = np.sign(LYING) * (TRAINING_LIMITS.position + 0.15)
    stage.ready()
    assert (np.abs(targets(stage, 2)) <= TRAINING_LIMITS.position).all()


def test_lying_down_may_be_taken_back() -> None:
    """The motion starts at the present targets, without a jump."""
    stage = Stage()
    stage.ready()
    start = len(stage.commands)
    stage.tick(Request.SIT)
    stage.run(100)
    assert stage.state is ControllerState.SIT
    stage.until(ControllerState.READY, Request.STAND)
    assert np.abs(np.diff(targets(stage, start), axis=0)).max() < 0.015


# --- Walking -------------------------------------------------------------------------------------


def test_the_policy_runs_every_twentieth_tick() -> None:
    """Targets are constant in between, with the gains and time of their state."""
    bundle = Counting(shipped())
    stage = Stage(bundle, skill=2)  # type: ignore[arg-type]
    stage.ready()
    assert bundle.observations == []
    begun, now = len(stage.commands), stage.now_ns
    stage.tick(Request.WALK)
    stage.run(99)
    assert len(bundle.observations) == 5
    walk = targets(stage, begun).reshape(5, 20, 12)
    assert (walk == walk[:, :1]).all()
    assert (np.abs(np.diff(walk[:, 0], axis=0)).max(axis=1) > 1e-6).all()
    commands = stage.commands[begun:]
    assert {(command.mode, command.kp, command.kd, command.skill) for command in commands} == {
        (2, 5.0, 0.1, 2)
    }
    assert [command.observed_ns for command in commands[::20]] == [
        now + MS + 20 * MS * k for k in range(5)
    ]
    assert [command.observed_ns for command in commands[19::20]] == [
        now + MS + 20 * MS * k for k in range(5)
    ]


def test_a_skill_that_changes_hands_over_while_walking() -> None:
    """The hand-over takes 0.3 s; the command names the skill, and unknown skills are refused."""
    stage = Stage(skill=1)
    stage.walking()
    stage.run(200)
    begun = len(stage.commands)
    stage.tick(Request.WALK, skill=4)
    stage.run(20 * (BLEND_STEPS + 5))
    assert stage.state is ControllerState.WALK
    assert np.abs(np.diff(targets(stage, begun - 20), axis=0)).max() < 0.3
    assert {command.skill for command in stage.commands[begun:]} == {4}
    for missing in (5, 99, -1):
        assert stage.tick(Request.WALK, skill=missing).skill == 4


def test_stopping_lets_steps_shrink() -> None:
    """Targets reach the standing pose in 0.8 s, with the policy's gains and no skill number."""
    stage = Stage()
    stage.walking()
    stage.run(300)
    begun = len(stage.commands)
    stage.tick(Request.STOP)
    assert stage.state is ControllerState.STAND
    stage.until(ControllerState.READY)
    fading = stage.commands[begun : begun + 800]
    assert {(command.mode, command.kp, command.kd, command.skill) for command in fading} == {
        (2, 5.0, 0.1, -1)
    }
    distance = np.abs(targets(stage, begun) - POSE).max(axis=1)
    assert distance[790] < 0.1 * max(distance[:20])
    assert np.abs(np.diff(targets(stage, begun + 700), axis=0)).max() < 0.05
    np.testing.assert_allclose(stage.commands[-1].position, POSE, atol=1e-12)
    assert (stage.commands[-1].mode, stage.commands[-1].kd) == (Mode.MOVE, 0.2)


def test_the_next_walk_starts_afresh() -> None:
    """The first step after a stop equals that of a first walk."""
    stage = Stage()
    stage.walking()
    first = stage.commands[-1].position
    stage.run(300)
    stage.until(ControllerState.READY, Request.STOP)
    stage.run(200)
    np.testing.assert_allclose(stage.tick(Request.WALK).position, first, atol=0.02)


def test_a_robot_that_still_sinks_does_not_stand_up() -> None:
    """Joints would move before the motors hold them; a later request is granted."""
    stage = Stage()
    stage.tick()
    stage.tick(Request.STAND, joint_velocity=np.full(NUM_JOINTS, 0.51))
    assert (stage.state, stage.commands[-1].kp) == (ControllerState.IDLE, 0.0)
    stage.tick(Request.STAND, joint_velocity=np.full(NUM_JOINTS, 0.5))
    assert stage.state is ControllerState.STAND
