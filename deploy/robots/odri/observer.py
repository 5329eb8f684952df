"""A Solo12 that is only looked at: motors stay off, whatever is commanded. For wiring, signs and IMU orientation."""

from __future__ import annotations

import numpy as np

from deploy.robots.robot import Sensors
from solo_doi.solo12.constants import NUM_JOINTS
from solo_doi.solo12.state import JointCommand

from .board import Board
from .motors import motors_off
from .sensors import sensors_of
from .session import Session


class Observer:
    """Needs no calibration: joint angles count from where they were at power-up."""

    name = "solo12, motors off"
    paces = True

    def __init__(self, board: Board, *, lock_step: bool = False) -> None:
        """Take a board that is not connected yet."""
        self._session = Session(board, lock_step=lock_step)

    @property
    def time(self) -> float:
        """The robot's clock [s]."""
        return self._session.now

    def sense(self) -> Sensors | None:
        """Return what was measured in this tick; nothing if no news came in time."""
        session = self._session
        if not session.is_open:
            session.open()
            return None
        packet = session.receive()
        if packet is None:
            return None
        lag = session.board.command_lag
        return sensors_of(packet, time=session.time, offset=np.zeros(NUM_JOINTS), follows=False, command_lag=lag)

    def drive(self, command: JointCommand, observed: float) -> float:
        """Keep the session alive with all motors off; the command is not looked at."""
        if self._session.is_open:
            self._session.send(motors_off())
        return observed

    def close(self) -> None:
        """Stop talking."""
        self._session.board.close()
