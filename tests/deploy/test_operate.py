"""The operator's side: keys and buttons become signed wishes; silence is noticed; the terminal comes back."""

from __future__ import annotations

import os
import pty
import sys
import termios
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from deploy.faults import Cause
from deploy.gamepad import AXIS, BUTTONS, DEAD_MAN, KEY, Gamepad
from deploy.keyboard import KEYS, Keyboard
from deploy.messages.wire import OPERATOR, STATUS, Request, blank
from deploy.operate import QUIT, operate
from deploy.operators import Wish, operator_message, wish_of
from deploy.state_machine import State
from solo_doi.errors import SoloError


@dataclass
class FakeLink:
    """A link that remembers what was sent, and answers with a status."""

    sent: list[Any] = field(default_factory=list)
    state: int = State.IDLE
    fault: int = 0
    robot_fault: int = 0

    def subscribe(self, channel: str, handler: Any) -> None:  # noqa: ANN401  # a function
        """Keep the console's handler."""
        assert channel == STATUS
        self._handler = handler

    def publish(self, channel: str, message: Any) -> None:  # noqa: ANN401  # generated classes have no types
        """Remember."""
        assert channel == OPERATOR
        self.sent.append(message)

    def receive(self) -> None:
        """Tell what the controller does."""
        status = blank(STATUS)
        status.state, status.fault, status.skill, status.robot_fault = self.state, self.fault, 2, self.robot_fault
        self._handler(status, b"")


class Keys:
    """A device whose wishes a test lists, one list per look."""

    help = "press something"

    def __init__(self, *looks: tuple[list[Wish], bool]) -> None:
        """Give these looks, then ask to end."""
        self._looks = [*looks, ([Wish(Request.SIT, QUIT)], True)]
        self.given_back = False

    def __enter__(self) -> Keys:
        """Be taken."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Remember that it was given back."""
        self.given_back = True

    def read(self, seconds: float) -> tuple[list[Wish], bool]:
        """Give the next look."""
        return self._looks.pop(0) if self._looks else ([], True)


def run(device: Keys, link: FakeLink) -> str:
    """Operate until the device ends it; return what was shown."""
    shown: list[str] = []
    operate(device, link, lambda: False, shown.append)  # type: ignore[arg-type]
    assert device.given_back
    return "".join(shown)


def test_wishes_are_sent_in_order_and_every_look_is_a_sign_of_life() -> None:
    """One number after the other, of one session, each with its expiry."""
    link = FakeLink()
    run(Keys(([Wish(Request.STAND), Wish(Request.WALK, 3)], True), ([], True)), link)
    assert [(sent.request, sent.skill) for sent in link.sent] == [
        (Request.STAND, -1), (Request.WALK, 3), (Request.NOTHING, -1), (Request.SIT, QUIT),
    ]  # fmt: skip
    assert [sent.sequence for sent in link.sent] == [1, 2, 3, 4]
    assert len({sent.session for sent in link.sent}) == 1
    assert all(sent.time_ns < sent.expires_ns <= sent.time_ns + 200_000_000 for sent in link.sent)


def test_who_is_not_there_sends_nothing() -> None:
    """A released dead man's button is silence, which the controller takes for a fault."""
    link = FakeLink()
    run(Keys(([], False), ([], False)), link)
    assert [sent.request for sent in link.sent] == [Request.SIT]


def test_the_console_says_what_happens() -> None:
    """In one line; a fault in words, with what to press."""
    shown: list[str] = []
    operate(Keys(), FakeLink(state=State.WALK), iter([False, True]).__next__, shown.append)  # type: ignore[arg-type]
    assert "skill 2  WALK  +0.00 m/s" in "".join(shown)
    assert "FAULT: the base is tilted by 0.00 rad  (r re-arms)" in run(
        Keys(([], True)), FakeLink(state=State.FAULT, fault=Cause.TILT)
    )


def test_the_console_names_the_robot_s_own_cause() -> None:
    """Who holds the keys must know whether to mend the robot or to wait."""
    link = FakeLink(state=State.FAULT, fault=Cause.ROBOT_FAULT, robot_fault=Cause.VOLTAGE)
    assert "FAULT: the robot damps by itself: the battery gives 0.0 V  (r re-arms)" in run(Keys(([], True)), link)


@pytest.mark.parametrize(("state", "fault"), [(7, 0), (-128, 0), (State.FAULT, 99), (State.FAULT, -1)])
def test_the_console_survives_any_status(state: int, fault: int) -> None:
    """Anybody can send one; a state that does not exist is not shown, a cause that does not exist is unknown."""
    shown: list[str] = []
    operate(Keys(), FakeLink(state=state, fault=fault), iter([False, True]).__next__, shown.append)  # type: ignore[arg-type]
    assert ("FAULT: a cause that this version does not know" in "".join(shown)) == (state == State.FAULT)


def test_a_message_keeps_a_wish() -> None:
    """Also one without a velocity, which is another than a velocity of zero."""
    for wish in (Wish(Request.WALK, 4), Wish(Request.NOTHING, velocity=np.array([0.1, 0.0, -0.2]))):
        found = wish_of(operator_message(wish, 1, 5))
        assert (found.request, found.skill) == (wish.request, wish.skill)
        np.testing.assert_equal(found.velocity, wish.velocity)


# --- Keyboard ------------------------------------------------------------------------------------


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: ANN401  # yields the other end
    """A terminal as standard input; gives its other end."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield ours
    os.close(ours)


def test_keys_are_read_without_return_and_the_terminal_is_given_back(terminal: int) -> None:
    """Several at once, each once; what has no meaning is left out."""
    before = termios.tcgetattr(sys.stdin)
    with Keyboard() as keyboard:
        os.write(terminal, b"s2?x r")
        wishes, present = keyboard.read(0.05)
        assert termios.tcgetattr(sys.stdin) != before
    assert termios.tcgetattr(sys.stdin) == before
    assert present
    asked = [Request.STAND, Request.WALK, Request.STOP, Request.DAMP, Request.REARM]
    assert [wish.request for wish in wishes] == asked
    assert wishes[1].skill == 2


def test_velocity_keys_add_up(terminal: int) -> None:
    """A tenth each, forwards and to the left."""
    keyboard = Keyboard()
    for key in "iiij":
        wish = keyboard.wish(key)
    assert wish is not None
    np.testing.assert_allclose(wish.velocity, [0.3, 0.0, 0.1])


def test_every_key_is_in_the_help() -> None:
    """Or nobody would find it."""
    for key in KEYS:
        assert {" ": "SPACE"}.get(key, f"{key} ") in Keyboard.help


def test_no_terminal_no_keyboard(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a script somebody must say so."""
    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        with pytest.raises(SoloError, match="needs a terminal"):
            Keyboard()


# --- Gamepad -------------------------------------------------------------------------------------


@dataclass
class FakePad:
    """A gamepad by evdev's names."""

    events: list[Any]
    gone: bool = False

    def grab(self) -> None:
        """Nothing to do."""

    def ungrab(self) -> None:
        """Nothing to do."""

    def absinfo(self, code: int) -> Any:  # noqa: ANN401  # an object with min and max
        """A stick's range."""
        return type("Info", (), {"min": -100, "max": 100})

    def read_one(self) -> Any:  # noqa: ANN401  # an event, or None
        """The next event."""
        if self.gone:
            raise OSError("No such device")
        return self.events.pop(0) if self.events else None


def event(kind: int, code: int, value: int) -> Any:  # noqa: ANN401  # an object as evdev has it
    """An event."""
    return type("Event", (), {"type": kind, "code": code, "value": value})


def test_buttons_are_wishes_when_they_go_down() -> None:
    """And nothing when they come up."""
    codes = list(BUTTONS)
    pad = FakePad([event(KEY, code, value) for code in codes for value in (1, 0)])
    wishes, present = Gamepad(pad, dead_man=False).read(0.0)
    assert present
    assert wishes == [BUTTONS[code] for code in codes]


def test_the_dead_mans_button_must_be_held() -> None:
    """Without it only a stop gets through; with it everything; released, silence again."""
    walk = next(code for code, wish in BUTTONS.items() if wish.request is Request.WALK)
    stop = next(code for code, wish in BUTTONS.items() if wish.request is Request.DAMP)
    pad = FakePad([event(KEY, walk, 1), event(KEY, stop, 1)])
    gamepad = Gamepad(pad, dead_man=True)
    assert gamepad.read(0.0) == ([Wish(Request.DAMP)], False)
    pad.events = [event(KEY, DEAD_MAN, 1), event(KEY, walk, 1)]
    assert gamepad.read(0.0) == ([Wish(Request.WALK)], True)
    pad.events = [event(KEY, DEAD_MAN, 0)]
    assert gamepad.read(0.0) == ([], False)


def test_sticks_set_velocities() -> None:
    """Half forwards is half of the most; the middle is zero, a little beside it too."""
    gamepad = Gamepad(FakePad([event(AXIS, 1, -50), event(AXIS, 3, 5), event(AXIS, 99, 100)]), dead_man=False)
    wishes, _ = gamepad.read(0.0)
    assert len(wishes) == 2
    np.testing.assert_allclose(wishes[-1].velocity, [0.5, 0.0, 0.0])


def test_a_gamepad_that_is_pulled_out_is_silence() -> None:
    """The controller then damps."""
    assert Gamepad(FakePad([], gone=True), dead_man=False).read(0.0) == ([], False)
