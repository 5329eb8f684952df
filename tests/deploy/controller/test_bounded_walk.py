"""A controller with a walk bound: walks end at the bound, like after a request to stop."""

from __future__ import annotations

from math import hypot, inf, nan

import pytest

from deploy.common.faults import Cause
from deploy.common.robot_constants import TICK
from deploy.common.state_machine import POWERED, ControllerState
from deploy.messages.lcm_link import Mode, Request
from tests.deploy.stage import Stage

from .moving import MovingEstimator, estimate


def bounded(distance: float | None, *motion: float) -> Stage:
    """Return a standing robot that walks with a given velocity [m/s, m/s, rad/s]."""
    stage = Stage(distance=distance)
    estimator = MovingEstimator()
    estimator.motion = estimate(*motion)
    stage.controller._estimator = estimator
    stage.ready()
    return stage


def ticks_walked(stage: Stage, most: int = 2000) -> int:
    """Walk until the walk is over; return the number of ticks."""
    for tick in range(most):
        if stage.state is not ControllerState.WALK:
            return tick
        stage.tick()
    raise AssertionError(f"still walking after {most} ticks")


@pytest.mark.parametrize(
    "motion", [(0.5,), (0.0, 0.5), (0.0, -0.5), (-0.3, 0.4), (0.5, 0.0, 0.1)], ids=str
)
def test_a_walk_ends_at_the_bound_as_by_a_stop(motion: tuple[float, ...]) -> None:
    """The walk may have any direction. Steps shrink, then the robot stands, without a fault."""
    stage = bounded(0.2, *motion)
    stage.tick(Request.WALK)
    took = ticks_walked(stage)
    assert took == pytest.approx(0.2 / hypot(*motion[:2]) / TICK, abs=2)
    assert stage.state is ControllerState.STAND
    assert (stage.commands[-1].mode, stage.commands[-1].skill) == (Mode.POLICY, -1)
    end = stage.controller.walk_end
    assert end is not None
    assert (end.distance, end.seconds) == (
        pytest.approx(0.2, abs=1e-3),
        pytest.approx(took * TICK, abs=2 * TICK),
    )
    begun = len(stage.commands)
    stage.tick()
    assert stage.controller.walk_end is None
    stage.until(ControllerState.READY)
    modes = [command.mode for command in stage.commands[begun:]]
    assert modes.index(Mode.MOVE) in (799, 800)  # as after a request to stop
    assert all(command.kp > 0.0 for command in stage.commands[begun:])
    assert stage.controller.fault is None


def test_a_new_walk_starts_at_zero() -> None:
    """The distance restarts after an end at the bound, and after a stop just before it."""
    stage = bounded(0.1999, 0.5)
    stage.tick(Request.WALK)
    first = ticks_walked(stage)
    for _ in range(2):
        stage.until(ControllerState.READY)
        stage.tick(Request.WALK)
        assert ticks_walked(stage) == first
    stage.until(ControllerState.READY)
    stage.tick(Request.WALK)
    stage.run(first - 10)
    stage.until(ControllerState.READY, Request.STOP)
    stage.tick(Request.WALK)
    assert ticks_walked(stage) == first


def test_another_skill_does_not_start_anew() -> None:
    """The bound is for the whole walk; a change of skills does not reset the distance."""
    stage = bounded(0.1999, 0.5)
    stage.tick(Request.WALK)
    first = ticks_walked(stage)
    stage.until(ControllerState.READY)
    stage.tick(Request.WALK)
    stage.run(200)
    stage.tick(Request.WALK, skill=3)
    assert ticks_walked(stage) == first - 201


def test_requests_to_walk_wait_until_the_robot_stands() -> None:
    """A held key does not prolong a walk."""
    stage = bounded(0.1999, 0.5)
    stage.tick(Request.WALK)
    ticks_walked(stage)
    for _ in range(700):
        stage.tick(Request.WALK)
        assert stage.state is ControllerState.STAND


def test_without_a_bound_the_robot_walks_on() -> None:
    """By default a walk has no bound."""
    stage = bounded(None, 0.5)
    stage.tick(Request.WALK)
    stage.run(1500)
    assert stage.state is ControllerState.WALK


@pytest.mark.parametrize("distance", [None, 5.0])
@pytest.mark.parametrize(
    ("number", "cause"),
    [(nan, Cause.POLICY_NOT_FINITE), (inf, Cause.TARGET_RATE), (-inf, Cause.TARGET_RATE)],
    ids=["nan", "inf", "-inf"],
)
@pytest.mark.parametrize("motion", [(), (0.5,), (0.5, 0.0)], ids=["forward", "sideways", "turning"])
def test_an_estimate_that_is_not_finite_never_walks_on(
    distance: float | None, motion: tuple[float, ...], number: float, cause: Cause
) -> None:
    """The safety latch damps at the next policy step, with and without a bound.

    The policy network turns infinity into a finite target, which jumps.
    """
    stage = bounded(distance, 0.5)
    stage.tick(Request.WALK)
    stage.run(100)
    assert stage.state is ControllerState.WALK
    stage.controller._estimator.motion = estimate(*motion, number)  # type: ignore[attr-defined]
    stage.run(25)
    assert stage.state not in POWERED
    assert stage.controller.fault is not None
    assert stage.controller.fault.cause is cause
