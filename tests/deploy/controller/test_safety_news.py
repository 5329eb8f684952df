"""Checks of new robot states (finite, changing, few gaps), and debouncing of conditions."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from deploy.common.debounce import HoldTimer, RollingCount
from deploy.common.faults import Cause, Fault
from deploy.common.safety_config import SafetyConfig
from deploy.controller.safety import Safety
from tests.deploy.stage import sensors, with_joint

CONFIG = SafetyConfig()


# --- Debouncing ----------------------------------------------------------------------------------


def test_a_condition_is_a_fault_exactly_after_its_grace_period() -> None:
    """The time counts from the first violation; one good moment restarts it."""
    lasting = HoldTimer(0.125)
    assert [lasting.expired(True, time) for time in (1.0, 1.0625, 1.124, 1.125, 2.0)] == [
        False,
        False,
        False,
        True,
        True,
    ]
    assert not lasting.expired(False, 2.0)
    assert [lasting.expired(True, time) for time in (2.0, 2.124, 2.125)] == [False, False, True]


def test_a_grace_period_of_zero_is_immediate() -> None:
    """With a grace period of zero, the first violation is a fault."""
    assert HoldTimer(0.0).expired(True, 5.0)


def test_a_share_counts_the_last_hundred() -> None:
    """Twenty bad ticks are accepted, twenty-one are not, until one is a hundred ticks old."""
    share = RollingCount(20)
    assert not any(share.exceeded(1) for _ in range(20))
    assert share.exceeded(1)
    assert all(share.exceeded(0) for _ in range(79))
    assert share.count == 21
    assert not share.exceeded(0)
    assert share.count == 20
    for _ in range(100):
        share.exceeded(0)
    assert share.count == 0


def test_a_share_weighs_ticks_with_many_bad_things() -> None:
    """Thirty states lost at once count as thirty."""
    assert not RollingCount(30).exceeded(30)
    assert RollingCount(30).exceeded(31)


# --- Numbers -------------------------------------------------------------------------------------

MEASURED = (
    "joint_position",
    "joint_velocity",
    "joint_torque",
    "angular_velocity_b",
    "acceleration_b",
    "quaternion",
)


@pytest.mark.parametrize("number", [nan, inf, -inf])
@pytest.mark.parametrize("name", MEASURED)
def test_numbers_that_are_not_finite_are_found_anywhere(name: str, number: float) -> None:
    """This holds for every element of every array."""
    safety = Safety(CONFIG)
    good = sensors()
    assert safety.check_finite(good) is None
    for place in range(len(getattr(good, name))):
        bad = replace(good, **{name: with_joint(getattr(good, name), place, number)})
        assert safety.check_finite(bad) == Fault(Cause.STATE_NOT_FINITE)


def test_an_unknown_voltage_is_no_fault() -> None:
    """Most robots cannot measure it."""
    assert Safety(CONFIG).check_finite(sensors(voltage=nan)) is None


# --- News ----------------------------------------------------------------------------------------


def test_frozen_sensors_are_a_fault_after_twenty_milliseconds() -> None:
    """The numbers are exactly equal; a new time alone is not a change."""
    safety, still = Safety(CONFIG), sensors()
    found = [safety.check_news(replace(still, time=1.0 + k / 1024), 0) for k in range(23)]
    assert (
        found[:22] == [None] * 22
    )  # the first repetition, at 1/1024 s, starts the time: 20.5 of these ticks
    assert found[22] == Fault(Cause.STATE_FROZEN, 20.0)


@pytest.mark.parametrize("name", ["joint_velocity", "angular_velocity_b"])
def test_the_least_change_is_news(name: str) -> None:
    """One changed bit of one number is sufficient."""
    safety, still = Safety(CONFIG), sensors()
    for k in range(100):
        value = with_joint(getattr(still, name), 2, np.nextafter(0.1, k % 2))
        assert safety.check_news(replace(still, time=1.0 + k / 1000, **{name: value}), 0) is None


def test_positions_alone_are_no_news() -> None:
    """Positions may repeat; repeated velocities and gyroscope values indicate an old message."""
    safety, still = Safety(CONFIG), sensors()
    found = [
        safety.check_news(
            replace(still, time=1.0 + k / 1000, joint_position=still.joint_position + k), 0
        )
        for k in range(30)
    ]
    assert Fault(Cause.STATE_FROZEN, 20.0) in found


def test_lost_states_are_a_fault_beyond_a_third() -> None:
    """The value of the fault is the number of lost states."""
    safety = Safety(CONFIG)
    assert safety.check_news(sensors(1.001), 35) is None
    assert safety.check_news(sensors(1.002), 1) == Fault(Cause.STATE_GAP, 36)
    assert Safety(CONFIG).check_news(sensors(), 36) == Fault(Cause.STATE_GAP, 36)


def test_late_ticks_are_a_fault_beyond_a_fifth() -> None:
    """Twenty of the last hundred are accepted."""
    safety = Safety(CONFIG)
    assert not any(safety.check_timing(1) for _ in range(20))
    assert not safety.check_timing(0)
    assert safety.check_timing(1) == Fault(Cause.OVERRUN, 21)


def test_ticks_that_a_stall_left_out_are_counted() -> None:
    """One stall of fifteen ticks is accepted; a second one soon after is a fault."""
    safety = Safety(CONFIG)
    assert not safety.check_timing(15)
    assert not safety.check_timing(5)
    assert safety.check_timing(1) == Fault(Cause.OVERRUN, 21)
