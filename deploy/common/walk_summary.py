"""Summary of a walk, measured by a simulator or estimated on board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .state_machine import ControllerState

FALL_TILT = 1.0
"""Tilt of the base above which a walking robot counts as fallen [rad]."""
STARTUP_SECONDS = 1.0
"""Acceleration phase at the start of a walk, left out of the mean velocity [s]."""
SHORTEST_WALK = STARTUP_SECONDS + 0.5
"""Shortest walk with a meaningful velocity: the startup and one stride of a slow skill [s]."""


@dataclass(frozen=True, kw_only=True)
class WalkSummary:
    """Figures of one walk, counted while a skill drives the motors."""

    walked_seconds: float
    """Time with a skill in control [s]."""
    distance: float
    """Length of the path on the ground [m]."""
    velocity: float
    """Mean forward velocity after the startup [m/s]."""
    falls: int
    """Number of falls."""
    energy: float
    """Mechanical energy of all joints [J]."""
    commanded: float | None = None
    """Mean commanded forward velocity after the startup; None if it is unknown [m/s]."""
    estimated: bool = False
    """True if the figures come from the onboard estimator, False if from a simulator."""

    def to_json(self) -> dict[str, Any]:
        """Return the content for JSON; optional figures only if they are set."""
        content: dict[str, Any] = {
            "walked_seconds": self.walked_seconds,
            "distance": self.distance,
            "velocity": self.velocity,
            "falls": self.falls,
            "energy": self.energy,
        }
        if self.commanded is not None:
            content["commanded"] = self.commanded
        if self.estimated:
            content["estimated"] = True
        return content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> WalkSummary:
        """Return the summary that `to_json` wrote."""
        return cls(**content)


def summarise_true_path(
    path: Sequence[Sequence[float]], history: Sequence[Mapping[str, Any]]
) -> WalkSummary:
    """Summarise the walk of a simulated robot.

    `path` has rows of time [s], base position [m], forward velocity [m/s], tilt [rad], belly
    contact and energy since the row before [J]. `history` has the controller's states with their
    start times.
    """
    rows = np.array(path, dtype=np.float64).reshape(-1, 8)
    intervals = _walking_intervals(history)
    walking = np.zeros(len(rows), dtype=bool)
    for begin, end in intervals:
        walking |= (rows[:, 0] >= begin) & (rows[:, 0] < end)
    first = min((begin for begin, _ in intervals), default=0.0)
    steady = walking & (rows[:, 0] >= first + STARTUP_SECONDS)
    velocity = 0.0
    if steady.any():
        velocity = float(rows[steady, 4].mean())
    walked = rows[walking]
    steps = np.hypot(*np.diff(walked[:, 1:3], axis=0).T)
    fallen = (walked[:, 5] > FALL_TILT) | (walked[:, 6] > 0.0)
    return WalkSummary(
        # A walk without an end was cut off, so its duration is unknown.
        walked_seconds=float(sum(end - begin for begin, end in intervals if end < np.inf)),
        distance=float(steps.sum()),
        velocity=velocity,
        falls=int(np.count_nonzero(np.diff(fallen.astype(int)) == 1)),
        energy=float(walked[:, 7].sum()),
    )


def _walking_intervals(history: Sequence[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """Return start and end of every walk [s]; the end is infinite if WALK is the last state."""
    intervals = []
    for index, entry in enumerate(history):
        if entry["state"] != ControllerState.WALK.name:
            continue
        end = np.inf
        if index + 1 < len(history):
            end = history[index + 1]["time"]
        intervals.append((entry["time"], end))
    return intervals
