"""A Solo12 that is only looked at: motors stay off, whatever is commanded. For wiring, signs and IMU orientation."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from deploy.robots.robot import TICK, Sensors
from solo_doi.solo12.constants import NUM_JOINTS
from solo_doi.solo12.state import JointCommand

from .board import Board
from .motors import motors_off
from .sensors import sensors_of
from .session import Opening


class Observer:
    """Needs no calibration: joint angles count from where they were at power-up."""

    name = "solo12, motors off"
    paces = True

    def __init__(
        self, board: Board, clock: Callable[[], float] = time.monotonic, sensor_wait: float = 2 * TICK
    ) -> None:
        """Take a board that is not connected yet."""
        self._board, self._clock, self._wait = board, clock, sensor_wait
        self._opening: Opening | None = Opening(board)
        self._commanded = False

    def sense(self) -> Sensors | None:
        """Return what was measured in this tick; nothing if no news came in time."""
        if self._opening is not None:
            if self._opening.step():
                self._opening = None
            return None
        packet = self._board.receive(self._wait if self._commanded else 0.0)
        if packet is None:
            return None
        return sensors_of(
            packet,
            time=self._clock(),
            offset=np.zeros(NUM_JOINTS),
            follows=False,
            command_lag=self._board.command_lag,
        )

    def drive(self, command: JointCommand) -> None:
        """Keep the session alive with all motors off; the command is not looked at."""
        if self._opening is None:
            self._commanded = True
            self._board.send(motors_off())

    def close(self) -> None:
        """Stop talking."""
        self._board.close()
