"""Stages of bring-up; see `bring_up`."""

from __future__ import annotations

from enum import Enum


class Stage(Enum):
    """Stages of bring-up, with their texts for the display."""

    CHECK = "reading sensors"
    ALIGN = "aligning rotors"
    SEARCH = "searching index pulses"
    SETTLE = "coming to rest"
    FOLD = "folding legs"
    DONE = "calibrated"
    FAILED = "failed"
