"""A terminal's keyboard as an operator's device."""

from __future__ import annotations

import errno
import os
import re
import select
import sys
import termios
import time
import tty
from typing import TYPE_CHECKING

import numpy as np

from deploy.common.state_machine import ControllerState
from deploy.messages.lcm_link import Request
from deploy.messages.operator_request import OperatorRequest
from solo_doi.common.errors import SoloError
from solo_doi.solo12.constants import Array

if TYPE_CHECKING:
    from typing import Self  # novm: not in Python 3.10, which robots' computers may have

KEY_REQUESTS = {
    "s": OperatorRequest(Request.STAND),
    "w": OperatorRequest(Request.WALK),
    "x": OperatorRequest(Request.STOP),
    "l": OperatorRequest(Request.SIT),
    " ": OperatorRequest(Request.DAMP),
    "r": OperatorRequest(Request.REARM),
    "q": OperatorRequest(Request.QUIT),
}
SKILL_KEYS = tuple("0123456789")
"""Keys that walk with a skill: ASCII digits only, not other digits such as a superscript two."""
VELOCITY_STEPS = {
    "i": (0.1, 0.0, 0.0),
    "k": (-0.1, 0.0, 0.0),
    "j": (0.0, 0.0, 0.1),
    "o": (0.0, 0.0, -0.1),
}
"""Changes of the velocity command [m/s, m/s, rad/s], for policies that take one."""
ESCAPE = re.compile(r"\x1b+(?:\[(?:\[[^ \x1b]?|[0-?]*[!-/]*[@-~]?)|O[0-9;]*[@-~]?|[^ \x1b]?)")
"""Escape sequence of a key without a letter (Delete, F5, Alt-s), complete or cut off.

It never contains a space, since the space key damps."""
CUT_OFF = re.compile(r"\x1b+(?:\[\[?[0-?]*[!-/]*|O[0-9;]*)?\Z")
"""Beginning of an escape sequence at the end of the input."""
CUT_OFF_SECONDS = 0.1
"""Time within which the rest of a cut-off escape sequence must arrive [s]."""


class Keyboard:
    """Keyboard as an operator's device: every key acts at once, without Enter."""

    can_rearm = True
    rearm_key = "r"
    help = (
        "s stand · w walk · 0-9 walk with that skill · x stop · l lie down · "
        "SPACE damp at once · r re-arm · q end\n"
        "i/k faster, slower · j/o turn left, right (policies that take commands only)"
    )

    def __init__(self) -> None:
        """Use standard input, which must be a terminal."""
        if not sys.stdin.isatty():
            raise SoloError("--operator keyboard needs a terminal. Use --operator script.")
        self.velocity: Array | None = np.zeros(3)
        self._incomplete = ""
        self._incomplete_until = 0.0
        self._walking = False

    def __enter__(self) -> Self:
        """Switch the terminal to single keys."""
        self._terminal_mode = termios.tcgetattr(sys.stdin)
        tty.setcbreak(sys.stdin)
        return self

    def __exit__(self, *exception: object) -> None:
        """Restore the terminal's mode."""
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._terminal_mode)

    def read(
        self, seconds: float, state: ControllerState | None
    ) -> tuple[list[OperatorRequest], bool]:
        """Return the requests of the next `seconds`; the operator of an open terminal is present.

        Raises:
            OSError: The terminal is closed.
        """
        if self._walking and state is not ControllerState.WALK:
            # The controller may have ended the walk; the next one starts at zero velocity.
            self.velocity = np.zeros(3)
        self._walking = state is ControllerState.WALK
        requests = []
        for key in self._keys(seconds):
            request = self.request_for_key(key)
            if request is not None:
                requests.append(request)
        return requests, True

    def request_for_key(self, key: str) -> OperatorRequest | None:
        """Return the request of a key; None for other keys."""
        if key in SKILL_KEYS:
            return OperatorRequest(Request.WALK, SKILL_KEYS.index(key))
        if key in VELOCITY_STEPS:
            if self.velocity is None:
                self.velocity = np.zeros(3)
            self.velocity = VELOCITY_STEPS[key] + self.velocity
            return OperatorRequest(Request.NOTHING)
        request = KEY_REQUESTS.get(key)
        if request is not None and request.request is not Request.WALK:
            # The next walk must not start with the velocity of the last one.
            self.velocity = np.zeros(3)
        return request

    def _keys(self, seconds: float) -> str:
        """Return the keys of the next `seconds`, without escape sequences."""
        deadline = time.monotonic() + seconds
        data = b""
        while (left := deadline - time.monotonic()) > 0:
            if select.select([sys.stdin], [], [], left)[0]:
                read = os.read(sys.stdin.fileno(), 64)
                if not read:
                    raise OSError(errno.EIO, "the terminal was closed")
                data += read
        return self._without_escapes(data.decode("utf-8", "replace"))

    def _without_escapes(self, keys: str) -> str:
        """Remove escape sequences, including those split between two reads."""
        now = time.monotonic()
        text = keys
        if now < self._incomplete_until:
            text = self._incomplete + keys
        if keys:
            self._incomplete_until = now + CUT_OFF_SECONDS
        cut_off = CUT_OFF.search(text)
        self._incomplete = ""
        if cut_off is not None:
            self._incomplete = cut_off[0]
        return ESCAPE.sub("", text)
