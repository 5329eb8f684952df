"""Record of one run of the controller's loop."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from deploy.common.walk_summary import WalkSummary


class LoopEnd(Enum):
    """Regular reasons for the end of the loop; any other text in a report is a failure."""

    DONE = "done"
    """The operator or script has finished."""
    STOPPED = "stopped"
    """The loop was asked to end."""


@dataclass
class LoopReport:
    """History, timing and end of one run of the loop."""

    history: list[dict[str, Any]] = field(default_factory=list)
    """States of the controller, skills of its walks and ends at a bound, with their times."""
    faults: list[str] = field(default_factory=list)
    ticks: int = 0
    overruns: int = 0
    """Number of ticks that were late by more than a period."""
    skipped: int = 0
    """Number of ticks skipped after overruns."""
    malformed: int = 0
    forged: int = 0
    unsent: int = 0
    work: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Duration of the work in every tick: messages, estimate, checks, policy, log [s].

    In lock-step it excludes the decoding of messages, because receiving waits for the robot."""
    age: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Age of the robot's newest state in every tick [s]."""
    lateness: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Lateness of every tick [s]."""
    memory: dict[str, float] = field(default_factory=dict)
    """Memory of the process after the first minute and at the end [MB]."""
    walk: WalkSummary | None = None
    """Summary of the walk by onboard estimates; None until the loop has ended."""
    ended: str = ""
    """Reason for the end: a value of `LoopEnd`, or a sentence about the failure."""
