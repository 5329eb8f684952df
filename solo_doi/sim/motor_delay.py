"""Motor lag: joint targets reach the motors a whole number of physics steps late."""

from __future__ import annotations

import numpy as np

from solo_doi.solo12.constants import NUM_JOINTS, Array


class TargetDelay:
    """Delay line from one target per control step to the target of every physics step."""

    def __init__(
        self, num_robots: int, physics_dt: float, decimation: int, longest_lag: float
    ) -> None:
        """Keep as many old targets as the longest lag needs."""
        self._physics_dt = physics_dt
        self._decimation = decimation
        self._depth = 1 + int(np.ceil(round(longest_lag / physics_dt) / decimation))
        self.history = np.zeros((num_robots, self._depth, NUM_JOINTS))  # newest first
        # Index into the history for each physics step.
        self.ages = np.zeros((num_robots, decimation), dtype=np.intp)
        self._robots = np.arange(num_robots)[:, None]

    def set_lag(self, robots: np.ndarray, lag: Array) -> None:
        """Set the lag of some robots [s], rounded to physics steps."""
        steps = np.rint(lag / self._physics_dt).astype(np.intp)[:, None]
        # A target given j control steps ago acts from physics step lag - j * decimation on.
        self.ages[robots] = np.maximum(
            0, -((np.arange(self._decimation) - steps) // self._decimation)
        )

    def reset(self, robots: np.ndarray, target: Array) -> None:
        """Drop old targets: motors of these robots hold `target` until the next one arrives."""
        self.history[robots] = target[:, None]

    def push(self, target: Array) -> Array:
        """Add a control step's target; return those of its physics steps, (N, decimation, 12)."""
        self.history[:, 1:] = self.history[:, :-1]
        self.history[:, 0] = target
        return self.history[self._robots, self.ages]

    def save(self) -> Array:
        """Return old targets, newest first, (N, depth, 12)."""
        return self.history.copy()

    def load(self, history: Array) -> None:
        """Continue from the result of `save`."""
        self.history[:] = history
