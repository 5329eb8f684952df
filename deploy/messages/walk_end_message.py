"""End of a walk at its bound, and its message."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .generated import joint_command, walk_end
from .lcm_link import WALK_END_CHANNEL, blank


@dataclass(frozen=True)
class WalkEnd:
    """Estimated distance and duration of a walk when the controller ended it."""

    distance: float
    """Estimated distance from the place where the walk began; NaN if it is unknown [m]."""
    seconds: float
    """Duration of the walk [s]."""

    def __str__(self) -> str:
        """Return the reason for the end."""
        if not math.isfinite(self.distance):
            return f"distance unknown after {self.seconds:.1f} s"
        return f"distance reached: {self.distance:.2f} m in {self.seconds:.1f} s"


def walk_end_message(end: WalkEnd, command: joint_command) -> walk_end:
    """Return the message of an end, for LCM and logs; `command` is that of the same tick."""
    message = blank(WALK_END_CHANNEL)
    message.sequence = command.sequence
    message.time_ns = command.time_ns
    message.session = command.session
    message.distance = end.distance
    message.seconds = end.seconds
    return message


def walk_end_of(message: walk_end) -> WalkEnd:
    """Return the end of a walk in a message."""
    return WalkEnd(message.distance, message.seconds)
