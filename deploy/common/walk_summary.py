"""What counts as walking, and as a fall."""

from __future__ import annotations

from typing import Any

import numpy as np

from .state_machine import State

FALL_TILT = 1.0
"""Tilt from which on a walking robot has fallen [rad]."""
START = 1.0
"""What the mean velocity leaves out: the robot starts from standing [s]."""
SHORTEST = START + 0.5
"""Walk from which on anybody can tell whether the robot walked: a stride of a slow skill more [s]."""


def walk_of(track: list[list[float]], history: list[dict[str, Any]]) -> dict[str, Any]:
    """What a virtual board's track tells of a walk: the same as a simulator's witness, looked at every ten ticks."""
    rows = np.array(track, dtype=np.float64).reshape(-1, 8)
    ends = [*(entry["time"] for entry in history), np.inf][1:]
    times = [
        (entry["time"], end)
        for entry, end in zip(history, ends, strict=True)
        if entry["state"] == State.WALK.name
    ]
    walking = np.zeros(len(rows), dtype=bool)
    for begin, end in times:
        walking |= (rows[:, 0] >= begin) & (rows[:, 0] < end)
    steady = walking & (rows[:, 0] >= min((begin for begin, _ in times), default=0.0) + START)
    steps = np.hypot(*np.diff(rows[walking][:, 1:3], axis=0).T)
    down = (rows[walking][:, 5] > FALL_TILT) | (rows[walking][:, 6] > 0.0)
    return {
        "walked_seconds": float(sum(end - begin for begin, end in times if end < np.inf)),
        "distance": float(steps.sum()),
        "velocity": float(rows[steady, 4].mean()) if steady.any() else 0.0,
        "falls": int(np.count_nonzero(np.diff(down.astype(int)) == 1)),
        "energy": float(rows[walking][:, 7].sum()),
    }
