"""Frozen encoders and hot motors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deploy.common.faults import Cause
from deploy.common.sensors import Sensors
from deploy.robots.process.joint_watch import (
    FROZEN_SECONDS,
    FROZEN_TORQUE,
    HEAT_SECONDS,
    FrozenEncoders,
    MotorHeat,
)
from solo_doi.solo12.constants import JOINT_NAMES, NUM_JOINTS
from solo_doi.solo12.limits import SAFETY_LIMITS, TORQUE_PER_AMPERE, VENDOR_CURRENT
from tests.deploy.board_world import BoardRig
from tests.deploy.stage import sensors, with_joint
from tests.deploy.world import Rig
from tests.sizes import size

ZERO = np.zeros(NUM_JOINTS)
REST = np.full(NUM_JOINTS, 0.1)
CEILING = 0.3
"""Longest time from a frozen encoder to the fault while walking [s]."""


def frozen(changes: dict[int, float], seconds: float, position: float = 0.1) -> Any:
    """Return the fault after a time in which joint 4 rests; `changes` are torques by tick."""
    watch = FrozenEncoders()
    fault = None
    wanted = ZERO
    for tick in range(round(seconds * 1000)):
        wanted = with_joint(wanted, 4, changes.get(tick, wanted[4]))
        moving = REST + 0.001 * (tick % 2)
        fault = fault or watch.check(with_joint(moving, 4, position), wanted, 1.0 + tick / 1000)
    return fault


def test_a_joint_that_ignores_its_torque_is_frozen() -> None:
    fault = frozen({50: FROZEN_TORQUE + 0.01}, 0.05 + FROZEN_SECONDS + 0.003)
    assert (fault.cause, fault.joint) == (Cause.ENCODER_FROZEN, 4)
    assert frozen({50: FROZEN_TORQUE + 0.01}, 0.05 + FROZEN_SECONDS - 0.003) is None


def test_a_torque_that_returns_does_not_excuse_it() -> None:
    assert frozen({50: FROZEN_TORQUE + 0.01, 60: 0.0}, 0.3) is not None


def test_a_joint_at_rest_is_not_frozen() -> None:
    assert frozen({}, 1.0) is None
    assert frozen({50: FROZEN_TORQUE}, 1.0) is None


def test_a_joint_that_moves_an_encoder_step_is_not_frozen() -> None:
    watch = FrozenEncoders()
    for tick in range(1000):
        position = REST + 0.0001 * (tick // 100)
        assert watch.check(position, np.full(NUM_JOINTS, 0.5 * (tick // 100)), tick / 1000) is None


def test_a_joint_at_its_mechanical_stop_is_not_frozen() -> None:
    assert frozen({50: 2.0}, 1.0, SAFETY_LIMITS.position[4] + 0.01) is None


def with_current(current: float, joint: int = 7) -> Sensors:
    """Return sensors with one current [A]."""
    return sensors(joint_torque=with_joint(ZERO, joint, current * TORQUE_PER_AMPERE))


def test_the_vendors_current_is_allowed_for_ever() -> None:
    heat = MotorHeat()
    for _ in range(60_000):
        heat.update(with_current(VENDOR_CURRENT - 0.01))
    assert heat.fault() is None


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_saturated_motor_is_too_hot_after_some_seconds(sign: float) -> None:
    """11.1 A are twice the heat of 8 A: allowed for 0.73 time constants."""
    heat = MotorHeat()
    ticks = 0
    while heat.fault() is None:
        heat.update(with_current(sign * 11.11))
        ticks += 1
    assert ticks / 1000 == pytest.approx(0.731 * HEAT_SECONDS, rel=0.01)
    fault = heat.fault()
    assert fault is not None
    assert (fault.cause, fault.joint) == (Cause.MOTOR_HOT, 7)
    assert fault.value == pytest.approx(VENDOR_CURRENT, abs=0.01)


def test_a_motor_cools_down() -> None:
    heat = MotorHeat()
    for _ in range(5):
        for _ in range(2000):
            heat.update(with_current(11.11))
        assert heat.fault() is None
        for _ in range(8000):
            heat.update(with_current(0.0))


def freeze(joint: int, rig: Rig) -> None:
    """Freeze the position of a joint; its velocity shows what drivers report at rest."""
    sense = rig.body.sense
    held: list[float] = []

    def frozen_sense() -> Sensors | None:
        measured: Sensors | None = sense()
        if measured is None:
            return None
        held.append(float(measured.joint_position[joint]))
        return replace(
            measured,
            joint_position=with_joint(measured.joint_position, joint, held[0]),
            joint_velocity=with_joint(measured.joint_velocity, joint, 0.0057),
        )

    rig.body.sense = frozen_sense


@pytest.mark.parametrize("joint", range(NUM_JOINTS))
def test_every_frozen_encoder_is_found_while_walking(joint: int) -> None:
    """Behind the board and in PyBullet, with two skills in the complete tests."""
    for skill in size((4,), (2, 4)):
        for kind in size((BoardRig,), (BoardRig, Rig)):
            rig = kind(lambda rig: freeze(joint, rig), watch=0.5, skill=skill, after=0.5)
            rig.run()
            assert rig.reacted_after is not None
            assert rig.reacted_after <= CEILING
            assert f"the encoder of {JOINT_NAMES[joint]}" in rig.recorder.incidents[0]
