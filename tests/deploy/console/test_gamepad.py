"""The gamepad: buttons give requests, sticks give velocities, a release damps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from deploy.common.state_machine import ControllerState
from deploy.console.gamepad import AXIS, BUTTONS, DAMP, DEAD_MAN, DROPPED, KEY, SYN, Gamepad
from deploy.messages.lcm_link import Mode, Request
from deploy.messages.operator_request import OperatorRequest
from tests.deploy.robots.process.bench import Bench
from tests.deploy.stage import Stage


@dataclass
class FakePad:
    """A gamepad with the interface of evdev."""

    events: list[Any]
    gone: bool = False
    down: set[int] = field(default_factory=set)
    stick: int = 0

    def grab(self) -> None:
        """Do nothing."""

    def ungrab(self) -> None:
        """Do nothing."""

    def absinfo(self, code: int) -> Any:  # an object with min and max
        """Return the range and position of a stick."""
        return type("Info", (), {"min": -100, "max": 100, "value": self.stick})

    def active_keys(self) -> list[int]:
        """Return the pressed buttons, independent of events."""
        return sorted(self.down)

    def read_one(self) -> Any:  # an event, or None
        """Return the next event."""
        if self.gone:
            raise OSError("No such device")
        if not self.events:
            return None
        told = self.events.pop(0)
        if told.type == KEY:
            (self.down.add if told.value else self.down.discard)(told.code)
        return told


def event(kind: int, code: int, value: int) -> Any:  # an object as evdev has it
    """Return an event."""
    return type("Event", (), {"type": kind, "code": code, "value": value})


def pressed(request: Request) -> Any:  # an object as evdev has it
    """Return the event of a request's button."""
    return event(KEY, next(code for code, one in BUTTONS.items() if one.request is request), 1)


def test_buttons_are_requests_when_they_go_down() -> None:
    """Releasing a button gives no request."""
    codes = list(BUTTONS)
    pad = FakePad([event(KEY, code, value) for code in codes for value in (1, 0)])
    requests, present = Gamepad(pad, dead_man=False).read(0.0, None)
    assert present
    assert requests == [BUTTONS[code] for code in codes]


def test_the_dead_mans_button_must_be_held() -> None:
    """Without it only a stop passes.

    With it all requests pass; after a release, damping is repeated.
    """
    pad = FakePad([])
    gamepad = Gamepad(pad, dead_man=True)
    assert gamepad.read(0.0, None) == ([], False)
    pad.events = [pressed(Request.WALK), pressed(Request.DAMP)]
    assert gamepad.read(0.0, None) == ([DAMP], False)
    pad.down.clear()
    pad.events = [event(KEY, DEAD_MAN, 1), pressed(Request.WALK)]
    assert gamepad.read(0.0, None) == ([OperatorRequest(Request.WALK)], True)
    pad.events = [pressed(Request.STOP), event(KEY, DEAD_MAN, 0)]
    for _ in range(3):
        assert gamepad.read(0.0, None) == ([DAMP], False)
        pad.events = [pressed(Request.REARM), pressed(Request.STAND)]
    pad.events = [event(KEY, DEAD_MAN, 1)]
    assert gamepad.read(0.0, None) == ([], True)
    assert "releasing it damps the motors at once" in gamepad.help


def test_a_short_release_is_a_release() -> None:
    """A release counts even if the button is pressed again before the next read.

    Buttons pressed in between have no effect.
    """
    pad = FakePad([event(KEY, DEAD_MAN, 1)])
    gamepad = Gamepad(pad, dead_man=True)
    gamepad.read(0.0, None)
    pad.events = [
        event(KEY, DEAD_MAN, 0),
        pressed(Request.REARM),
        event(KEY, DEAD_MAN, 1),
        pressed(Request.WALK),
    ]
    assert gamepad.read(0.0, None) == ([DAMP, OperatorRequest(Request.WALK)], True)


def test_a_release_counts_without_its_event() -> None:
    """The kernel drops events that are read late; after a new press, only new events count."""
    pad = FakePad([event(KEY, DEAD_MAN, 1)])
    gamepad = Gamepad(pad, dead_man=True)
    assert gamepad.read(0.0, None) == ([], True)
    pad.down.clear()
    pad.events = [event(SYN, DROPPED, 0)]
    for _ in range(3):
        assert gamepad.read(0.0, None) == ([DAMP], False)
    pad.down.add(DEAD_MAN)
    assert gamepad.read(0.0, None) == ([DAMP], False)


@pytest.mark.parametrize("dead_man", [False, True])
def test_the_damping_button_counts_without_its_event(dead_man: bool) -> None:
    """The request is repeated at every poll while the button is pressed."""
    pad = FakePad([event(KEY, DEAD_MAN, 1)])
    gamepad = Gamepad(pad, dead_man=dead_man)
    gamepad.read(0.0, None)
    pad.down.add(next(code for code, one in BUTTONS.items() if one is DAMP))
    assert gamepad.read(0.0, None) == ([DAMP], True)
    pad.events = [pressed(Request.DAMP)]
    assert gamepad.read(0.0, None) == ([DAMP], True)


def test_a_released_stick_is_zero_velocity_without_its_event() -> None:
    """After dropped events, the stick's position is polled."""
    pad = FakePad([event(AXIS, 1, -50)])
    gamepad = Gamepad(pad, dead_man=False)
    gamepad.read(0.0, None)
    np.testing.assert_allclose(gamepad.velocity, [0.5, 0.0, 0.0])
    pad.events = [event(SYN, DROPPED, 0)]
    gamepad.read(0.0, None)
    np.testing.assert_array_equal(gamepad.velocity, np.zeros(3))


def test_unplugging_the_gamepad_is_a_release() -> None:
    """Damping is repeated as long as the gamepad is missing."""
    pad = FakePad([event(KEY, DEAD_MAN, 1)])
    gamepad = Gamepad(pad, dead_man=True)
    gamepad.read(0.0, None)
    pad.gone = True
    for _ in range(3):
        assert gamepad.read(0.0, None) == ([DAMP], False)


def test_after_a_release_the_robot_rests_until_re_armed() -> None:
    """With the button held again, other buttons have no effect on controller and robot process."""
    pad, stage, bench = FakePad([event(KEY, DEAD_MAN, 1)]), Stage(), Bench()
    gamepad = Gamepad(pad, dead_man=True)

    def look(*events: Any) -> None:  # objects as evdev has them
        pad.events += events
        requests, _ = gamepad.read(0.0, None)
        for one in requests:
            bench.operator(one.request, age_ms=0)
            bench.send(bench.command())
            stage.tick(one.request)

    stage.walking()
    bench.send(bench.command())
    look(event(KEY, DEAD_MAN, 0))
    assert (stage.state, stage.commands[-1].kp, bench.gate.powered) == (
        ControllerState.DAMP,
        0.0,
        False,
    )
    look(
        event(KEY, DEAD_MAN, 1),
        *(pressed(request) for request in (Request.STAND, Request.WALK, Request.SIT)),
    )
    assert (stage.state, bench.gate.powered) == (ControllerState.DAMP, False)
    look(pressed(Request.REARM))
    assert (stage.state, bench.gate.powered) == (ControllerState.IDLE, False)
    bench.send(bench.command(mode=Mode.DAMP, kp=0.0))  # as the idle controller does
    bench.send(bench.command())
    assert bench.gate.powered


def test_a_released_dead_mans_button_is_a_velocity_of_zero() -> None:
    """The position of the stick has no effect until the button is held again."""
    pad = FakePad([event(KEY, DEAD_MAN, 1), event(AXIS, 1, -50)])
    gamepad = Gamepad(pad, dead_man=True)
    gamepad.read(0.0, None)
    np.testing.assert_allclose(gamepad.velocity, [0.5, 0.0, 0.0])
    pad.events = [event(KEY, DEAD_MAN, 0)]
    gamepad.read(0.0, None)
    np.testing.assert_array_equal(gamepad.velocity, np.zeros(3))


def test_a_stick_that_is_let_go_is_a_velocity_of_zero() -> None:
    """The earlier value has no effect."""
    gamepad = Gamepad(FakePad([event(AXIS, 1, -50), event(AXIS, 1, 0)]), dead_man=False)
    gamepad.read(0.0, None)
    np.testing.assert_array_equal(gamepad.velocity, np.zeros(3))


def test_sticks_set_velocities() -> None:
    """Half forwards is half of the maximum; the middle and its dead zone are zero."""
    gamepad = Gamepad(
        FakePad([event(AXIS, 1, -50), event(AXIS, 3, 5), event(AXIS, 99, 100)]), dead_man=False
    )
    gamepad.read(0.0, None)
    np.testing.assert_allclose(gamepad.velocity, [0.5, 0.0, 0.0])


def test_a_gamepad_that_is_pulled_out_is_silence() -> None:
    """The controller then damps."""
    assert Gamepad(FakePad([], gone=True), dead_man=False).read(0.0, None) == ([], False)
