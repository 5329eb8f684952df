"""Joints and motors: conversions across the gear."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deploy.common.robot_error import RobotError
from deploy.robots.odri.drivers import motors
from deploy.robots.odri.drivers.board_sensors import (
    driver_faults,
    quaternion,
    ready_joints,
    without_errors,
)
from deploy.robots.odri.wire import codec
from deploy.robots.odri.wire.protocol import SensorPacket
from solo_doi.solo12.constants import JOINT_NAMES, NUM_JOINTS
from solo_doi.solo12.limits import TRAINING_LIMITS
from solo_doi.solo12.rotations import from_rpy
from solo_doi.solo12.state import JointCommand
from tests.deploy.robots.odri.packets import sensor
from tests.deploy.stage import sensors

ON = np.ones(NUM_JOINTS, dtype=bool)


def test_every_joint_has_its_own_motor() -> None:
    """Each number occurs once, as in the wiring of the vendor's file.

    Joint 1 (FL_HFE) is motor 3, with a negative sign.
    """
    assert sorted(number for number, _ in motors.MOTORS.values()) == list(range(12))
    assert [motors.MOTORS[name][0] for name in JOINT_NAMES] == [
        0,
        3,
        2,
        1,
        5,
        4,
        6,
        9,
        8,
        7,
        11,
        10,
    ]
    assert [motors.MOTORS[name][1] for name in JOINT_NAMES] == [1, -1, -1, -1, 1, 1] * 2


@pytest.mark.parametrize("protocol", [3, 4])
def test_a_joint_target_comes_back_as_a_joint_position(protocol: int) -> None:
    """If the motors are at their targets, so are the joints, including offsets."""
    random = np.random.default_rng(0)
    target, offset = random.uniform(-2, 2, 12), random.uniform(-0.3, 0.3, 12)
    command = motors.motor_command(
        JointCommand(position=target, kp=3.0, kd=0.2), offset, enabled=ON, compensate_index=ON
    )
    packet = codec.decode_command(codec.encode_command(command, 1, 1, protocol))
    measured = sensor(position=packet.motors.position)  # type: ignore[union-attr]
    np.testing.assert_allclose(motors.joint_position(measured, offset), target, atol=1e-7)


def test_the_driver_makes_the_torque_that_was_meant() -> None:
    """kp (target - q) - kd q' at the joint equals the motor's law.

    The motor's law is in amperes, times gear and motor constant.
    """
    random = np.random.default_rng(1)
    target, q, v, offset = (random.uniform(-0.5, 0.5, 12) for _ in range(4))
    kp, kd = random.uniform(1, 5, 12), random.uniform(0.05, 0.5, 12)
    command = motors.motor_command(
        JointCommand(position=target, kp=kp, kd=kd), offset, enabled=ON, compensate_index=ON
    )
    gear = motors.SIGN * motors.GEAR_RATIO
    motor_q, motor_v = (
        (gear * (q - offset))[motors.JOINT_OF_MOTOR],
        (gear * v)[motors.JOINT_OF_MOTOR],
    )
    current = command.kp * (command.position - motor_q) - command.kd * motor_v
    measured: SensorPacket = sensor(current=current)
    np.testing.assert_allclose(
        motors.joint_torque(measured), kp * (target - q) - kd * v, atol=1e-12
    )


def test_one_gain_for_all_joints_is_that_of_each() -> None:
    """The result is equal to the last bit, although it is computed once."""
    for kp, kd in np.random.default_rng(3).uniform(0, 5, (20, 2)).tolist():
        one, all_of_them = (
            motors.motor_command(
                JointCommand(position=np.zeros(12), kp=gains[0], kd=gains[1]),
                np.zeros(12),
                enabled=ON,
                compensate_index=ON,
            )
            for gains in ((kp, kd), (np.full(12, kp), np.full(12, kd)))
        )
        np.testing.assert_array_equal(one.kp, all_of_them.kp)
        np.testing.assert_array_equal(one.kd, all_of_them.kd)


@pytest.mark.parametrize(("protocol", "kp", "kd"), [(3, 10.3, 1.23), (4, 5.15, 0.618)])
def test_gains_are_refused_beyond_the_wire(protocol: int, kp: float, kd: float) -> None:
    """Training's gains of 5 and 0.1 fit both protocols; the error names the joint otherwise."""
    zero = np.zeros(12)
    for good in ((5.0, 0.1), (kp, kd)):
        motors.check(JointCommand(position=zero, kp=good[0], kd=good[1]), protocol)
    for bad in ((kp + 0.03, 0.1), (np.nan, 0.1), (-1.0, 0.1), (5.0, kd + 0.02), (5.0, np.inf)):
        with pytest.raises(RobotError, match=f"FL_HAA.*protocol {protocol}"):
            motors.check(JointCommand(position=zero, kp=bad[0], kd=bad[1]), protocol)
    one = np.full(12, 1.0)
    one[8] = 100.0
    with pytest.raises(RobotError, match="HL_KFE: kp is 100"):
        motors.check(JointCommand(position=zero, kp=one, kd=0.1), protocol)


def test_currents_are_limited_by_the_table_of_limits() -> None:
    """The limit is that of training, 2.5 N m, and never zero, which means no limit."""
    assert motors.motors_off().saturation == pytest.approx(np.full(12, TRAINING_LIMITS.current))
    assert not motors.motors_off().enabled.any()


def test_the_fast_quaternion_is_the_same_one() -> None:
    """The function is written out for speed; the reference is the common one."""
    for angles in np.random.default_rng(2).uniform(-3, 3, (50, 3)):
        np.testing.assert_allclose(quaternion(*angles), from_rpy(*angles), atol=1e-15)


def test_a_joint_is_ready_if_its_motor_is_and_its_driver_has_no_error() -> None:
    """Motor 3 (FL_HFE) is not ready.

    Driver 5 (right hind leg) has an error, although its motors report that they are ready.
    """
    ready, error = np.ones(12, dtype=bool), np.zeros(6, dtype=np.intp)
    ready[3], error[5] = False, 9
    packet = sensor(ready=ready, error=error)
    unready = [
        name for name, good in zip(JOINT_NAMES, ready_joints(packet), strict=True) if not good
    ]
    assert unready == ["FL_HFE", "HR_HFE", "HR_KFE"]
    assert driver_faults(packet) == ("driver 5 (HR_HFE, HR_KFE): unknown error 9",)


def test_measurements_of_a_driver_in_error_are_dropped() -> None:
    """Its joints keep their last good numbers; without any, there is no measurement."""
    sound = sensors(1.0, joint_position=np.arange(12.0), joint_velocity=np.full(12, 2.0))
    errors = np.where(np.arange(12) == 5, 15, 0)
    spoilt = replace(
        sound, joint_position=np.full(12, 7.0), joint_velocity=np.zeros(12), errors=errors
    )
    found = without_errors(spoilt, sound)
    assert found is not None
    assert found.joint_position.tolist() == [5.0 if joint == 5 else 7.0 for joint in range(12)]
    assert found.joint_velocity.tolist() == [2.0 if joint == 5 else 0.0 for joint in range(12)]
    assert without_errors(spoilt, None) is None
    assert without_errors(sound, None) is sound
