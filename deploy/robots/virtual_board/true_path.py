"""True path of the simulated robot, for reports of dry runs; it is not sent to the PC."""

from __future__ import annotations

import time

import numpy as np

from deploy.common.robot_constants import TICK
from solo_doi.solo12.rotations import tilt

from .master_board import BoardState, MasterBoard

EVERY = 10
"""Number of ticks between two rows."""


class TruePath:
    """Recorder of the true path of a board's robot.

    Each row is time [s], base position [m], forward velocity [m/s], tilt [rad], belly contact,
    energy since the row before [J].
    """

    def __init__(self, board: MasterBoard, *, lock_step: bool) -> None:
        """Record the robot of a board; times are on the clock of the PC."""
        self._board = board
        self._lock_step = lock_step
        self._seen = 0
        self.rows: list[list[float]] = []
        self.obeyed_at: np.ndarray | None = None
        """Joint positions while the PC last had control; afterwards the motors are off [rad]."""

    def update(self) -> None:
        """Add a row if it is due."""
        if self._board.ticks < self._seen + EVERY:
            return
        passed = self._board.ticks - self._seen
        self._seen = self._board.ticks
        plant = self._board.body.plant
        motion = plant.motion()
        if self._board.state is BoardState.ACTIVE:
            self.obeyed_at = motion.joint_position.copy()
        now = time.monotonic()
        if self._lock_step:
            now = self._board.sensors_sent * TICK
        velocity = float(motion.linear_velocity_b[0])
        angle = tilt(motion.base_quaternion)
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
