"""What people hold: keys and buttons become wishes, whatever is typed; a real robot asks first; terminals come back."""

from __future__ import annotations

import os
import pty
import sys
import termios
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deploy.common.state_machine import ControllerState
from deploy.console.gamepad import AXIS, BUTTONS, DAMP, DEAD_MAN, DROPPED, KEY, SYN, Gamepad
from deploy.console.keyboard import KEYS, Guided, Keyboard
from deploy.messages.lcm_link import Request
from deploy.messages.operator_request import OperatorRequest, operator_message
from solo_doi.common.errors import SoloError
from tests.deploy.robots.process.test_robot_process import Bench
from tests.deploy.stage import Stage

CONTROL = frozenset(b"\x03\x04\x0f\x11\x12\x13\x16\x17\x1a\x1c")
"""What the terminal itself takes: Ctrl-C and its kin."""

# --- Keyboard ------------------------------------------------------------------------------------


def test_keys_are_read_without_return_and_the_terminal_is_given_back(terminal: int) -> None:
    """Several at once, each once; what has no meaning is left out."""
    before = termios.tcgetattr(sys.stdin)
    with Keyboard() as keyboard:
        os.write(terminal, b"s2?x r")
        wishes, present = keyboard.read(0.05, None)
        assert termios.tcgetattr(sys.stdin) != before
    assert termios.tcgetattr(sys.stdin) == before
    assert present
    asked = [Request.STAND, Request.WALK, Request.STOP, Request.DAMP, Request.REARM]
    assert [wish.request for wish in wishes] == asked
    assert wishes[1].skill == 2


def test_velocity_keys_add_up(terminal: int) -> None:
    """A tenth each, forwards and to the left."""
    keyboard = Keyboard()
    assert {keyboard.request_for_key(key) for key in "iiij"} == {OperatorRequest(Request.NOTHING)}
    np.testing.assert_allclose(keyboard.velocity, [0.3, 0.0, 0.1])


@pytest.mark.parametrize("key", ["x", "l", " ", "q", "s"])
def test_a_stop_ends_the_velocity_as_well(terminal: int, key: str) -> None:
    """The next walk does not begin with what the last one ended with."""
    keyboard = Keyboard()
    keyboard.request_for_key("i")
    keyboard.request_for_key(key)
    np.testing.assert_array_equal(keyboard.velocity, np.zeros(3))


@given(st.text(max_size=20))
@example("²٣१")
def test_no_key_ends_the_program(keys: str) -> None:
    """Whatever alphabet somebody types in: wishes that can be sent, of skills 0 to 9, or none."""
    keyboard = Keyboard.__new__(Keyboard)  # without a terminal
    keyboard.velocity = np.zeros(3)
    for wish in map(keyboard.request_for_key, keys):
        if wish is not None:
            assert -1 <= wish.skill <= 9
            if wish.request is not Request.QUIT:
                operator_message(wish, 1, 5).encode()


def test_quitting_is_never_sent() -> None:
    """The console requests lying down instead, so the wire has one meaning per number."""
    with pytest.raises(ValueError, match="QUIT is not a request to the controller"):
        operator_message(OperatorRequest(Request.QUIT), 1, 5)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(min_size=1, max_size=60).filter(lambda data: not set(data) & CONTROL))
def test_no_bytes_end_the_program(terminal: int, data: bytes) -> None:
    """Also such as are no text, or half a letter."""
    with Keyboard() as keyboard:
        os.write(terminal, data)
        assert keyboard.read(0.001, ControllerState.WALK)[1]


ESCAPES = {
    "delete": "\x1b[3~", "page up": "\x1b[5~", "f5": "\x1b[15~", "f5 of a console": "\x1b[[E", "shift f5": "\x1b[15;2~",
    "alt s": "\x1bs", "alt 3": "\x1b3", "up": "\x1b[A", "f1": "\x1bOP", "keypad 1": "\x1bOq", "alt up": "\x1b\x1b[A",
    "escape": "\x1b", "escape thrice": "\x1b\x1b\x1b",
}  # fmt: skip


@pytest.mark.parametrize("name", ESCAPES)
def test_a_key_without_a_letter_asks_for_nothing(name: str, terminal: int) -> None:
    """Neither whole nor in pieces; what is typed before and after it counts, and a space damps whatever is cut off."""
    whole = ESCAPES[name]
    for cut in range(1, len(whole) + 1):
        for after, asked in ((" x", [Request.DAMP, Request.STOP]), ("", [])):
            keyboard = Keyboard()
            read = [keyboard.request_for_key(key) for part in ("l" + whole[:cut], whole[cut:] + after)
                    for key in keyboard._letters(part)]  # fmt: skip
            assert [wish.request for wish in read if wish is not None] == [Request.SIT, *asked]
        assert [key for key in Keyboard()._letters(f"{whole[:cut]} ") if key == " "] == [" "]
    with Keyboard() as keyboard:
        os.write(terminal, f"{whole} s".encode())
        assert [wish.request for wish in keyboard.read(0.05, None)[0]] == [
            Request.DAMP,
            Request.STAND,
        ]


def test_escape_takes_no_later_key_with_it(terminal: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a moment it was a key of its own, not the beginning of another."""
    keyboard, now = Keyboard(), [100.0]
    monkeypatch.setattr("deploy.console.keyboard.time.monotonic", lambda: now[0])
    for seconds, letters in ((0.05, ""), (0.11, "x")):
        assert keyboard._letters("\x1b") == ""
        now[0] += seconds / 2
        assert keyboard._letters("") == ""
        now[0] += seconds / 2
        assert keyboard._letters("x") == letters


@given(st.text(alphabet="\x1b[O0;~A !s\n", max_size=12))
def test_no_key_swallows_a_space(keys: str) -> None:
    """Whatever comes before it, it damps."""
    keyboard = Keyboard.__new__(Keyboard)
    keyboard._begun, keyboard._begun_until = "", 0.0
    assert keyboard._letters(keys).count(" ") == keys.count(" ")


def test_a_terminal_that_is_gone_is_a_person_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closed, or its cable cut: whoever drove must be told, and ends everything, which damps."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        keyboard = Keyboard()
        os.close(ours)
        with pytest.raises(
            OSError, match="Errno 5"
        ):  # the system's, or ours where it only tells the end of input
            keyboard.read(0.01, None)


def test_the_end_of_the_input_is_a_terminal_that_is_gone(
    terminal: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a reason to look for ever."""
    with Keyboard() as keyboard:
        os.write(terminal, b"x")
        monkeypatch.setattr("deploy.console.keyboard.os.read", lambda *_: b"")
        with pytest.raises(OSError, match="closed"):
            keyboard.read(1.0, None)


# --- A script that asks --------------------------------------------------------------------------


class Told:
    """A guided walk on a clock of its own, and what it has written."""

    def __init__(self, terminal: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Plan two seconds with skill 2."""
        self._terminal, self.now, self.shown = terminal, 100.0, [""]
        self.guided = Guided((2,), 2.0, None, self.shown.append)
        monkeypatch.setattr("deploy.console.keyboard.time.monotonic", lambda: self.now)
        monkeypatch.setattr(self.guided, "_keys", lambda _: self.typed.pop(0) if self.typed else "")
        self.typed: list[str] = []

    def look(
        self, state: ControllerState | None, keys: str = "", seconds: float = 1.0
    ) -> list[OperatorRequest]:
        """What is asked for after some time in a state, with keys typed at its end."""
        self.guided.read(0.0, state)
        self.now += seconds
        self.typed = [keys]
        wishes, present = self.guided.read(0.0, state)
        assert present
        return wishes


@pytest.fixture
def told(terminal: int, monkeypatch: pytest.MonkeyPatch) -> Told:
    """A script for a real robot."""
    return Told(terminal, monkeypatch)


def test_a_real_robot_neither_stands_nor_walks_before_somebody_agrees(told: Told) -> None:
    """However long it takes; each question is asked once and says what will happen."""
    for state, words, wish in (
        (ControllerState.IDLE, "ENTER: the robot will stand up.", OperatorRequest(Request.STAND)),
        (
            ControllerState.READY,
            "the robot will walk 2 s with skill 2, stop, and lie down.",
            OperatorRequest(Request.WALK, 2),
        ),
    ):
        assert [told.look(state, seconds=9.0) for _ in range(3)] == [[], [], []]
        assert words in told.shown[-1]
        assert sum(words in shown for shown in told.shown) == 1
        assert told.look(state, "\n") == [wish]
        told.look(ControllerState.STAND)
    assert told.look(ControllerState.WALK, seconds=2.1) == [OperatorRequest(Request.STOP)]
    assert told.look(ControllerState.READY) == [OperatorRequest(Request.SIT)]
    assert told.look(ControllerState.IDLE, seconds=1.1) == [OperatorRequest(Request.QUIT)]


def test_enter_before_the_question_means_nothing(told: Told) -> None:
    """Nor does one Enter agree to two things, or to a second try."""
    assert told.look(ControllerState.IDLE, "\n\n") == []
    assert told.look(ControllerState.IDLE, "\n") == [OperatorRequest(Request.STAND)]
    assert (
        told.look(ControllerState.IDLE) == []
    )  # it was not granted, as motors are still aligned: asked again
    assert sum("stand up" in shown for shown in told.shown) == 2


def test_space_damps_whatever_was_asked(told: Told) -> None:
    """And q lies down; both win over Enter."""
    told.look(ControllerState.READY)
    assert told.look(ControllerState.READY, " \n") == [OperatorRequest(Request.DAMP)]
    assert told.look(ControllerState.WALK, "q") == [OperatorRequest(Request.QUIT)]


def test_nobody_re_arms_a_script_that_a_fault_broke_off(told: Told) -> None:
    """It ends by itself, and r means nothing, as the console says."""
    assert told.look(ControllerState.FAULT, "r", seconds=0.5) == []
    assert told.look(ControllerState.FAULT, seconds=1.1) == [OperatorRequest(Request.QUIT)]


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
    down: set[int] = field(default_factory=set)
    stick: int = 0

    def grab(self) -> None:
        """Nothing to do."""

    def ungrab(self) -> None:
        """Nothing to do."""

    def absinfo(self, code: int) -> Any:  # an object with min and max
        """A stick's range, and where it is."""
        return type("Info", (), {"min": -100, "max": 100, "value": self.stick})

    def active_keys(self) -> list[int]:
        """The buttons that are down, whatever was told of them."""
        return sorted(self.down)

    def read_one(self) -> Any:  # an event, or None
        """The next event."""
        if self.gone:
            raise OSError("No such device")
        if not self.events:
            return None
        told = self.events.pop(0)
        if told.type == KEY:
            (self.down.add if told.value else self.down.discard)(told.code)
        return told


def event(kind: int, code: int, value: int) -> Any:  # an object as evdev has it
    """An event."""
    return type("Event", (), {"type": kind, "code": code, "value": value})


def pressed(request: Request) -> Any:  # an object as evdev has it
    """The event of a request's button."""
    return event(KEY, next(code for code, wish in BUTTONS.items() if wish.request is request), 1)


def test_buttons_are_wishes_when_they_go_down() -> None:
    """And nothing when they come up."""
    codes = list(BUTTONS)
    pad = FakePad([event(KEY, code, value) for code in codes for value in (1, 0)])
    wishes, present = Gamepad(pad, dead_man=False).read(0.0, None)
    assert present
    assert wishes == [BUTTONS[code] for code in codes]


def test_the_dead_mans_button_must_be_held() -> None:
    """Without it only a stop gets through, at first in silence; with it everything; let go, it damps all the time."""
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
    assert "let go, motors are damped at once" in gamepad.help


def test_letting_go_for_a_moment_is_letting_go() -> None:
    """Although it is held again when somebody looks; what was pressed in between means nothing."""
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


def test_letting_go_counts_although_nobody_was_told() -> None:
    """The kernel drops events that are not read in time; held again, only a press that is told counts."""
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
def test_the_button_for_damping_counts_although_nobody_was_told(dead_man: bool) -> None:
    """Once per look, for as long as it is down."""
    pad = FakePad([event(KEY, DEAD_MAN, 1)])
    gamepad = Gamepad(pad, dead_man=dead_man)
    gamepad.read(0.0, None)
    pad.down.add(next(code for code, wish in BUTTONS.items() if wish is DAMP))
    assert gamepad.read(0.0, None) == ([DAMP], True)
    pad.events = [pressed(Request.DAMP)]
    assert gamepad.read(0.0, None) == ([DAMP], True)


def test_a_stick_that_is_let_go_is_a_velocity_of_zero_although_nobody_was_told() -> None:
    """Where events were dropped, it is looked at."""
    pad = FakePad([event(AXIS, 1, -50)])
    gamepad = Gamepad(pad, dead_man=False)
    gamepad.read(0.0, None)
    np.testing.assert_allclose(gamepad.velocity, [0.5, 0.0, 0.0])
    pad.events = [event(SYN, DROPPED, 0)]
    gamepad.read(0.0, None)
    np.testing.assert_array_equal(gamepad.velocity, np.zeros(3))


def test_who_pulls_out_the_gamepad_lets_go_of_it() -> None:
    """For as long as it is gone."""
    pad = FakePad([event(KEY, DEAD_MAN, 1)])
    gamepad = Gamepad(pad, dead_man=True)
    gamepad.read(0.0, None)
    pad.gone = True
    for _ in range(3):
        assert gamepad.read(0.0, None) == ([DAMP], False)


def test_after_letting_go_nothing_moves_before_a_person_re_arms() -> None:
    """Held again, all other buttons do nothing, to the controller as to the robot's own process."""
    pad, stage, bench = FakePad([event(KEY, DEAD_MAN, 1)]), Stage(), Bench()
    gamepad = Gamepad(pad, dead_man=True)

    def look(*events: Any) -> None:  # objects as evdev has them
        pad.events += events
        wishes, _ = gamepad.read(0.0, None)
        for wish in wishes:
            bench.operator(wish.request, age_ms=0)
            bench.send(bench.command())
            stage.tick(wish.request)

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
    assert (stage.state, bench.gate.powered) == (ControllerState.IDLE, True)


def test_a_released_dead_mans_button_is_a_velocity_of_zero() -> None:
    """Wherever the stick is; held again, the stick counts."""
    pad = FakePad([event(KEY, DEAD_MAN, 1), event(AXIS, 1, -50)])
    gamepad = Gamepad(pad, dead_man=True)
    gamepad.read(0.0, None)
    np.testing.assert_allclose(gamepad.velocity, [0.5, 0.0, 0.0])
    pad.events = [event(KEY, DEAD_MAN, 0)]
    gamepad.read(0.0, None)
    np.testing.assert_array_equal(gamepad.velocity, np.zeros(3))


def test_a_stick_that_is_let_go_is_a_velocity_of_zero() -> None:
    """Whatever it was before."""
    gamepad = Gamepad(FakePad([event(AXIS, 1, -50), event(AXIS, 1, 0)]), dead_man=False)
    gamepad.read(0.0, None)
    np.testing.assert_array_equal(gamepad.velocity, np.zeros(3))


def test_sticks_set_velocities() -> None:
    """Half forwards is half of the most; the middle is zero, a little beside it too."""
    gamepad = Gamepad(
        FakePad([event(AXIS, 1, -50), event(AXIS, 3, 5), event(AXIS, 99, 100)]), dead_man=False
    )
    gamepad.read(0.0, None)
    np.testing.assert_allclose(gamepad.velocity, [0.5, 0.0, 0.0])


def test_a_gamepad_that_is_pulled_out_is_silence() -> None:
    """The controller then damps."""
    assert Gamepad(FakePad([], gone=True), dead_man=False).read(0.0, None) == ([], False)
