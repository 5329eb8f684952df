"""A terminal's keyboard as an operator's device."""

from __future__ import annotations

import os
import select
import sys
import termios
import time
import tty
from typing import TYPE_CHECKING

import numpy as np

from solo_doi.errors import SoloError

from .messages.wire import Request
from .operate import QUIT
from .operators import Wish

if TYPE_CHECKING:
    from typing import Self  # novm: not in Python 3.10, which robots' computers may have

KEYS = {
    "s": Wish(Request.STAND),
    "w": Wish(Request.WALK),
    "x": Wish(Request.STOP),
    "l": Wish(Request.SIT),
    " ": Wish(Request.DAMP),
    "r": Wish(Request.REARM),
    "q": Wish(Request.SIT, QUIT),
}
STEP = {"i": (0.1, 0.0, 0.0), "k": (-0.1, 0.0, 0.0), "j": (0.0, 0.0, 0.1), "o": (0.0, 0.0, -0.1)}
"""Changes of the velocity command, for policies that take one."""


class Keyboard:
    """Single keys, without Return."""

    help = (
        "s stand · w walk · 0-9 walk with that skill · x stop · l lie down · SPACE damp at once · r re-arm · q end\n"
        "i/k faster, slower · j/o turn left, right (policies that take commands only)"
    )

    def __init__(self) -> None:
        """Need a terminal."""
        if not sys.stdin.isatty():
            raise SoloError("--operator keyboard needs a terminal. Use --operator script.")
        self._velocity = np.zeros(3)

    def __enter__(self) -> Self:
        """Take keys as they come."""
        self._before = termios.tcgetattr(sys.stdin)
        tty.setcbreak(sys.stdin)
        return self

    def __exit__(self, *exception: object) -> None:
        """Give the terminal back."""
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)

    def read(self, seconds: float) -> tuple[list[Wish], bool]:
        """Wait for keys for `seconds`; a person at a terminal is taken to be there."""
        deadline, wishes = time.monotonic() + seconds, []
        while (left := deadline - time.monotonic()) > 0:
            if select.select([sys.stdin], [], [], left)[0]:
                keys = os.read(sys.stdin.fileno(), 64).decode("utf-8", "replace")
                wishes += [wish for key in keys if (wish := self.wish(key)) is not None]
        return wishes, True

    def wish(self, key: str) -> Wish | None:
        """Return what a key asks for; None for keys without a meaning."""
        if key.isdigit():
            return Wish(Request.WALK, int(key))
        if key in STEP:
            self._velocity = self._velocity + STEP[key]
            return Wish(Request.NOTHING, velocity=self._velocity)
        return KEYS.get(key)
