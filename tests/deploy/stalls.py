"""Stalls of the whole PC in simulated time, at every phase of the controller's tick."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from solo_doi.solo12.rotations import tilt

from .board_world import BoardRig

PLACES = (
    "before receiving",
    "after receiving",
    "at the request",
    "before publishing",
    "after publishing",
)
"""Places in the controller's tick. A stall after publishing is one while the loop sleeps."""
PHASES = (0.0, 0.00025, 0.0005, 0.00075)
"""Times from a place to the start of the stall, as fractions of a tick [s].

They decide whether controller or robot process wakes first.
"""


@dataclass(frozen=True)
class Stall:
    """One stall of robot process and controller together; the master board goes on."""

    place: str
    phase: float
    """[s]."""
    seconds: float
    whole_pc: bool = True
    """False if the robot process goes on."""


def all_stalls(lengths: Iterable[float]) -> list[Stall]:
    """Return a stall of each length [s] at every place and phase."""
    return [Stall(*found) for found in product(PLACES, PHASES, lengths)]


class StallingRig(BoardRig):
    """A robot behind a master board on a PC that stalls once per interval while it walks."""

    def __init__(self, stalls: list[Stall], *, interval: float, after: float = 0.0) -> None:
        """Stall as listed, one after another, every `interval` seconds of walking.

        The run goes on for `after` seconds.
        """
        self._stalls: Iterator[Stall] = iter(stalls)
        self._interval = interval
        self._next = 0.0
        self._due: Stall | None = None
        self.largest_tilt = 0.0
        self.endured = 0
        self.woke_at = 0.0
        super().__init__(StallingRig.begin, watch=interval * (len(stalls) + 1) + after)
        self.limit = 20.0 + interval * len(stalls)

    def begin(self) -> None:
        """Start to stall, and to record the true tilt."""
        link = self.links[1]
        self._wrap(link, "receive", "before receiving", "after receiving")
        self._wrap(link, "publish", "before publishing", "after publishing")
        self._wrap(self._script, "next_request", "at the request", "")
        self._next = self.clock.now_ns() * 1e-9 + self._interval

    def tick(self, now: float) -> None:
        """Advance board and robot process; record the tilt once stalls have begun."""
        super().tick(now)
        if self._next:
            motion = self.board.body.plant.motion()
            self.largest_tilt = max(self.largest_tilt, float(tilt(motion.base_quaternion)))

    def _wrap(self, owner: Any, name: str, before: str, after: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def wrapped(*arguments: Any, **options: Any) -> Any:
            self._stall_at(before)
            result = original(*arguments, **options)
            self._stall_at(after)
            return result

        setattr(owner, name, wrapped)

    def _stall_at(self, place: str) -> None:
        now = self.clock.now_ns() * 1e-9
        if self._due is None and now >= self._next:
            self._due = next(self._stalls, None)
            self._next = now + self._interval
        if self._due is None or self._due.place != place:
            return
        due = self._due
        self._due = None
        self.clock.sleep(due.phase)
        self.woke_at = self.clock.now_ns() * 1e-9 + due.seconds
        if due.whole_pc:
            self.stall(due.seconds)
        self.clock.sleep(due.seconds)
        self.endured += 1
