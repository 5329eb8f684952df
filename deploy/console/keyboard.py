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
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from deploy.common.state_machine import ControllerState
from deploy.messages.lcm_link import Request
from deploy.messages.operator_request import OperatorRequest
from deploy.operators.operators import STAND_UP, Script
from solo_doi.common.errors import SoloError
from solo_doi.solo12.constants import Array

if TYPE_CHECKING:
    from typing import Self  # novm: not in Python 3.10, which robots' computers may have

KEYS = {
    "s": OperatorRequest(Request.STAND),
    "w": OperatorRequest(Request.WALK),
    "x": OperatorRequest(Request.STOP),
    "l": OperatorRequest(Request.SIT),
    " ": OperatorRequest(Request.DAMP),
    "r": OperatorRequest(Request.REARM),
    "q": OperatorRequest(Request.QUIT),
}
SKILLS = tuple("0123456789")
"""Not every digit there is: people's keyboards have others, such as a raised two."""
STEP = {"i": (0.1, 0.0, 0.0), "k": (-0.1, 0.0, 0.0), "j": (0.0, 0.0, 0.1), "o": (0.0, 0.0, -0.1)}
"""Changes of the velocity command, for policies that take one."""
ESCAPE = re.compile(r"\x1b+(?:\[(?:\[[^ \x1b]?|[0-?]*[!-/]*[@-~]?)|O[0-9;]*[@-~]?|[^ \x1b]?)")
"""What a key without a letter sends (Delete, F5, Alt-s), whole or cut off; a space is never part of it, and damps."""
CUT_OFF = re.compile(r"\x1b+(?:\[\[?[0-?]*[!-/]*|O[0-9;]*)?\Z")
CUT_OFF_TIME = 0.1
"""How long the rest of such a key may be on its way [s]."""
WARNING = {
    True: "Motors damped, on its belly, feet beside it, rope slack?",
    False: "Standing well, way ahead free, somebody at the rope?",
}
"""What a person looks at before the robot stands up, and before it walks."""


class Keyboard:
    """Single keys, without Return."""

    can_rearm = True
    rearm_key = "r"

    help = (
        "s stand · w walk · 0-9 walk with that skill · x stop · l lie down · SPACE damp at once · r re-arm · q end\n"
        "i/k faster, slower · j/o turn left, right (policies that take commands only)"
    )

    def __init__(self) -> None:
        """Need a terminal."""
        if not sys.stdin.isatty():
            raise SoloError("--operator keyboard needs a terminal. Use --operator script.")
        self.velocity: Array | None = np.zeros(3)
        self._begun, self._begun_until = "", 0.0  # a key that was cut off

    def __enter__(self) -> Self:
        """Take keys as they come."""
        self._before = termios.tcgetattr(sys.stdin)
        tty.setcbreak(sys.stdin)
        return self

    def __exit__(self, *exception: object) -> None:
        """Give the terminal back."""
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)

    def read(
        self, seconds: float, state: ControllerState | None
    ) -> tuple[list[OperatorRequest], bool]:
        """Wait for keys for `seconds`; a person at a terminal is taken to be there.

        Raises:
            OSError: The terminal is gone.
        """
        return [
            wish for key in self._keys(seconds) if (wish := self.request_for_key(key)) is not None
        ], True

    def request_for_key(self, key: str) -> OperatorRequest | None:
        """Return what a key asks for; None for keys without a meaning."""
        if key in SKILLS:
            return OperatorRequest(Request.WALK, SKILLS.index(key))
        if key in STEP:
            self.velocity = STEP[key] + (np.zeros(3) if self.velocity is None else self.velocity)
            return OperatorRequest(Request.NOTHING)
        wish = KEYS.get(key)
        if wish is not None and wish.request not in (Request.WALK, Request.NOTHING):
            self.velocity = np.zeros(
                3
            )  # the next walk must not begin with what the last one ended with
        return wish

    def _keys(self, seconds: float) -> str:
        """Wait for keys for `seconds`; such as have no letter are left out."""
        deadline, keys = time.monotonic() + seconds, b""
        while (left := deadline - time.monotonic()) > 0:
            if select.select([sys.stdin], [], [], left)[0]:
                read = os.read(sys.stdin.fileno(), 64)
                if not read:
                    raise OSError(errno.EIO, "the terminal was closed")
                keys += read
        return self._letters(keys.decode("utf-8", "replace"))

    def _letters(self, keys: str) -> str:
        now = time.monotonic()
        begun = self._begun if now < self._begun_until else ""
        if keys:
            self._begun_until = now + CUT_OFF_TIME
        cut_off = CUT_OFF.search(begun + keys)
        self._begun = cut_off[0] if cut_off else ""
        return ESCAPE.sub("", begun + keys)


class Guided(Keyboard):
    """A script that a person begins, part by part: nothing moves before Enter was pressed for it.

    For bring-up it was before there was a robot process: see `consent`. Nobody re-arms it: a plan that a fault has
    broken off is over, and what comes next is another walk, with its own questions.
    """

    can_rearm = False
    rearm_key = ""
    help = "ENTER goes on, when asked · SPACE damp at once · q lie down and end"

    def __init__(
        self,
        skills: tuple[int, ...],
        seconds: float,
        velocity: Array | None,
        write: Callable[[str], object],
    ) -> None:
        """Plan a walk as `Script` does; questions are written to the terminal."""
        super().__init__()
        self.velocity = velocity
        self._script = Script(skills, seconds, velocity, may=self._agreed)
        self._write, self._asked, self._enter = write, "", False

    def read(
        self, seconds: float, state: ControllerState | None
    ) -> tuple[list[OperatorRequest], bool]:
        """Follow the plan as far as the person agrees."""
        keys = self._keys(seconds)
        asked = [KEYS[key] for key in keys if key in " q"]
        self._enter = any(key in "\r\n" for key in keys)
        if asked or state is None:
            return asked, True
        wish = self._script.next_request(state, time.monotonic())
        if self._script.done:
            return [KEYS["q"]], True
        return [] if wish.request is Request.NOTHING else [wish], True

    def _agreed(self, what: str) -> bool:
        """Whether Enter was pressed after the question was asked; what was typed before it means nothing."""
        if self._asked != what:
            self._asked = what
            self._write(f"\r\033[K{WARNING[what == STAND_UP]} ENTER: the robot will {what}.\n")
            return False
        self._asked = "" if self._enter else what
        return self._enter
