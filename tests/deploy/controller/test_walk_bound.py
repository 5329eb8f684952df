"""Bound of a walk: dead reckoning against hand-computed paths, and ticks in which walks end."""

from __future__ import annotations

from math import cos, inf, isnan, nan, pi, sin, sqrt

import pytest

from deploy.common.robot_constants import TICK
from deploy.common.state_machine import ControllerState
from deploy.controller.walk_bound import DeadReckoning, WalkBound
from deploy.messages.walk_end_message import WalkEnd
from solo_doi.solo12.estimator import Estimate
from tests.deploy.stage import sensors

from .moving import estimate

START = 5.0
"""Robot's time at the start of a walk [s]."""


def reckoned(motion: Estimate, seconds: float, every: float = TICK) -> DeadReckoning:
    """Return the dead reckoning of a constant motion, with an estimate every `every` seconds."""
    reckoning = DeadReckoning(START)
    count = round(seconds / every)
    for number in range(1, count + 1):
        reckoning.update(motion, START + seconds * number / count)
    return reckoning


# --- Odometry ------------------------------------------------------------------------------------


def test_a_straight_line() -> None:
    """2 s at 0.75 m/s are 1.5 m ahead."""
    found = reckoned(estimate(0.75), 2.0)
    assert found.position == (pytest.approx(1.5), 0.0)
    assert found.distance == pytest.approx(1.5)
    assert found.seconds == pytest.approx(2.0)


def test_a_quarter_circle() -> None:
    """1 m/s at 0.5 rad/s is a circle of 2 m radius: a quarter ends 2 m ahead and 2 m left."""
    found = reckoned(estimate(1.0, turning=0.5), pi)
    assert found.position == (pytest.approx(2.0), pytest.approx(2.0))
    assert found.distance == pytest.approx(2.0 * sqrt(2.0))


def test_a_whole_circle_ends_where_it_began() -> None:
    """The path is 4 pi metres long, but the distance from the start is zero."""
    assert reckoned(estimate(1.0, turning=-0.5), 4 * pi).distance == pytest.approx(0.0, abs=1e-9)


def test_drift_sideways() -> None:
    """0.3 m/s ahead and 0.4 m/s to the right are 0.5 m/s in total."""
    found = reckoned(estimate(0.3, -0.4), 2.0)
    assert found.position == (pytest.approx(0.6), pytest.approx(-0.8))
    assert found.distance == pytest.approx(1.0)


def test_sideways_after_a_quarter_turn_is_backwards() -> None:
    """The robot turns left on the spot by 90 degrees, then moves 1 m to its left."""
    reckoning = DeadReckoning(0.0)
    reckoning.update(estimate(0.0, turning=0.5 * pi), 1.0)
    reckoning.update(estimate(0.0, 1.0), 2.0)
    assert reckoning.position == (pytest.approx(-1.0), pytest.approx(0.0, abs=1e-12))


@pytest.mark.parametrize("every", [TICK, 3 * TICK, 10 * TICK])
def test_skipped_ticks_count_by_the_robots_clock(every: float) -> None:
    """Skipped ticks must not lengthen the walk, neither on a line nor on an arc."""
    found = reckoned(estimate(1.0, turning=0.5), 2.0, every)
    assert found.position == (
        pytest.approx(2 * sin(1.0), abs=1e-5),
        pytest.approx(2 - 2 * cos(1.0), abs=1e-5),
    )


def test_a_clock_that_goes_back_counts_nothing() -> None:
    """No distance is added until the clock has reached its latest time again."""
    reckoning = DeadReckoning(START)
    for time in (START + 1.0, START + 0.5, START + 1.0):
        reckoning.update(estimate(1.0), time)
    assert (reckoning.distance, reckoning.seconds) == (pytest.approx(1.0), pytest.approx(1.0))


@pytest.mark.parametrize("number", [nan, inf, -inf])
@pytest.mark.parametrize("name", ["forward", "sideways", "turning", "time", "start"])
def test_a_number_that_is_not_finite_makes_the_position_unknown(name: str, number: float) -> None:
    """The position is NaN at once and stays NaN, without an exception."""
    reckoning = DeadReckoning(number if name == "start" else START)
    reckoning.update(estimate(0.5), START)
    motion = {"forward": 0.5, "sideways": 0.1, "turning": 0.2}
    time = START + TICK
    if name in motion:
        motion[name] = number
    elif name == "time":
        time = number
    reckoning.update(estimate(**motion), time)
    assert isnan(reckoning.distance)
    reckoning.update(estimate(0.5), START + 2 * TICK)
    assert all(map(isnan, reckoning.position))


def test_a_turn_beyond_all_numbers_makes_the_position_unknown() -> None:
    """Each turn rate is finite, but the sum of the angles overflows."""
    reckoning = DeadReckoning(0.0)
    for time in (1.0, 2.0, 3.0):
        reckoning.update(estimate(0.5, turning=1.5e308), time)
    assert isnan(reckoning.distance)


# --- Bound ---------------------------------------------------------------------------------------


def ends(bound: WalkBound, states: list[ControllerState], motion: Estimate) -> dict[int, WalkEnd]:
    """Return the ends of walks, by the number of their tick."""
    found = {}
    for tick, state in enumerate(states):
        end = bound.update(state, sensors(START + tick * TICK), motion)
        if end is not None:
            found[tick] = end
    return found


def test_only_walking_counts_and_every_walk_from_its_own_start() -> None:
    """At 0.5 m/s, 0.2 m are reached 400 ticks after the first tick of a walk."""
    walk, ready = [ControllerState.WALK], [ControllerState.READY]
    states = 700 * ready + 401 * walk + 50 * ready + 300 * walk + ready + 401 * walk
    found = ends(WalkBound(0.2 - 1e-9), states, estimate(0.5))
    assert list(found) == [1100, 1852]
    for end in found.values():
        assert (end.distance, end.seconds) == (pytest.approx(0.2), pytest.approx(0.4))


def test_there_is_no_end_without_a_bound_or_a_robot() -> None:
    """There is no end with the default bound None, or before the first robot state."""
    assert ends(WalkBound(None), 500 * [ControllerState.WALK], estimate(9.0)) == {}
    assert WalkBound(0.1).update(ControllerState.WALK, None, None) is None


@pytest.mark.parametrize("number", [nan, inf, -inf])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_unknown_distance_ends_the_walk(place: int, number: float) -> None:
    """The walk ends in the tick in which any velocity is not finite."""
    motion = [0.0, 0.0, 0.0]
    motion[place] = number
    found = WalkBound(2.0)
    assert found.update(ControllerState.WALK, sensors(START), estimate(0.5)) is None
    end = found.update(ControllerState.WALK, sensors(START + TICK), estimate(*motion))
    assert end is not None
    assert str(end) == "distance unknown after 0.0 s"


def test_the_reason_is_a_sentence() -> None:
    """The text has distance and duration."""
    assert str(WalkEnd(2.031, 2.14)) == "distance reached: 2.03 m in 2.1 s"
