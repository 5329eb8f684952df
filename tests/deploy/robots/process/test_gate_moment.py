"""The robot's last line of defence: checks of sensors and motors while it follows a command."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from deploy.common.faults import Cause, Fault
from deploy.common.position_limits import NOISE
from deploy.common.robot_constants import DAMPING_GAIN
from deploy.robots.process.gate import Gate
from deploy.robots.process.gate_config import GateConfig
from solo_doi.solo12.constants import NUM_JOINTS
from solo_doi.solo12.limits import DRIVER_LIMITS, SAFETY_LIMITS
from solo_doi.solo12.rotations import from_rpy, tilt
from tests.deploy.stage import with_joint

from .test_gate import NOW, ZERO, command, powered, state


def found(now: float = NOW + 0.001, **changes: Any) -> Fault | None:  # any field of sensors
    """Return the fault of the tick after the first; motors are damped in the same tick."""
    gate = powered()
    gate.offer(command(now))
    decided = gate.decide(state(now, **changes), now)
    assert (decided.kp, decided.kd) == ((5.0, 0.2) if gate.fault is None else (0.0, DAMPING_GAIN))
    return gate.fault


# --- Sensors -------------------------------------------------------------------------------------

MEASURED = (
    "joint_position",
    "joint_velocity",
    "joint_torque",
    "acceleration_b",
    "angular_velocity_b",
    "quaternion",
)


@pytest.mark.parametrize("number", [nan, inf, -inf])
@pytest.mark.parametrize("name", MEASURED)
def test_measurements_that_are_not_finite_are_a_fault(name: str, number: float) -> None:
    """This holds for any element of any array."""
    value = getattr(state(), name)
    for place in range(len(value)):
        assert found(**{name: with_joint(value, place, number)}) == Fault(Cause.STATE_NOT_FINITE)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("joint", range(NUM_JOINTS))
def test_joints_have_limits(joint: int, sign: int) -> None:
    """The limits of position and velocity are those of the motor drivers."""
    for name, limit, cause in (
        ("joint_position", DRIVER_LIMITS.position[joint], Cause.JOINT_POSITION),
        ("joint_velocity", DRIVER_LIMITS.velocity, Cause.JOINT_VELOCITY),
    ):
        at_limit, beyond = sign * limit, sign * np.nextafter(limit, inf)
        fault = found(**{name: with_joint(ZERO, joint, at_limit)})
        # A knee at its limit is so far from its target that its torque is refused.
        assert fault is None or fault.cause is Cause.COMMAND_TORQUE
        assert found(**{name: with_joint(ZERO, joint, beyond)}) == Fault(cause, beyond, joint)


def test_joints_beyond_their_limits_at_switch_on_may_come_back() -> None:
    """A robot on its belly can stand up, but its knees may not fold further."""
    knee, gate = DRIVER_LIMITS.position[2] + 0.1, Gate(GateConfig(encoder_jump=inf))

    def decide(position: float, k: int) -> float:
        now = NOW + k / 1000
        gate.offer(command(now, kp=1.0))
        return float(gate.decide(state(now, joint_position=with_joint(ZERO, 2, position)), now).kp)

    assert [
        decide(knee, 0),
        decide(knee + 0.5 * NOISE, 1),
        decide(2.0, 2),
        decide(DRIVER_LIMITS.position[2], 3),
    ] == [1.0] * 4
    assert decide(knee, 4) == 0.0
    assert gate.fault == Fault(Cause.JOINT_POSITION, knee, 2)


def test_every_switching_on_allows_anew() -> None:
    """After a damping command, the robot's weight may have folded its knees."""
    knee, gate = DRIVER_LIMITS.position[2] + 0.1, powered()
    gate.offer(command(mode=0))
    gate.decide(state(joint_position=with_joint(ZERO, 2, knee)), NOW)
    gate.offer(command(kp=1.0, position=with_joint(ZERO, 2, 2.6).tolist()))
    assert gate.decide(state(joint_position=with_joint(ZERO, 2, knee)), NOW).kp == 1.0


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("joint", range(NUM_JOINTS))
def test_gains_and_distance_must_not_ask_for_too_much(joint: int, sign: int) -> None:
    """Motors clip at a lower torque, but such a request indicates a wrong state of the robot.

    Every joint can reach the limit.
    """
    most = (5.5, 6.5, 10.5)[joint % 3]
    far = min(0.9 * DRIVER_LIMITS.position[joint], most / 5.0)
    rest = most / 5.0 - far  # remaining distance of the target, at the shipped gain of 5
    assert rest + 0.01 < SAFETY_LIMITS.position[joint]
    for more, good in ((-0.01, True), (0.01, False)):
        gate = powered()
        gate.offer(command(position=with_joint(ZERO, joint, -sign * (rest + more)).tolist()))
        gate.decide(
            state(NOW + 0.001, joint_position=with_joint(ZERO, joint, sign * far)), NOW + 0.001
        )
        expected = Fault(Cause.COMMAND_TORQUE, pytest.approx(-sign * (most + 0.05)), joint)
        assert gate.fault == (None if good else expected)


@pytest.mark.parametrize("turn", [(1, 0), (-1, 0), (0, 1), (0, -1)])
def test_a_tilted_base_is_a_fault(turn: tuple[int, int]) -> None:
    """This holds for every direction and yaw, by the IMU's own attitude."""
    roll, pitch = turn
    assert found(quaternion=from_rpy(1.1999 * roll, 1.1999 * pitch, 2.0)) is None
    fault = found(quaternion=from_rpy(1.2001 * roll, 1.2001 * pitch, 2.0))
    assert fault is not None
    assert (fault.cause, fault.value) == (Cause.TILT, pytest.approx(1.2001))


def test_at_the_limit_the_base_may_be_tilted() -> None:
    """The limit is exact to the last bit."""
    turned = from_rpy(0.5, 0.0, 0.0)
    for limit, good in ((tilt(turned), True), (np.nextafter(tilt(turned), 0.0), False)):
        gate = Gate(GateConfig(tilt=limit))
        gate.offer(command())
        assert (gate.decide(state(quaternion=turned), NOW).kp > 0.0) == good


# --- Encoders ------------------------------------------------------------------------------------

DT = 1 / 128
REACH = 0.5 + DRIVER_LIMITS.velocity * DT
"""Largest apparent rotation of a joint in `DT`, if jumps of 0.5 rad are accepted [rad]."""


def turned(*steps: tuple[float, float | None]) -> Fault | None:
    """Return the fault of a joint with these times and angles.

    An angle of None is a tick without sensors.
    """
    gate = Gate(GateConfig(encoder_jump=0.5, sensor_age=1.0))
    for time, angle in steps:
        gate.offer(command(NOW + time, kp=0.1))
        seen = (
            None if angle is None else state(NOW + time, joint_position=with_joint(ZERO, 8, angle))
        )
        gate.decide(seen, NOW + time)
    return gate.fault


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("start", [0.0, 1.0])
def test_an_encoder_that_jumps_is_a_fault(start: float, sign: int) -> None:
    """A jump is larger than the fastest rotation, from any angle.

    The fault names the joint and its jump.
    """
    first = (0.0, sign * start)
    assert turned(first, (DT, sign * start)) is None
    assert turned(first, (DT, sign * (start - REACH))) is None
    beyond = REACH + 2**-40
    assert turned(first, (DT, sign * (start - beyond))) == Fault(Cause.ENCODER_JUMP, beyond, 8)


def test_a_jump_behind_a_silence_is_found() -> None:
    """The last known angle is kept; a longer time allows a longer way."""
    assert turned((0.0, 0.0), (DT, None), (2 * DT, 0.5 + 2 * DRIVER_LIMITS.velocity * DT)) is None
    fault = turned((0.0, 0.0), (DT, None), (2 * DT, 0.5 + 2 * DRIVER_LIMITS.velocity * DT + 2**-40))
    assert fault is not None
    assert fault.cause is Cause.ENCODER_JUMP


# --- Hardware ------------------------------------------------------------------------------------


@pytest.mark.parametrize("joint", range(NUM_JOINTS))
def test_motors_must_follow_and_report_no_error(joint: int) -> None:
    """The fault names the joint."""
    ready, errors = np.ones(NUM_JOINTS, dtype=bool), np.zeros(NUM_JOINTS, dtype=np.int64)
    ready[joint], errors[joint] = False, 3
    assert found(ready=ready) == Fault(Cause.MOTOR_NOT_READY, 0.0, joint)
    assert found(errors=errors) == Fault(Cause.HARDWARE, 3.0, joint)


def test_the_fault_contains_the_texts_of_the_hardware() -> None:
    """The fault has all texts of the hardware; texts without an error are not a fault."""
    words, errors = (
        ("driver 2: no answer", "driver 5: encoder"),
        np.where(np.arange(NUM_JOINTS) == 4, 5, 0),
    )
    fault = found(faults=words, errors=errors)
    assert (
        str(fault)
        == "the hardware reports error 5 at FR_HFE: driver 2: no answer, driver 5: encoder"
    )
    behind = Fault(Cause.ROBOT_FAULT, 5.0, 4, behind=Cause.HARDWARE)  # texts are not sent over LCM
    assert str(behind) == "the robot damps by itself: the hardware reports error 5 at FR_HFE"
    assert found(faults=words) is None


def test_motors_must_acknowledge_commands() -> None:
    """Ten ticks without an acknowledgement are accepted."""
    assert found(command_lag=10) is None
    assert found(command_lag=11) == Fault(Cause.COMMAND_LAG, 11)


def test_packets_may_not_be_lost_too_often() -> None:
    """Ten lost of a hundred are accepted, for any initial count.

    Eleven are a fault, even if they are lost at once.
    """
    assert found(lost=10) is None
    assert found(lost=11) == Fault(Cause.PACKETS_LOST, 11)
    gate = powered()
    for k in range(1, 300):
        now = NOW + k / 1000
        gate.offer(command(now))
        gate.decide(state(now, lost=k // 10), now)
        assert gate.fault is None, k
    gate.offer(command(NOW + 0.3))
    gate.decide(state(NOW + 0.3, lost=40), NOW + 0.3)
    assert gate.fault == Fault(Cause.PACKETS_LOST, 20)


def test_a_flat_battery_is_a_fault() -> None:
    """It must be low for half a second; an unknown voltage is not a fault."""
    below = float(np.nextafter(20.0, 0.0))
    assert after_half_a_second(20.0) is None
    assert after_half_a_second(nan) is None
    assert after_half_a_second(below) == Fault(Cause.VOLTAGE, below)


def after_half_a_second(voltage: float, before: float = 24.0) -> Fault | None:
    """Return the fault after 0.5 s at a voltage, checking that there is none earlier."""
    gate = Gate()
    gate.offer(command(NOW))
    gate.decide(state(NOW, voltage=before), NOW)
    for k in range(1, 502):
        assert gate.fault is None
        now = NOW + k / 1000
        gate.offer(command(now))
        gate.decide(state(now, voltage=voltage), now)
    return gate.fault


@pytest.mark.parametrize("before", [0.0, 4.9])
def test_a_missing_power_board_is_no_empty_battery(before: float) -> None:
    assert after_half_a_second(0.0, before) is None


def test_a_voltage_may_sag_for_a_moment() -> None:
    """One sample above the limit restarts the time."""
    gate = powered()
    for k in range(1, 2000):
        now = NOW + k / 1000
        gate.offer(command(now))
        gate.decide(state(now, voltage=24.0 if k % 499 == 0 else 19.0), now)
    assert gate.fault is None


def test_a_robot_with_an_empty_battery_lies_down_by_itself() -> None:
    """Commands are not followed any more; a graver fault damps."""
    gate = powered()
    gate.latch(Fault(Cause.VOLTAGE, 19.0))
    assert gate.lies_down
    gate.offer(command(NOW + 0.001, position=(ZERO + 0.3).tolist()))
    assert gate.decide(state(NOW + 0.001), NOW + 0.001).position.max() < 0.01
    gate.latch(Fault(Cause.OPERATOR_SILENT, 600.0))
    assert gate.fault == Fault(Cause.VOLTAGE, 19.0)
    gate.decide(state(NOW + 0.002, quaternion=from_rpy(1.3, 0, 0)), NOW + 0.002)
    assert gate.fault is not None
    assert gate.fault.cause is Cause.TILT
    assert not gate.powered
    gate.latch(Fault(Cause.VOLTAGE, 19.0))
    assert not gate.powered


def test_a_stop_damps_a_robot_that_lies_down_and_keeps_its_fault() -> None:
    gate = powered()
    gate.latch(Fault(Cause.VOLTAGE, 19.0))
    gate.latch(Fault(Cause.OPERATOR_STOP))
    assert gate.decide(state(NOW + 0.001), NOW + 0.001).kp == 0.0
    assert gate.fault == Fault(Cause.VOLTAGE, 19.0)


def test_the_controller_can_damp_a_robot_that_lies_down() -> None:
    gate = powered()
    gate.latch(Fault(Cause.VOLTAGE, 19.0))
    gate.offer(command(NOW + 0.001, mode=0))
    assert gate.decide(state(NOW + 0.001), NOW + 0.001).kp == 0.0
    assert gate.fault == Fault(Cause.VOLTAGE, 19.0)


def test_a_damped_robot_does_not_lie_down() -> None:
    gate = Gate()
    gate.latch(Fault(Cause.VOLTAGE, 19.0))
    assert not gate.lies_down
    assert gate.decide(state(), NOW).kp == 0.0


def test_a_frozen_imu_is_a_fault() -> None:
    """The fault comes after 20 ms of equal numbers, although joints move."""
    gate, still = powered(), state()
    for k in range(1, 22):
        now = NOW + k / 1000
        gate.offer(command(now))
        seen = replace(
            state(now),
            angular_velocity_b=still.angular_velocity_b,
            acceleration_b=still.acceleration_b,
        )
        assert (gate.decide(seen, now).kp == 5.0) == (k <= 20), k
    assert gate.fault is not None
    assert (gate.fault.cause, gate.fault.value) == (Cause.IMU_FROZEN, pytest.approx(21.0))


def test_an_imu_that_froze_before_switching_on_is_found() -> None:
    """The IMU is checked even while motors are damped."""
    gate, still = Gate(), state()
    for k in range(100):
        gate.decide(replace(still, time=NOW + k / 1000), NOW + k / 1000)
    gate.offer(command(NOW + 0.1))
    assert gate.decide(replace(still, time=NOW + 0.1), NOW + 0.1).kp == 0.0
    assert gate.fault is not None
    assert gate.fault.cause is Cause.IMU_FROZEN


def test_checks_of_the_moment_have_an_order() -> None:
    """With all errors present, correcting one after another gives the next cause."""
    none_ready, errors = np.zeros(NUM_JOINTS, dtype=bool), np.ones(NUM_JOINTS, dtype=np.int64)
    wrong: dict[str, Any] = {
        "joint_torque": ZERO * nan, "joint_position": ZERO + 2.9, "joint_velocity": ZERO + 99,
        "quaternion": from_rpy(2.0, 0, 0), "ready": none_ready, "command_lag": 99,
        "errors": errors, "lost": 99,
        "voltage": 1.0,
    }  # fmt: skip
    causes = []
    for name, mended in (
        ("joint_torque", ZERO), ("errors", 0 * errors), ("joint_position", with_joint(ZERO, 8,
        2.6)),
        ("joint_velocity", ZERO), ("joint_position", ZERO), ("quaternion", state().quaternion),
        ("ready", ~none_ready), ("command_lag", 0), ("lost", 0),
    ):  # fmt: skip
        fault = found(**wrong)
        assert fault is not None
        causes.append(fault.cause)
        wrong[name] = mended
    assert found(**wrong) is None
    assert causes == [
        Cause.STATE_NOT_FINITE, Cause.HARDWARE, Cause.JOINT_POSITION, Cause.JOINT_VELOCITY,
        Cause.COMMAND_TORQUE,
        Cause.TILT, Cause.MOTOR_NOT_READY, Cause.COMMAND_LAG, Cause.PACKETS_LOST,
    ]  # fmt: skip
