"""Stalls of the computer: a state's age is judged without the controller's own lateness."""

from __future__ import annotations

from itertools import cycle

import pytest

from deploy.common.faults import Cause, Fault
from deploy.common.state_machine import ControllerState
from tests.deploy.stage import MS, Stage
from tests.deploy.stalls import PHASES, PLACES, Stall, StallingRig, all_stalls
from tests.sizes import size

LENGTHS = (0.010, 0.0105, 0.012, 0.0155, 0.018)
"""Lengths of stalls of the whole PC; the board's own watchdog allows 20 ms [s]."""
LARGEST_TILT = 0.15
"""Tilt of a robot that walks through stalls [rad]."""


def few_stalls() -> list[Stall]:
    """Return one stall at every place and phase, with the lengths in turn."""
    lengths = cycle(LENGTHS)
    return [Stall(place, phase, next(lengths)) for phase in PHASES for place in PLACES]


def test_stalls_of_the_pc_are_survived_at_every_phase() -> None:
    """The robot walks through stalls of 10 to 18 ms, wherever they meet the controller's tick."""
    stalls = size(few_stalls(), all_stalls(LENGTHS))
    rig = StallingRig(stalls, interval=size(0.13, 0.5)).run()
    assert rig.recorder.incidents == []
    assert rig.causes == set()
    assert rig.controller.state is ControllerState.WALK
    assert rig.endured == len(stalls)
    assert rig.loop.report.overruns >= len(stalls)
    assert rig.largest_tilt <= LARGEST_TILT


def test_stalls_of_the_controller_are_held() -> None:
    """The robot walks on while the robot process holds the last command, up to 50 ms."""
    places = [Stall(place, phase, 0.05, whole_pc=False) for place in PLACES for phase in PHASES]
    stalls = size(places[::3], places)
    rig = StallingRig(stalls, interval=size(0.3, 0.5)).run()
    assert rig.recorder.incidents == []
    assert rig.controller.state is ControllerState.WALK
    assert rig.endured == len(stalls)
    assert rig.process.gate.holds >= len(stalls)
    assert rig.largest_tilt <= LARGEST_TILT


def test_a_long_stall_of_the_controller_ends_on_the_ground() -> None:
    """After 100 ms: the command was held, the robot lies down by itself and is then damped."""
    rig = StallingRig([Stall(PLACES[0], 0.0, 0.1, whole_pc=False)], interval=1.0, after=4.0)
    found: list[Fault] = []
    process, tick = rig.process, rig.process.tick

    def watched(now: float | None = None) -> None:
        tick(now)
        if process.gate.fault is not None and process.gate.fault not in found:
            found.append(process.gate.fault)

    process.tick = watched  # type: ignore[method-assign]
    rig.run()
    assert [fault.cause for fault in found[:1]] == [Cause.COMMAND_STALE]
    assert found[0].value == pytest.approx(60.0, abs=1.5)
    assert len(found) == 1 or found[1].cause is Cause.OPERATOR_STOP
    assert rig.process.gate.holds == 1
    assert rig.landing_speed <= 0.15


@pytest.mark.parametrize("seconds", [0.025, 0.08])
def test_a_board_that_disarmed_is_named(seconds: float) -> None:
    """The cause is the stall of this computer; it is found in the first tick after waking."""
    rig = StallingRig([Stall(PLACES[-1], 0.0, seconds)], interval=0.5)
    found: list[tuple[float, Fault]] = []
    process, tick = rig.process, rig.process.tick

    def watched(now: float | None = None) -> None:
        tick(now)
        if process.gate.fault is not None and not found:
            found.append((rig.clock.now_ns() * 1e-9 - rig.woke_at, process.gate.fault))

    process.tick = watched  # type: ignore[method-assign]
    rig.run()
    after, fault = found[0]
    assert fault.cause is Cause.BOARD_DISARMED
    assert fault.value == pytest.approx(1000 * seconds, abs=2.0)
    assert after <= 0.005
    assert Cause.BOARD_DISARMED.name not in str(fault)
    assert "this computer stalled" in str(fault)
    assert not rig.moves_again


def stalled(stage: Stage, ticks: int, *, heard: bool) -> None:
    """Run a tick after a stall of the controller; `heard` if a new state has arrived."""
    stage.now_ns += ticks * MS
    stage.controller.on_late_ticks(ticks)
    stage.tick(heard=heard)


@pytest.fixture
def ready() -> Stage:
    """Return a robot that stands."""
    stage = Stage()
    stage.ready()
    return stage


def test_own_lateness_is_no_age_of_the_state(ready: Stage) -> None:
    """After a stall of 18 ms, the robot still has its ten milliseconds."""
    stalled(ready, 18, heard=False)
    for _ in range(8):
        assert ready.tick(heard=False).kp > 0.0
    for _ in range(2):
        ready.tick(heard=False)
    assert ready.controller.fault is not None
    assert ready.controller.fault.cause is Cause.STATE_STALE
    assert ready.controller.fault.value == pytest.approx(28.5, abs=0.6)


def test_lateness_before_a_state_does_not_count(ready: Stage) -> None:
    """A state that arrives after the stall becomes old as usual."""
    stalled(ready, 18, heard=True)
    for _ in range(9):
        assert ready.tick(heard=False).kp > 0.0
    for _ in range(2):
        ready.tick(heard=False)
    assert ready.controller.fault is not None
    assert ready.controller.fault.cause is Cause.STATE_STALE


def test_lateness_of_several_stalls_adds_up(ready: Stage) -> None:
    """Only ticks in which the controller ran count: three of them after two stalls."""
    stalled(ready, 8, heard=False)
    stalled(ready, 9, heard=False)
    assert ready.tick(heard=False).kp > 0.0
    assert ready.state is ControllerState.READY


def test_a_late_controller_refuses_states_from_the_future(ready: Stage) -> None:
    """Lateness only excuses old states."""
    ready.controller.on_late_ticks(18)
    message = ready.message()
    message.time_ns += 12 * MS
    ready.controller.on_robot_state(message)
    ready.tick(heard=False)
    assert ready.controller.fault is not None
    assert ready.controller.fault.cause is Cause.STATE_STALE
    assert ready.controller.fault.value < 0.0
