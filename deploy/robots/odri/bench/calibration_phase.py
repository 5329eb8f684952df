"""Phases of a calibration, and the instructions to the operator; see `calibrator`."""

from __future__ import annotations

from enum import Enum

PLACE_WORDS = (
    "Hang the robot up so that no leg touches anything. Put all twelve joints to zero, every leg "
    "straight down, best with the calibration tool. Hands off, then press Enter: the legs will "
    "move.",
    "Put all joints to zero once more: the second measurement is compared with the first. "
    "Hands off, then press Enter.",
)
SHOW_WORDS = (
    "All four legs must now be folded alike, hips straight, feet below the body. "
    "Press Enter if so, Ctrl-C if not."
)


class Phase(Enum):
    """Phases of a calibration, with their texts for the display."""

    CONNECT = "waiting for the master board"
    PLACE = "motors off: joints are put to zero"
    MEASURE = "measuring"
    SHOW = "legs folded"
    RELAX = "motors damped"
    DONE = "done"
    FAILED = "ended: motors damped or off"
