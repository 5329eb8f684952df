"""The robot's last line of defence: ages of commands and sensors, and missing messages."""

from __future__ import annotations

from dataclasses import replace
from math import inf, pi

import numpy as np
import pytest

from deploy.common.faults import Cause, Fault
from deploy.robots.process.gate import Gate
from deploy.robots.process.gate_config import GateConfig
from deploy.robots.process.lying_down import LIE_SECONDS
from solo_doi.solo12.rotations import from_rpy

from .test_gate import NOW, ZERO, command, powered, state


def test_a_command_expires_after_exactly_twenty_milliseconds() -> None:
    """A nanosecond before its expiry it is fresh, then it is held, which is counted."""
    gate = powered()
    for k in range(1, 20):
        assert gate.decide(state(NOW + k / 1000), NOW + k / 1000).kp == 5.0
    before = NOW + 0.020 - 1e-9
    assert gate.decide(state(before), before).kp == 5.0
    assert gate.holds == 0
    expiry = command().expires_ns * 1e-9
    assert gate.decide(state(expiry), expiry).kp == 5.0
    assert gate.holds == 1
    assert gate.fault is None


def held(gate: Gate, first: float, last: float) -> None:
    """Run ticks of a millisecond in which the command is held [s]."""
    now = first
    while now < last:
        assert gate.decide(state(now), now).kp == 5.0
        assert not gate.lies_down
        now += 0.001


def test_a_command_is_held_for_sixty_milliseconds() -> None:
    """Then the robot lies down by itself, and is damped in the end."""
    gate = powered()
    held(gate, NOW + 0.001, NOW + 0.0595)
    assert gate.fault is None
    assert gate.holds == 1
    now = NOW + 0.0601
    assert gate.decide(state(now), now).kp == 5.0
    assert gate.lies_down
    assert gate.fault == Fault(Cause.COMMAND_STALE, pytest.approx(60.1))
    while gate.decide(state(now), now).kp > 0.0:
        now += 0.001
    assert now - NOW == pytest.approx(0.060 + LIE_SECONDS, abs=0.003)
    assert not gate.powered


def test_a_fresh_command_ends_a_hold() -> None:
    """The next delay is another hold."""
    gate = powered()
    held(gate, NOW + 0.001, NOW + 0.055)
    gate.offer(command(NOW + 0.055))
    held(gate, NOW + 0.055, NOW + 0.110)
    assert gate.holds == 2
    assert gate.fault is None


def test_a_command_with_an_earlier_expiry_expires_then() -> None:
    """The hold begins, and ends, at its own expiry."""
    gate, named = Gate(), command(expires_ns=round((NOW + 0.0078125) * 1e9))
    gate.offer(named)
    assert gate.decide(state(), NOW).kp == 5.0
    expiry = named.expires_ns * 1e-9
    assert gate.decide(state(expiry - 1e-9), expiry - 1e-9).kp == 5.0
    assert gate.holds == 0
    held(gate, expiry, expiry + 0.0395)
    assert gate.holds == 1
    assert gate.decide(state(expiry + 0.0401), expiry + 0.0401).kp == 5.0
    assert gate.lies_down


def test_a_later_expiry_of_a_command_has_no_effect() -> None:
    """The robot uses its own clock.

    A controller that has ended cannot hold the motors by its last command.
    """
    gate = Gate()
    gate.offer(command(expires_ns=round((NOW + 3600) * 1e9)))
    assert gate.decide(state(), NOW).kp == 5.0
    held(gate, NOW + 0.001, NOW + 0.0595)
    later = NOW + 0.060 + 1e-9
    gate.decide(state(later), later)
    assert gate.lies_down
    assert gate.fault is not None
    assert gate.fault.cause is Cause.COMMAND_STALE


def test_fresh_commands_keep_the_motors() -> None:
    """The motors stay powered as long as commands arrive."""
    gate = powered()
    for k in range(1, 1000):
        now = NOW + k / 1000
        if k % 15 == 0:
            gate.offer(command(now))
        assert gate.decide(state(now), now).kp == 5.0


@pytest.mark.parametrize(("good", "bad"), [(59.999, 60.001), (-0.499, -0.501)])
def test_a_command_rests_on_a_measurement_of_late(good: float, bad: float) -> None:
    """A measurement older than 60 ms is refused, and so is one from the future.

    Motors would wait for the latter.
    """
    gate = Gate()
    gate.offer(command(observed_ns=round((NOW - good / 1000) * 1e9)))
    assert gate.decide(state(), NOW).kp == 5.0
    gate.offer(command(observed_ns=round((NOW - bad / 1000) * 1e9)))
    assert gate.decide(state(), NOW).kp == 0.0
    assert gate.fault == Fault(Cause.COMMAND_OBSERVED, pytest.approx(bad))
    gate.offer(command(NOW + 0.001))
    assert gate.decide(state(NOW + 0.001), NOW + 0.001).kp == 0.0  # latched


def test_the_measurement_behind_a_command_grows_old_while_it_is_followed() -> None:
    """The age is checked in every tick: 45 ms at arrival are too much 16 ms later."""
    gate = Gate()
    gate.offer(command(observed_ns=round((NOW - 0.045) * 1e9)))
    assert gate.decide(state(), NOW).kp == 5.0
    assert gate.decide(state(NOW + 0.014), NOW + 0.014).kp == 5.0
    assert gate.decide(state(NOW + 0.016), NOW + 0.016).kp == 0.0
    assert gate.fault == Fault(Cause.COMMAND_OBSERVED, pytest.approx(61.0))


def test_the_measurement_of_a_damping_command_has_no_effect() -> None:
    """A damping command is followed with any measurement time, without a fault."""
    gate = powered()
    gate.offer(command(mode=0, observed_ns=round(99 * NOW * 1e9)))
    assert gate.decide(state(NOW + 0.001), NOW + 0.001).kp == 0.0
    assert gate.fault is None


@pytest.mark.parametrize("sign", [1, -1])
def test_a_silent_operator_is_a_fault(sign: int) -> None:
    """The limit is 0.6 s; a heartbeat from the future does not count."""
    gate = Gate()
    gate.offer(command(heartbeat_ns=round((NOW - sign * 0.599999) * 1e9)))
    assert gate.decide(state(), NOW).kp == 5.0
    gate.offer(command(heartbeat_ns=round((NOW - sign * 0.600001) * 1e9)))
    assert gate.decide(state(), NOW).kp == 5.0
    assert gate.lies_down
    assert gate.fault is not None
    assert (gate.fault.cause, gate.fault.value) == (Cause.OPERATOR_SILENT, pytest.approx(600.001))


def test_the_operator_s_program_counts_and_not_the_controller() -> None:
    """An operator uses a separate program.

    The controller's heartbeat does not count then.
    """
    gate = Gate()
    gate.operator_time = NOW - 0.599999
    gate.offer(command(heartbeat_ns=0))
    assert gate.decide(state(), NOW).kp == 5.0
    gate.operator_time = NOW - 0.600001
    gate.offer(command())
    assert gate.decide(state(), NOW).kp == 5.0
    assert gate.lies_down
    assert gate.fault is not None
    assert (gate.fault.cause, gate.fault.value) == (Cause.OPERATOR_SILENT, pytest.approx(600.001))


def test_sensors_that_are_silent_are_a_fault() -> None:
    """The limit is 5 ms; a single tick without sensors is accepted."""
    gate = powered()
    for k in (1, 2, 3, 4, 4.999):
        assert gate.decide(None, NOW + k / 1000).kp == 5.0
    damped = gate.decide(None, NOW + 0.00501)
    assert damped.kp == 0.0
    assert np.isfinite(damped.position).all()
    assert gate.fault is not None
    assert (gate.fault.cause, gate.fault.value) == (Cause.SENSOR_STALE, pytest.approx(5.01))


@pytest.mark.parametrize("now", [0.001, 1.0, NOW])
def test_a_robot_without_a_first_measurement_is_not_moved(now: float) -> None:
    """This includes the first milliseconds of its clock."""
    gate = Gate()
    gate.offer(command(now))
    assert gate.decide(None, now).kp == 0.0
    assert gate.fault == Fault(Cause.SENSOR_STALE, inf)


def test_limits_of_time_are_exact_to_the_last_bit() -> None:
    """Operator, measurement, sensors and IMU have exactly their largest age.

    The numbers have no rounding errors.
    """
    gate = Gate(
        GateConfig(operator_age=0.5, observed_age=0.5, sensor_age=1 / 128, imu_frozen=1 / 128)
    )
    gate.offer(command(0.0, observed_ns=500_000))
    assert gate.decide(state(0.0), 0.0).kp == 5.0
    gate.offer(command(0.5, heartbeat_ns=0, observed_ns=0))
    assert gate.decide(state(0.5), 0.5).kp == 5.0
    gate.offer(command(0.5))
    assert gate.decide(None, 0.5 + 1 / 128).kp == 5.0
    assert gate.decide(replace(state(0.5), time=0.5 + 1 / 128), 0.5 + 1 / 128).kp == 5.0
    assert gate.fault is None


def test_old_news_is_no_news() -> None:
    """Sensors with an old time count as silent."""
    gate = powered()
    assert gate.decide(state(NOW), NOW + 0.00501).kp == 0.0
    assert gate.fault is not None
    assert gate.fault.cause is Cause.SENSOR_STALE


def test_a_damped_robot_has_none_of_these_faults() -> None:
    """A switched-off robot may be upside down and silent without needing a re-arm."""
    gate = Gate()
    for seen in (
        None,
        state(1.0, quaternion=from_rpy(pi, 0, 0), joint_velocity=ZERO + 99, voltage=1.0),
    ):
        assert gate.decide(seen, NOW + 99).kp == 0.0
    assert gate.fault is None


def test_clocks_have_their_place_in_the_order() -> None:
    """Torque, command, its measurement, operator and attitude come first.

    Age and numbers of the sensors and the battery follow.
    """
    late, tilted = NOW + 1.0, from_rpy(2.0, 0, 0)
    for changes, seen, cause in (
        (
            {"expires_ns": 0, "heartbeat_ns": 0, "kp": 9.0},
            {"joint_position": ZERO + 0.8},
            Cause.COMMAND_TORQUE,
        ),
        (
            {"expires_ns": 0, "observed_ns": 0, "heartbeat_ns": 0},
            {"quaternion": tilted},
            Cause.COMMAND_STALE,
        ),
        ({"observed_ns": 0, "heartbeat_ns": 0}, {"quaternion": tilted}, Cause.COMMAND_OBSERVED),
        ({"heartbeat_ns": 0}, {"quaternion": tilted}, Cause.OPERATOR_SILENT),
        ({}, {"quaternion": tilted}, Cause.TILT),
        ({}, {"voltage": 1.0}, Cause.SENSOR_STALE),
    ):
        gate = powered()
        gate.offer(command(late, **changes))
        gate.decide(state(**seen), late)
        assert gate.fault is not None
        assert gate.fault.cause is cause
