"""The keyboard: keys become requests, any input is safe, the terminal is restored."""

from __future__ import annotations

import os
import pty
import sys
import termios
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deploy.common.state_machine import ControllerState
from deploy.console.keyboard import KEY_REQUESTS, Keyboard
from deploy.messages.lcm_link import Request
from deploy.messages.operator_request import OperatorRequest, operator_message
from solo_doi.common.errors import SoloError

CONTROL = frozenset(b"\x03\x04\x0f\x11\x12\x13\x16\x17\x1a\x1c")
"""Bytes that the terminal itself handles: Ctrl-C and similar."""
PATIENCE = 60.0
"""Timeout for typed keys to arrive [s]."""


def read_all(keyboard: Keyboard, count: int) -> list[OperatorRequest]:
    """Read until `count` requests have come; a stalled host may need several reads."""
    deadline = time.monotonic() + PATIENCE
    requests: list[OperatorRequest] = []
    while len(requests) < count and time.monotonic() < deadline:
        requests += keyboard.read(0.05, None)[0]
    return requests


def test_keys_are_read_without_return_and_the_terminal_is_given_back(terminal: int) -> None:
    """Several keys in one read give one request each; unknown keys give none."""
    before = termios.tcgetattr(sys.stdin)
    with Keyboard() as keyboard:
        os.write(terminal, b"s2?x r")
        requests = read_all(keyboard, 5)
        assert keyboard.read(0.05, None) == ([], True)
        assert termios.tcgetattr(sys.stdin) != before
    assert termios.tcgetattr(sys.stdin) == before
    asked = [Request.STAND, Request.WALK, Request.STOP, Request.DAMP, Request.REARM]
    assert [one.request for one in requests] == asked
    assert requests[1].skill == 2


def test_velocity_keys_add_up(terminal: int) -> None:
    """Each key changes the velocity by 0.1 m/s or 0.1 rad/s."""
    keyboard = Keyboard()
    assert {keyboard.request_for_key(key) for key in "iiij"} == {OperatorRequest(Request.NOTHING)}
    np.testing.assert_allclose(keyboard.velocity, [0.3, 0.0, 0.1])


@pytest.mark.parametrize("key", ["x", "l", " ", "q", "s"])
def test_a_stop_ends_the_velocity_as_well(terminal: int, key: str) -> None:
    """The next walk must not start with the velocity of the last one."""
    keyboard = Keyboard()
    keyboard.request_for_key("i")
    keyboard.request_for_key(key)
    np.testing.assert_array_equal(keyboard.velocity, np.zeros(3))


def test_an_end_of_the_walk_ends_the_velocity_as_well(
    terminal: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller ended the walk; later velocity keys count for the next walk."""
    keyboard = Keyboard()
    typed = ["ii", "i", ""]
    monkeypatch.setattr(keyboard, "_keys", lambda _: typed.pop(0))
    keyboard.read(0.0, ControllerState.WALK)
    np.testing.assert_allclose(keyboard.velocity, [0.2, 0.0, 0.0])
    for _ in range(2):
        keyboard.read(0.0, ControllerState.STAND)
    np.testing.assert_allclose(keyboard.velocity, [0.1, 0.0, 0.0])


@given(st.text(max_size=20))
@example("²٣१")
def test_no_key_ends_the_program(keys: str) -> None:
    """Characters of any alphabet give valid requests with skills 0 to 9, or none."""
    keyboard = Keyboard.__new__(Keyboard)  # without a terminal
    keyboard.velocity = np.zeros(3)
    for one in map(keyboard.request_for_key, keys):
        if one is not None:
            assert -1 <= one.skill <= 9
            if one.request is not Request.QUIT:
                operator_message(one, 1, 5).encode()


def test_quitting_is_never_sent() -> None:
    """The console requests lying down instead, so the wire has one meaning per number."""
    with pytest.raises(ValueError, match="QUIT is not a request to the controller"):
        operator_message(OperatorRequest(Request.QUIT), 1, 5)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(min_size=1, max_size=60).filter(lambda data: not set(data) & CONTROL))
def test_no_bytes_end_the_program(terminal: int, data: bytes) -> None:
    """Bytes that are not text, or only part of a character, are accepted."""
    with Keyboard() as keyboard:
        os.write(terminal, data)
        assert keyboard.read(0.001, ControllerState.WALK)[1]


ESCAPES = {
    "delete": "\x1b[3~", "page up": "\x1b[5~", "f5": "\x1b[15~", "f5 of a console": "\x1b[[E",
    "shift f5": "\x1b[15;2~",
    "alt s": "\x1bs", "alt 3": "\x1b3", "up": "\x1b[A", "f1": "\x1bOP", "keypad 1": "\x1bOq",
    "alt up": "\x1b\x1b[A",
    "escape": "\x1b", "escape thrice": "\x1b\x1b\x1b",
}  # fmt: skip


@pytest.mark.parametrize("name", ESCAPES)
def test_a_key_without_a_letter_asks_for_nothing(
    name: str, terminal: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a key has no effect, complete or split between two reads.

    Keys before and after it count, and a space always damps.
    """
    whole = ESCAPES[name]
    # Constant time: the rest of a split key is never late, even on a slow host.
    monkeypatch.setattr("deploy.console.keyboard.time.monotonic", lambda: 100.0)
    for cut in range(1, len(whole) + 1):
        for after, asked in ((" x", [Request.DAMP, Request.STOP]), ("", [])):
            keyboard = Keyboard()
            read = [keyboard.request_for_key(key) for part in ("l" + whole[:cut],
            whole[cut:] + after)
                    for key in keyboard._without_escapes(part)]  # fmt: skip
            assert [one.request for one in read if one is not None] == [Request.SIT, *asked]
        assert [key for key in Keyboard()._without_escapes(f"{whole[:cut]} ") if key == " "] == [
            " "
        ]


@pytest.mark.parametrize("name", ESCAPES)
def test_a_key_without_a_letter_is_read_from_the_terminal(name: str, terminal: int) -> None:
    """The escape sequence gives no request; the keys after it count."""
    with Keyboard() as keyboard:
        os.write(terminal, f"{ESCAPES[name]} s".encode())
        asked = [one.request for one in read_all(keyboard, 2)]
    assert asked == [Request.DAMP, Request.STAND]


def test_escape_takes_no_later_key_with_it(terminal: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After 0.1 s an escape character is a key by itself, not the start of a sequence."""
    keyboard, now = Keyboard(), [100.0]
    monkeypatch.setattr("deploy.console.keyboard.time.monotonic", lambda: now[0])
    for seconds, letters in ((0.05, ""), (0.11, "x")):
        assert keyboard._without_escapes("\x1b") == ""
        now[0] += seconds / 2
        assert keyboard._without_escapes("") == ""
        now[0] += seconds / 2
        assert keyboard._without_escapes("x") == letters


@given(st.text(alphabet="\x1b[O0;~A !s\n", max_size=12))
def test_no_key_swallows_a_space(keys: str) -> None:
    """A space damps after any other key."""
    keyboard = Keyboard.__new__(Keyboard)
    keyboard._incomplete = ""
    keyboard._incomplete_until = 0.0
    assert keyboard._without_escapes(keys).count(" ") == keys.count(" ")


def test_a_terminal_that_is_gone_is_a_person_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed terminal is an error that ends the program, and the motors are damped."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        keyboard = Keyboard()
        os.close(ours)
        with pytest.raises(
            OSError, match="Errno 5"
        ):  # the system's error, or ours at the end of input
            keyboard.read(PATIENCE, None)


def test_the_end_of_the_input_is_a_terminal_that_is_gone(
    terminal: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of the input is an error; reading must not continue for ever."""
    with Keyboard() as keyboard:
        os.write(terminal, b"x")
        monkeypatch.setattr("deploy.console.keyboard.os.read", lambda *_: b"")
        with pytest.raises(OSError, match="closed"):
            keyboard.read(PATIENCE, None)


def test_every_key_is_in_the_help() -> None:
    """The help text lists every key."""
    for key in KEY_REQUESTS:
        assert {" ": "SPACE"}.get(key, f"{key} ") in Keyboard.help


def test_no_terminal_no_keyboard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal, the error names the script."""
    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        with pytest.raises(SoloError, match="needs a terminal"):
            Keyboard()
