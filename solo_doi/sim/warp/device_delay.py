"""Motor lag on a device: targets are delayed where they are used."""

from __future__ import annotations

import numpy as np
import warp as wp

from solo_doi.sim.motor_delay import TargetDelay
from solo_doi.solo12.constants import NUM_JOINTS, Array

from . import kernels
from .device import RowUpload


class DeviceDelay(TargetDelay):
    """Delay line whose memory is on a device. The graph of a control step shifts it."""

    def __init__(
        self,
        num_robots: int,
        physics_dt: float,
        decimation: int,
        longest_lag: float,
        device: wp.Device,
    ) -> None:
        """Keep as many old targets as the longest lag needs."""
        super().__init__(num_robots, physics_dt, decimation, longest_lag)
        self.targets = wp.array(self.history, dtype=float, device=device)
        """Old targets, newest first, (N, depth, 12)."""
        self.age = wp.zeros((num_robots, decimation), dtype=int, device=device)
        """Index into `targets` for each physics step, (N, decimation)."""
        self._new_age = RowUpload(num_robots, decimation, device)
        self._new_target = RowUpload(num_robots, NUM_JOINTS, device)

    def set_lag(self, robots: np.ndarray, lag: Array) -> None:
        """Set the lag of some robots [s], rounded to physics steps."""
        super().set_lag(robots, lag)
        rows = self._new_age.send(robots, self.ages[robots])
        wp.launch(kernels.set_age, len(robots), [rows, self.age], device=self.age.device)

    def reset(self, robots: np.ndarray, target: Array) -> None:
        """Drop old targets: motors of these robots hold `target` until the next one arrives."""
        rows = self._new_target.send(robots, target)
        wp.launch(kernels.set_history, len(robots), [rows, self.targets], device=self.age.device)

    def push(self, target: Array) -> Array:
        """Return the new targets, (N, 1, 12): they are delayed on the device."""
        return target[:, None]

    def save(self) -> Array:
        """Return old targets, newest first, (N, depth, 12)."""
        return self.targets.numpy().astype(np.float64)

    def load(self, history: Array) -> None:
        """Continue from the result of `save`."""
        self.targets.assign(history.astype(np.float32))
