"""Faults of the controller: every cause at its threshold damps at once, until re-armed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from deploy.common.faults import Cause, Fault
from deploy.common.reactions import REACTIONS, Reaction
from deploy.common.robot_constants import DAMPING_GAIN
from deploy.common.state_machine import ControllerState
from deploy.messages.lcm_link import Mode, Request
from solo_doi.solo12.constants import GRAVITY, NUM_JOINTS
from tests.deploy.stage import MS, Stage, with_joint


def damped(stage: Stage, cause: Cause) -> Fault:
    """Return the fault, after checking that the last command damps and names no skill."""
    if REACTIONS.get(cause) is Reaction.SIT:
        assert stage.state is ControllerState.SIT
        assert stage.commands[-1].kp > 0.0
        latched = stage.controller.fault
        stage.until(ControllerState.FAULT, Request.WALK)
        assert stage.controller.fault is latched
    command, fault = stage.commands[-1], stage.controller.fault
    assert stage.state is ControllerState.FAULT
    assert fault is not None
    assert fault.cause is cause
    assert (command.mode, command.kp, command.kd, command.skill) == (
        Mode.DAMP,
        0.0,
        DAMPING_GAIN,
        -1,
    )
    assert np.isfinite(command.position).all()
    status = stage.controller.status(stage.now_ns)
    assert (status.fault, status.fault_joint, status.fault_value) == (
        cause,
        fault.joint,
        fault.value,
    )
    return fault


@pytest.fixture
def ready() -> Stage:
    """Return a robot that stands."""
    stage = Stage()
    stage.ready()
    return stage


@pytest.fixture
def walking() -> Stage:
    """Return a robot that walks."""
    stage = Stage()
    stage.walking()
    return stage


# --- The robot -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "cause", "joint"),
    [
        ({"joint_velocity": with_joint(np.zeros(NUM_JOINTS), 6, 51.0)}, Cause.JOINT_VELOCITY, 6),
        ({"joint_torque": with_joint(np.zeros(NUM_JOINTS), 11, -2.7)}, Cause.JOINT_TORQUE, 11),
        ({"joint_position": with_joint(np.zeros(NUM_JOINTS), 0, 0.9)}, Cause.JOINT_POSITION, 0),
    ],
)
def test_limits_are_watched_while_motors_hold(
    changes: dict[str, Any], cause: Cause, joint: int
) -> None:
    """A damped robot may be turned by hand; a standing one is damped in the same tick."""
    stage = Stage()
    stage.tick(**changes)
    stage.tick()
    assert stage.state is ControllerState.IDLE
    stage.ready()
    stage.tick(**changes)
    assert damped(stage, cause).joint == joint


@pytest.mark.parametrize(
    "state",
    [ControllerState.IDLE, ControllerState.READY, ControllerState.WALK, ControllerState.DAMP],
)
def test_numbers_that_are_not_finite_are_a_fault_in_every_state(state: ControllerState) -> None:
    """The estimate is not updated with them and stays finite."""
    stage = Stage()
    stage.ready()
    if state is ControllerState.WALK:
        stage.until(ControllerState.WALK, Request.WALK)
    elif state is not ControllerState.READY:
        stage.until(state, Request.DAMP if state is ControllerState.DAMP else Request.SIT)
    stage.tick(acceleration_b=np.array([0.0, np.nan, GRAVITY]))
    damped(stage, Cause.STATE_NOT_FINITE)
    assert stage.controller.estimate is not None
    assert np.isfinite(stage.controller.estimate.velocity_b).all()


def test_a_robot_that_falls_is_damped(walking: Stage) -> None:
    """The gyroscope detects the fall before the angle is reached."""
    for _ in range(500):
        walking.tick(angular_velocity_b=np.array([0.0, 4.0, 0.001 * walking.sequence]))
        if walking.state is not ControllerState.WALK:
            break
    assert walking.state is ControllerState.FAULT
    assert walking.controller.fault is not None
    assert walking.controller.fault.cause in (Cause.TILT, Cause.ATTITUDE_DISAGREES)


def test_a_robot_that_damps_by_itself_is_a_fault(walking: Stage) -> None:
    """Report and status contain its cause, joint and number."""
    message = walking.message()
    message.fault, message.fault_joint, message.fault_value = Cause.COMMAND_STEP, 7, 1.75
    walking.controller.on_robot_state(message)
    walking.tick(heard=False)
    assert damped(walking, Cause.ROBOT_FAULT) == Fault(
        Cause.ROBOT_FAULT, 1.75, 7, Cause.COMMAND_STEP
    )
    assert walking.controller.status(walking.now_ns).robot_fault == Cause.COMMAND_STEP


def test_the_fault_of_the_robot_is_named_not_what_follows(walking: Stage) -> None:
    """A robot that damps by itself sinks beyond its limits before a thawed controller looks."""
    message = walking.message()
    message.fault, message.fault_value = Cause.COMMAND_STEP, 1.75
    message.joint_position = with_joint(np.zeros(NUM_JOINTS), 1, 1.6)
    walking.controller.on_robot_state(message)
    walking.tick(heard=False)
    assert damped(walking, Cause.ROBOT_FAULT).behind is Cause.COMMAND_STEP


def test_a_robot_that_damps_for_an_unknown_cause_is_a_fault(walking: Stage) -> None:
    """A newer robot process may have more causes, which the controller must handle."""
    walking.fault = 99
    walking.tick()
    assert damped(walking, Cause.ROBOT_FAULT).behind is Cause.UNKNOWN


def test_a_robot_with_a_fault_is_not_switched_on() -> None:
    """The first command after the request is already damped."""
    stage = Stage()
    stage.fault = Cause.MOTOR_NOT_READY
    stage.tick()
    assert stage.state is ControllerState.IDLE
    stage.tick(Request.STAND)
    damped(stage, Cause.ROBOT_FAULT)
    assert all(command.kp == 0.0 for command in stage.commands)


def test_another_robot_process_is_a_fault(ready: Stage) -> None:
    """Its joint positions are unknown; the estimate is reset, so that re-arming works."""
    ready.session, ready.sequence = 8, 0
    ready.tick()
    damped(ready, Cause.ROBOT_RESTARTED)
    ready.tick(Request.REARM)
    assert ready.state is ControllerState.IDLE
    assert ready.commands[-1].robot_session == 8
    ready.ready()


# --- News ----------------------------------------------------------------------------------------


def test_a_silent_robot_is_a_fault_after_ten_milliseconds(ready: Stage) -> None:
    """The time is that of the robot's clock."""
    for _ in range(10):
        assert ready.tick(heard=False).kp > 0.0
    ready.tick(heard=False)
    assert damped(ready, Cause.STATE_STALE).value == pytest.approx(11.0)


def test_lost_states_are_counted_from_their_numbers(ready: Stage) -> None:
    """Up to 35 lost of a hundred are accepted; late states are not used."""
    ready.sequence += 35
    ready.tick()
    assert ready.state is ControllerState.READY
    ready.sequence += 1
    ready.tick()
    assert damped(ready, Cause.STATE_GAP).value == 36


def test_lost_states_are_forgotten_after_a_hundred(ready: Stage) -> None:
    """A permanent loss of one in five is accepted."""
    for _ in range(300):
        ready.tick()
        ready.tick()
        ready.sequence += 1
        ready.tick()
        ready.run(2)
    assert ready.state is ControllerState.READY


def test_old_states_are_dropped(ready: Stage) -> None:
    """States that arrive out of order or twice have no effect."""
    controller, newest = ready.controller, ready.sequence
    old = ready.message(joint_velocity=np.full(NUM_JOINTS, np.nan))
    for sequence in (newest, newest - 5, 0, -1):
        old.sequence = sequence
        controller.on_robot_state(old)
    assert controller.state is ControllerState.READY
    ready.sequence = newest
    assert ready.tick().state_sequence == newest + 1


def test_frozen_sensors_are_a_fault(ready: Stage) -> None:
    """States keep arriving; the fault comes 20 ms after the first repetition."""
    frozen = {"joint_velocity": np.full(NUM_JOINTS, 0.01), "angular_velocity_b": np.full(3, 0.01)}
    ticks = 0
    while ready.state is ControllerState.READY:
        ready.tick(**frozen)
        ticks += 1
    assert ticks in (22, 23)
    assert damped(ready, Cause.STATE_FROZEN).value == 20.0


def test_a_clock_that_runs_backwards_does_no_harm(ready: Stage) -> None:
    """A constant clock does no harm either; the estimate stays finite."""
    for step in (0, -1, -100, -5000):
        message = ready.message()
        message.time_ns += step * MS
        ready.controller.on_robot_state(message)
    assert ready.controller.estimate is not None
    np.testing.assert_allclose(ready.controller.estimate.gravity_b, [0, 0, -1], atol=1e-2)


def test_a_clock_that_stands_still_from_the_start_does_no_harm() -> None:
    """The first state may be invalid as well."""
    stage = Stage()
    stage.controller.on_robot_state(stage.message(quaternion=np.full(4, np.nan)))
    stage.controller.on_robot_state(stage.message())
    assert stage.controller.estimate is not None
    assert np.isfinite(stage.controller.estimate.gravity_b).all()


# --- Delay, operator, itself ---------------------------------------------------------------------


@pytest.mark.parametrize("delay", [10.0, 15.0, 25.0, 0.0])
def test_a_delay_of_training_is_no_fault(walking: Stage, delay: float) -> None:
    """The delay ranges from the smallest to the largest of training; 0 means unknown."""
    walking.delay_ns = round(delay * MS)
    walking.run(300)
    assert walking.state is ControllerState.WALK


@pytest.mark.parametrize("delay", [9.999, 25.001, 100.0, 0.001])
def test_a_delay_that_training_never_had_is_a_fault(walking: Stage, delay: float) -> None:
    """The delay must last for 0.1 s while a policy is active; standing has no such check."""
    walking.delay_ns = round(delay * MS)
    walking.run(100)
    assert walking.state is ControllerState.WALK
    walking.run(2)
    fault = walking.controller.fault
    assert fault == Fault(Cause.DELAY, pytest.approx(delay))
    walking.until(ControllerState.READY)  # stands, and may only lie down
    for request in (Request.WALK, Request.STOP, Request.REARM):
        walking.tick(request)
        walking.run(600)
        assert (walking.state, walking.controller.fault) == (ControllerState.READY, fault)
    walking.until(ControllerState.FAULT, Request.SIT)
    assert walking.controller.fault == fault
    stage = Stage()
    stage.delay_ns = round(delay * MS)
    stage.ready()
    stage.run(300)
    assert stage.state is ControllerState.READY


def test_a_delay_may_be_long_for_a_moment(walking: Stage) -> None:
    """One good state per tenth of a second is sufficient."""
    for _ in range(5):
        walking.delay_ns = 30 * MS
        walking.run(99)
        walking.delay_ns = 15 * MS
        walking.run(1)
    assert walking.state is ControllerState.WALK


def test_a_silent_operator_is_a_fault_after_half_a_second(ready: Stage) -> None:
    """A request of type NOTHING is a heartbeat."""
    for _ in range(500):
        assert ready.tick(None).kp > 0.0
    ready.tick(None)
    assert damped(ready, Cause.OPERATOR_SILENT).value == pytest.approx(501.0)


def test_no_operator_is_needed_while_motors_are_damped() -> None:
    """Without holding motors, silence of operator and robot is not a fault."""
    stage = Stage()
    stage.tick()
    for _ in range(700):
        stage.tick(None, heard=False)
    assert stage.state is ControllerState.IDLE


def test_late_ticks_are_a_fault_while_motors_hold(ready: Stage) -> None:
    """Late ticks are not a fault before motors hold positions, as during the start."""
    idle = Stage()
    for _ in range(100):
        idle.controller.on_late_ticks(1)
    assert idle.state is ControllerState.IDLE
    for _ in range(20):
        ready.controller.on_late_ticks(1)
    assert ready.state is ControllerState.READY
    ready.controller.on_late_ticks(1)
    assert ready.tick().kp > 0.0
    assert damped(ready, Cause.OVERRUN).value == 21


@pytest.mark.parametrize(("stall", "sits"), [(20, False), (50, False), (60, False), (61, True)])
def test_a_stall_that_the_robot_bridges_is_no_fault(ready: Stage, stall: int, sits: bool) -> None:
    ready.controller.on_late_ticks(stall)
    ready.tick()
    assert (ready.state is ControllerState.SIT) == sits


def test_two_bridged_stalls_in_a_tenth_of_a_second_are_a_fault(ready: Stage) -> None:
    for _ in range(2):
        ready.controller.on_late_ticks(50)
        ready.tick()
    damped(ready, Cause.OVERRUN)


def test_a_graver_fault_ends_lying_down(ready: Stage) -> None:
    ready.controller.on_late_ticks(90)
    ready.tick()
    assert ready.state is ControllerState.SIT
    ready.tick(joint_torque=with_joint(np.zeros(NUM_JOINTS), 3, 9.0))
    damped(ready, Cause.JOINT_TORQUE)


def test_a_stop_ends_lying_down_in_a_latched_fault(ready: Stage) -> None:
    ready.controller.on_late_ticks(90)
    ready.tick()
    ready.tick(Request.DAMP)
    assert ready.state is ControllerState.FAULT
    assert ready.controller.fault is not None
    assert ready.controller.fault.cause is Cause.OVERRUN


def test_a_robot_that_lies_down_by_itself_is_followed(ready: Stage) -> None:
    """The controller does not damp it."""
    ready.fault = Cause.VOLTAGE
    ready.tick()
    assert ready.state is ControllerState.SIT
    assert ready.controller.fault is not None
    assert ready.controller.fault.behind is Cause.VOLTAGE


def test_a_graver_fault_does_not_cut_a_stop_short(walking: Stage) -> None:
    """The steps shrink to the end, then the robot lies down."""
    walking.delay_ns = 30 * MS
    walking.until(ControllerState.STAND)
    walking.controller.on_late_ticks(90)
    assert walking.tick().mode == Mode.POLICY
    assert walking.state is ControllerState.SIT
    walking.until(ControllerState.FAULT)


# --- Re-arming -----------------------------------------------------------------------------------


def test_rearming_is_refused_while_the_robot_reports_a_fault(walking: Stage) -> None:
    """The fault must be repaired first; after a good state the request is granted."""
    walking.fault = Cause.HARDWARE
    walking.tick()
    walking.tick(Request.REARM)
    damped(walking, Cause.ROBOT_FAULT)
    walking.fault = 0
    walking.tick(Request.REARM)
    assert (walking.state, walking.controller.fault) == (ControllerState.IDLE, None)
    assert walking.commands[-1].kp == 0.0


def test_rearming_is_refused_before_the_first_state() -> None:
    """The state of the robot is unknown."""
    stage = Stage()
    stage.tick(Request.DAMP, heard=False)
    stage.tick(Request.REARM, heard=False)
    assert stage.state is ControllerState.DAMP


def test_the_first_fault_is_the_one_that_is_kept(ready: Stage) -> None:
    """Later faults are consequences of it."""
    ready.tick(joint_torque=with_joint(np.zeros(NUM_JOINTS), 3, 9.0))
    first = damped(ready, Cause.JOINT_TORQUE)
    ready.session = 9
    ready.tick(joint_velocity=np.full(NUM_JOINTS, np.inf))
    ready.fault = Cause.TILT
    for request in Request:
        if request is not Request.REARM:
            ready.tick(request)
    assert ready.controller.fault is first
    assert ready.commands[-1].kp == 0.0


def test_a_request_to_rearm_waits_for_the_robot(ready: Stage) -> None:
    """The robot's next state still has the fault; a second request must not be necessary."""
    ready.fault = Cause.HARDWARE
    ready.tick()
    damped(ready, Cause.ROBOT_FAULT)
    ready.tick(Request.REARM)
    assert ready.state is ControllerState.FAULT
    ready.fault = Cause.NONE
    ready.tick()
    assert ready.state is ControllerState.IDLE


def test_a_request_to_rearm_does_not_wait_for_ever(ready: Stage) -> None:
    """A request expires after half a second, because the operator may have left."""
    ready.fault = Cause.HARDWARE
    ready.tick()
    ready.tick(Request.REARM)
    ready.run(500)
    ready.fault = Cause.NONE
    ready.run(10)
    assert ready.state is ControllerState.FAULT


def _lose_states(stage: Stage) -> None:
    stage.sequence += 36
    stage.tick()


def _freeze(stage: Stage) -> None:
    for _ in range(30):
        stage.tick(joint_velocity=np.zeros(NUM_JOINTS), angular_velocity_b=np.zeros(3))


def _be_late(stage: Stage) -> None:
    for _ in range(21):
        stage.controller.on_late_ticks(1)
    stage.tick()


def _chatter(stage: Stage) -> None:
    for k in range(30):
        stage.tick(joint_torque=np.full(NUM_JOINTS, 1.2 if k % 2 else -1.2))


@pytest.mark.parametrize(
    ("bring_about", "cause"),
    [
        (_lose_states, Cause.STATE_GAP), (_freeze, Cause.STATE_FROZEN), (_be_late, Cause.OVERRUN),
        (_chatter, Cause.TORQUE_RATE),
    ],
)  # fmt: skip
def test_rearming_resets_all_counters(
    ready: Stage, bring_about: Callable[[Stage], None], cause: Cause
) -> None:
    """Otherwise the next standing up would be a fault in its first tick."""
    bring_about(ready)
    damped(ready, cause)
    ready.tick(Request.REARM)
    ready.tick(Request.STAND)
    ready.controller.on_late_ticks(0)
    ready.run(5)
    assert (ready.state, ready.controller.fault) == (ControllerState.STAND, None)


def test_measurements_lost_before_standing_up_have_no_effect() -> None:
    """The tilt is taken from the accelerometer again; no false ATTITUDE_DISAGREES 0.1 s later."""
    stage = Stage()
    stage.run(5)
    for _ in range(250):  # a turn of which the way back was lost
        stage.tick(angular_velocity_b=np.array([0.0, 5.0, 0.0]))
    assert stage.controller.estimate is not None
    assert abs(stage.controller.estimate.gravity_b[0]) > 0.35
    stage.until(ControllerState.READY, Request.STAND)
    assert abs(stage.controller.estimate.gravity_b[0]) < 0.01
