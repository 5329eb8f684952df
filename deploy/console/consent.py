"""Consent of the operator before a real robot's motors are first switched on."""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Callable

from solo_doi.common.errors import SoloError

QUESTION = (
    "The motors will be switched on and move by themselves: they align, "
    "the legs swing by up to 24 degrees, then fold.\n"
    "Does the robot hang with free legs and joints near zero? "
    "Hands off the robot, one hand at the power switch?\n"
    "ENTER: begin. Any other input ends here, and nothing moves.\n"
)
ENTER = (b"\n", b"\r")


def ask_before_bring_up(write: Callable[[str], object]) -> None:
    """Ask the question and wait for Enter at the terminal.

    Raises:
        SoloError: The answer was not Enter, or the terminal is closed.
    """
    try:
        # Discard input typed before the question, such as a second Enter after the command.
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
        write(QUESTION)
        # The terminal is still in line mode, so this reads one whole line.
        answer = os.read(sys.stdin.fileno(), 1024)
    except (OSError, termios.error):
        answer = b""
    if answer not in ENTER:
        raise SoloError(
            "Not agreed to: nothing was started, nothing has moved. "
            "Start again when the robot hangs free."
        )
