"""The question before a real robot's motors are first switched on, whoever drives it afterwards."""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Callable

from solo_doi.common.errors import SoloError

QUESTION = (
    "The motors will be switched on: they align, the legs swing by up to 24 degrees, then fold, by themselves.\n"
    "Does it hang, legs free, joints near zero by your eye, all hands off, one at the power switch?\n"
    "ENTER: begin. Anything else ends here, and nothing moves.\n"
)
ENTER = (b"\n", b"\r")


def ask_before_bring_up(write: Callable[[str], object]) -> None:
    """Wait for Enter at the terminal.

    Raises:
        SoloError: Anything else was typed, or the terminal is gone.
    """
    # Enter that was pressed before the question, as for the command itself, means nothing.
    try:
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
        write(QUESTION)
        answer = os.read(
            sys.stdin.fileno(), 1024
        )  # one line: the terminal still gives lines, not keys
    except (OSError, termios.error):
        answer = b""
    if answer not in ENTER:
        raise SoloError(
            "Not agreed to: nothing was started, nothing has moved. Start again when the robot hangs free."
        )
