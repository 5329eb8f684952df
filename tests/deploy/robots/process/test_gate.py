"""The robot's last line of defence: refused commands, thresholds, latched faults."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from deploy.common.faults import Cause, Fault
from deploy.common.position_limits import NOISE
from deploy.common.robot_constants import DAMPING_GAIN
from deploy.common.sensors import Sensors
from deploy.messages.lcm_link import COMMAND_CHANNEL, Message, Mode, blank
from deploy.robots.process.gate import Gate
from deploy.robots.process.gate_config import GateConfig
from solo_doi.solo12.constants import NUM_JOINTS, NUM_LEGS
from solo_doi.solo12.limits import MECHANICAL_POSITION, SAFETY_LIMITS, TRAINING_LIMITS
from tests.deploy.stage import sensors, with_joint

CONFIG = GateConfig()
ZERO = np.zeros(NUM_JOINTS)
NOW = 8.0
"""Time without rounding errors, like all expiries here except for the 20 ms."""


def command(now: float = NOW, **changes: Any) -> Message:  # any field
    """Return a valid command for a state of this moment, with changes."""
    message = blank(COMMAND_CHANNEL)
    message.mode, message.kp, message.kd = Mode.MOVE, 5.0, 0.2
    message.position = ZERO.tolist()
    message.expires_ns = round((now + 0.020) * 1e9)
    message.observed_ns = message.heartbeat_ns = round(now * 1e9)
    for name, value in changes.items():
        setattr(message, name, value)
    return message


def state(time: float = NOW, **changes: Any) -> Sensors:  # any field
    """Return the sensors of a good robot, with changes."""
    return sensors(time, **({"joint_position": ZERO, "voltage": 24.0} | changes))


def powered() -> Gate:
    """Return a gate that follows a command."""
    gate = Gate(GateConfig(encoder_jump=inf))  # joint positions are free to choose
    gate.offer(command())
    assert gate.decide(state(), NOW).kp == 5.0
    return gate


def test_the_first_fault_stays_until_a_person_rearms() -> None:
    """Later faults, and ticks without one, have no effect."""
    gate = powered()
    gate.latch(None)
    assert gate.fault is None
    gate.latch(Fault(Cause.OPERATOR_STOP))
    gate.latch(Fault(Cause.TILT, 2.0))
    gate.latch(None)
    assert gate.fault == Fault(Cause.OPERATOR_STOP)
    gate.rearm()
    assert gate.fault is None


def refused(**changes: Any) -> Fault:  # any field
    """Return the fault of a changed command, offered to a gate that follows another one.

    The motors are damped at once.
    """
    gate = powered()
    gate.offer(command(**changes))
    assert gate.fault is not None
    assert not gate.powered
    assert gate.decide(state(NOW + 0.001), NOW + 0.001).kp == 0.0
    return gate.fault


def taken(**changes: Any) -> bool:  # any field
    """Return True if a command with changes is followed."""
    gate = powered()
    gate.offer(command(**changes))
    return gate.fault is None and gate.decide(state(NOW + 0.001), NOW + 0.001).kp == changes.get(
        "kp", 5.0
    )


def test_thresholds_are_these() -> None:
    """The thresholds are repeated here.

    A change alters safety and the table in the documentation.
    """
    assert asdict(CONFIG) == {
        "step": 1.6, "first_step": 0.6, "rate": 20.0, "kp": 10.0, "kd": 0.6, "torque": (5.5, 6.5,
        10.5),
        "expiry": 0.020, "hold": 0.060, "observed_age": 0.060, "operator_age": 0.6, "tilt": 1.2,
        "command_lag": 10, "lost_share": 10, "sensor_age": 0.005, "encoder_jump": 0.05,
        "imu_frozen": 0.020,
        "voltage": 20.0, "disarmed_after": 0.015, "voltage_patience": 0.5,
    }  # fmt: skip
    assert NOISE == 0.02


# --- Following -----------------------------------------------------------------------------------


def test_a_gate_begins_damped() -> None:
    """This holds without a command, with and without sensors."""
    gate = Gate()
    for seen in (None, state()):
        found = gate.decide(seen, NOW)
        assert (found.kp, found.kd) == (0.0, DAMPING_GAIN)
    assert not gate.powered
    assert gate.fault is None
    assert gate.followed is None


def test_a_sound_command_is_followed_to_the_letter() -> None:
    """Position and both gains are those of the command."""
    gate = Gate()
    position = np.linspace(-0.5, 0.5, NUM_JOINTS)
    gate.offer(command(position=position.tolist(), kp=4.25, kd=0.125))
    found = gate.decide(state(), NOW)
    np.testing.assert_array_equal(found.position, position)
    assert (found.kp, found.kd) == (4.25, 0.125)
    assert gate.powered


def test_a_damping_command_damps_with_the_gate_s_own_gain() -> None:
    """Positions and gains of the command have no effect; the joints stay where they are."""
    gate = powered()
    gate.offer(command(mode=Mode.DAMP, kp=99.0, kd=99.0, position=[9.0] * NUM_JOINTS))
    found = gate.decide(state(joint_position=ZERO + 0.25), NOW)
    assert (found.kp, found.kd, gate.fault) == (0.0, 0.2, None)
    np.testing.assert_array_equal(found.position, ZERO + 0.25)
    assert not gate.powered


@pytest.mark.parametrize("position", [ZERO * nan, with_joint(ZERO, 3, inf)])
def test_a_damped_position_is_finite(position: np.ndarray) -> None:
    """Zero times infinity is NaN, not zero."""
    assert np.isfinite(Gate().decide(state(joint_position=position), NOW).position).all()


# --- Checks of commands --------------------------------------------------------------------------


@pytest.mark.parametrize("number", [nan, inf, -inf])
@pytest.mark.parametrize("mode", Mode)
def test_numbers_that_are_not_finite_are_refused_anywhere(mode: Mode, number: float) -> None:
    """They are in any joint or gain, even of a damping command, because the sender is broken."""
    for joint in range(NUM_JOINTS):
        position = with_joint(ZERO, joint, number).tolist()
        assert refused(mode=mode, position=position) == Fault(Cause.COMMAND_NOT_FINITE)
    assert refused(mode=mode, kp=number) == Fault(Cause.COMMAND_NOT_FINITE)
    assert refused(mode=mode, kd=number) == Fault(Cause.COMMAND_NOT_FINITE)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("joint", range(NUM_JOINTS))
def test_targets_beyond_the_safety_limit_are_refused(joint: int, sign: int) -> None:
    """Targets at the limit are accepted by a new gate, for which the step is not too large."""
    limit = SAFETY_LIMITS.position[joint]
    gate = Gate()
    gate.offer(command(position=with_joint(ZERO, joint, sign * limit).tolist()))
    assert gate.fault is None
    beyond = sign * np.nextafter(limit, inf)
    assert refused(position=with_joint(ZERO, joint, beyond).tolist()) == Fault(
        Cause.COMMAND_POSITION, beyond, joint
    )


@pytest.mark.parametrize(("name", "most"), [("kp", 10.0), ("kd", 0.6)])
def test_gains_have_limits(name: str, most: float) -> None:
    """Negative gains push a joint away from its target; large ones make it chatter."""
    for good in (0.0, most):
        assert taken(**{name: good})
    for bad in (-1e-9, np.nextafter(most, inf)):
        assert refused(**{name: bad}) == Fault(Cause.COMMAND_GAINS, bad)


@pytest.mark.parametrize(("name", "carried"), [("kp", (5.0, 0.6)), ("kd", (10.0, 0.2))])
def test_gains_beyond_the_motor_interface_are_refused(
    name: str, carried: tuple[float, float]
) -> None:
    """The motor interface would clamp them, or raise an error in the process that must damp."""
    gate = powered()
    gate.offer(command(), carried)  # the largest value of the interface
    assert gate.fault is None
    beyond = np.nextafter({"kp": 5.0, "kd": 0.2}[name], inf)
    gate.offer(command(**{name: beyond}), carried)
    assert gate.fault == Fault(Cause.COMMAND_GAINS, beyond)


def test_steps_between_commands_have_a_limit() -> None:
    """The step counts from the followed command."""
    assert taken(position=with_joint(ZERO, 5, -1.6).tolist(), kp=1.0)
    beyond = np.nextafter(1.6, 2.0)
    assert refused(position=with_joint(ZERO, 5, -beyond).tolist(), kp=1.0) == Fault(
        Cause.COMMAND_STEP, beyond, 5
    )


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("joint", range(NUM_JOINTS))
def test_the_first_command_must_be_near_the_joints(joint: int, sign: int) -> None:
    """An earlier damping command makes no difference.

    Motors that are switched on must not jump, even after a fault.
    """
    limit = sign * CONFIG.first_step
    for beyond, fault in ((limit, None), (np.nextafter(limit, sign * inf), Cause.COMMAND_STEP)):
        gate = Gate()
        gate.offer(command(mode=Mode.DAMP, position=[2.0] * NUM_JOINTS))
        gate.decide(state(), NOW)
        gate.offer(command(position=with_joint(ZERO, joint, beyond).tolist(), kp=1.0))
        assert gate.fault == (None if fault is None else Fault(fault, abs(beyond), joint))
    gate.rearm()
    gate.offer(command(mode=Mode.DAMP))
    gate.offer(command(position=with_joint(ZERO, joint, 1.1 * limit).tolist(), kp=1.0))
    assert gate.fault is not None


def test_the_first_command_may_lead_back_from_every_stop_of_the_metal() -> None:
    """A robot may lie at a mechanical stop.

    The controller then begins at the nearest allowed target.
    """
    assert (MECHANICAL_POSITION - TRAINING_LIMITS.position).max() < CONFIG.first_step


def moved(amplitude: float, period: int, ticks: int = 2000) -> int:
    """Return the ticks until an alternating target is refused, or `ticks` if never."""
    gate = powered()
    for k in range(ticks):
        now = NOW + k / 1000
        target = amplitude if k // period % 2 else 0.0
        gate.offer(command(now, position=with_joint(ZERO, 5, target).tolist(), kp=0.1))
        gate.decide(state(now), now)
        if gate.fault is not None:
            assert (gate.fault.cause, gate.fault.joint) == (Cause.COMMAND_RATE, 5)
            assert CONFIG.step < gate.fault.value <= CONFIG.step + amplitude  # its recent motion
            return k
    return ticks


def test_targets_must_not_move_too_fast_for_long() -> None:
    """One long step is accepted, even every 0.1 s.

    A target that alternates in every tick or policy step is refused.
    """
    assert moved(1.59, 100) == 2000
    assert moved(0.39, 20) == 2000
    assert moved(1.59, 1) == 2
    assert moved(0.9, 20) == 60
    assert moved(0.1, 1) < 40


def test_steps_are_counted_from_where_the_joint_was_sent() -> None:
    """A leg at one side may stay there, but not jump to the other."""
    for target, good in ((1.0, True), (-0.6, True), (-0.7, False)):
        gate = Gate()
        gate.offer(command(position=with_joint(ZERO, 5, 1.0).tolist(), kp=1.0))
        gate.offer(command(position=with_joint(ZERO, 5, target).tolist(), kp=1.0))
        assert gate.fault == (None if good else Fault(Cause.COMMAND_STEP, 1.7, 5))


def test_checks_of_commands_have_an_order() -> None:
    """The order is: numbers, limits of joints, steps, gains. The first failure is reported."""
    wrong = with_joint(ZERO, 5, 2.9).tolist()
    step = with_joint(ZERO, 5, 2.0).tolist()
    assert refused(position=wrong, kp=nan).cause is Cause.COMMAND_NOT_FINITE
    assert refused(position=wrong, kp=99.0).cause is Cause.COMMAND_POSITION
    assert refused(position=step, kp=99.0).cause is Cause.COMMAND_STEP
    assert refused(kp=99.0).cause is Cause.COMMAND_GAINS


def test_a_command_that_was_refused_is_not_followed_in_part() -> None:
    """The previous command stays on record."""
    gate = powered()
    before = gate.followed
    gate.offer(command(kp=99.0))
    assert gate.followed is before


# --- Latch ---------------------------------------------------------------------------------------


def test_a_fault_outlives_sound_commands_and_further_faults() -> None:
    """The first fault is kept, and the motors stay damped."""
    gate = powered()
    gate.offer(command(kp=99.0))
    first = gate.fault
    for k in range(100):
        gate.offer(command(NOW + k / 1000))
        gate.offer(command(NOW + k / 1000, kp=nan))
        found = gate.decide(state(NOW + k / 1000), NOW + k / 1000)
        assert (found.kp, found.kd) == (0.0, DAMPING_GAIN)
    assert gate.fault is first


def test_rearming_forgets_fault_and_commands() -> None:
    """The motors stay damped until the controller has damped too, and a new command comes."""
    gate = powered()
    gate.offer(command(kp=99.0))
    gate.rearm()
    assert (gate.fault, gate.followed, gate.powered) == (None, None, False)
    assert gate.decide(state(), NOW).kp == 0.0
    gate.offer(command())
    assert gate.decide(state(), NOW).kp == 0.0
    gate.offer(command(mode=Mode.DAMP))
    gate.offer(command())
    assert gate.decide(state(), NOW).kp == 5.0


def test_rearming_while_the_robot_lies_down_has_no_effect() -> None:
    """The reaction ends first."""
    gate = powered()
    gate.latch(Fault(Cause.VOLTAGE, 19.0))
    gate.rearm()
    assert gate.lies_down
    assert gate.fault == Fault(Cause.VOLTAGE, 19.0)


def test_numbers_that_are_not_finite_do_not_spoil_lying_down() -> None:
    """Neither the pose that catches the robot nor the heat of its motors."""
    gate = Gate()
    load = np.tile([0.0, 0.0, 1.5], NUM_LEGS)
    pose = np.tile([0.05, 0.8, -1.6], NUM_LEGS)
    for k in range(10):
        bad = state(NOW + k / 1000, joint_position=pose, joint_torque=load,
            joint_velocity=np.full(NUM_JOINTS, nan))  # fmt: skip
        gate.decide(bad, NOW + k / 1000)
    now = NOW + 0.010
    good = state(now, joint_position=pose, joint_torque=load)
    gate.decide(good, now)
    gate.offer(command(now, mode=Mode.POLICY, position=pose.tolist()))
    gate.decide(good, now)
    gate.latch(Fault(Cause.VOLTAGE, 19.0))
    assert np.isfinite(gate.decide(good, now + 0.001).position).all()
    assert np.isfinite(gate.decide(replace(good, time=now + 0.004), now + 0.004).position).all()


def test_rearming_without_a_fault_does_not_let_go() -> None:
    """A walking robot would fall."""
    gate = powered()
    gate.rearm()
    assert gate.powered
    assert gate.decide(state(), NOW).kp == 5.0
