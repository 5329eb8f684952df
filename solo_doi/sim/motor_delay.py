"""Motor lag: a joint target reaches the motor a whole number of physics steps after it was given."""

from __future__ import annotations

import numpy as np

from solo_doi.solo12.constants import NUM_JOINTS, Array


class TargetDelay:
    """Turns one target per control step into the target of every physics step, delayed per robot."""

    def __init__(
        self, num_robots: int, physics_dt: float, decimation: int, longest_lag: float
    ) -> None:
        """Keep as many old targets as the longest lag needs."""
        self._physics_dt = physics_dt
        self._decimation = decimation
        self._depth = 1 + int(np.ceil(round(longest_lag / physics_dt) / decimation))
        self.history = np.zeros((num_robots, self._depth, NUM_JOINTS))  # newest first
        self._age = np.zeros(
            (num_robots, decimation), dtype=np.intp
        )  # which old target each physics step uses
        self._robots = np.arange(num_robots)[:, None]

    def set_lag(self, robots: np.ndarray, lag: Array) -> None:
        """Set the lag of some robots [s], rounded to physics steps."""
        steps = np.rint(lag / self._physics_dt).astype(np.intp)[:, None]
        # A target given j control steps ago acts from physics step lag - j * decimation on.
        self._age[robots] = np.maximum(
            0, -((np.arange(self._decimation) - steps) // self._decimation)
        )

    def reset(self, robots: np.ndarray, target: Array) -> None:
        """Forget old targets: the motors of these robots hold `target` until a new one arrives."""
        self.history[robots] = target[:, None]

    def push(self, target: Array) -> Array:
        """Take the target of this control step, return those of its physics steps, (N, decimation, 12)."""
        self.history[:, 1:] = self.history[:, :-1]
        self.history[:, 0] = target
        return self.history[self._robots, self._age]
