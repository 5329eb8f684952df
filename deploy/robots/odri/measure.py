"""Measure where the index pulses are: a person puts the robot exactly into the zero pose, then the joints swing."""

from __future__ import annotations

from datetime import date

from .board import Board
from .bring_up import BringUp, Stage
from .calibration import Calibration, CalibrationError
from .session import Session


class OffsetMeasurement:
    """One `step` per tick, until `is_done`; the motors are then damped for as long as `step` is called.

    An index is seen in the packet after it was passed: offsets are as exact as a joint moves in a millisecond of
    the search, 0.9 mrad.
    """

    def __init__(self, board: Board, *, lock_step: bool = False) -> None:
        """Take a board that is not connected yet."""
        self._session = Session(board, lock_step=lock_step)
        self._bring_up = BringUp(None)

    @property
    def stage(self) -> str:
        """What is happening, for people."""
        return self._bring_up.stage.value if self._session.is_open else "waiting for the master board"

    @property
    def is_done(self) -> bool:
        """Whether there is a result."""
        return self._bring_up.is_done

    def step(self) -> None:
        """Advance by a tick.

        Raises:
            CalibrationError: It failed, with the cause; the next calls damp the motors.
        """
        if not self._session.is_open:
            self._session.open()
            return
        failed_before = self._bring_up.stage is Stage.FAILED
        self._session.send(self._bring_up.step(self._session.receive()))
        if self._bring_up.stage is Stage.FAILED and not failed_before:
            raise CalibrationError(self._bring_up.cause)

    def result(self, today: date) -> Calibration:
        """Return what was measured, for `calibration.save`."""
        if not self.is_done:
            raise CalibrationError(f"There is nothing to store yet: {self.stage}.")
        return Calibration.from_zero_pose(-self._bring_up.measured_offset, self._session.board.address, today)
