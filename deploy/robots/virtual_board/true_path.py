"""Where the simulated robot truly was, for reports of dry runs; no PC is ever told."""

from __future__ import annotations

import time

import numpy as np

from deploy.common.robot_constants import TICK
from solo_doi.solo12.rotations import tilt

from .master_board import BoardState, MasterBoard

EVERY = 10
"""Ticks between two rows."""


class TruePath:
    """Rows of time [s], base position [m], forward velocity [m/s], tilt [rad], belly on ground or not, energy [J]."""

    def __init__(self, board: MasterBoard, *, lock_step: bool) -> None:
        """Follow a board; times are those its PC knows."""
        self._board, self._lock_step = board, lock_step
        self._seen = 0
        self.rows: list[list[float]] = []
        self.obeyed_at: np.ndarray | None = None
        """Joint positions [rad] while the PC was last obeyed: when it has left, the motors let go."""

    def update(self) -> None:
        """Add a row if it is time for one."""
        if self._board.ticks < self._seen + EVERY:
            return
        passed, self._seen = self._board.ticks - self._seen, self._board.ticks
        plant = self._board.body.plant
        motion = plant.motion()
        if self._board.state is BoardState.ACTIVE:
            self.obeyed_at = motion.joint_position.copy()
        now = self._board.sensors_sent * TICK if self._lock_step else time.monotonic()
        velocity, angle = float(motion.linear_velocity_b[0]), tilt(motion.base_quaternion)
        energy = plant.power * passed * TICK
        self.rows.append(
            [
                now,
                *motion.base_position_w.tolist(),
                velocity,
                angle,
                plant.belly_on_ground(),
                energy,
            ]
        )
