"""Where the simulated robot truly was, for reports of dry runs; no PC is ever told."""

from __future__ import annotations

import time

from deploy.robots.robot import TICK
from solo_doi.solo12.rotations import tilt

from .board import MasterBoard

EVERY = 10
"""Ticks between two rows."""


class Track:
    """Rows of time [s], base position [m], forward velocity [m/s] and tilt [rad]."""

    def __init__(self, board: MasterBoard, *, lock_step: bool) -> None:
        """Follow a board; times are those its PC knows."""
        self._board, self._lock_step = board, lock_step
        self._seen = 0
        self.rows: list[list[float]] = []

    def look(self) -> None:
        """Add a row if it is time for one."""
        if self._board.ticks < self._seen + EVERY:
            return
        self._seen = self._board.ticks
        motion = self._board.body.plant.motion()
        now = self._board.told * TICK if self._lock_step else time.monotonic()
        velocity, angle = float(motion.linear_velocity_b[0]), tilt(motion.base_quaternion)
        self.rows.append([now, *motion.base_position_w.tolist(), velocity, angle])
