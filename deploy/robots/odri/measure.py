"""Measure where the index pulses are: a person puts the robot exactly into the zero pose, then the joints swing."""

from __future__ import annotations

from datetime import date

from deploy.robots.robot import TICK

from .board import Board
from .bring_up import BringUp, Stage
from .calibration import Calibration, CalibrationError
from .session import Opening


class OffsetMeasurement:
    """One `step` per tick, until `is_done`; the motors are then damped for as long as `step` is called.

    An index is seen in the packet after it was passed: offsets are as exact as a joint moves in a millisecond of
    the search, 0.9 mrad.
    """

    def __init__(self, board: Board, sensor_wait: float = 2 * TICK) -> None:
        """Take a board that is not connected yet."""
        self._board, self._wait = board, sensor_wait
        self._opening: Opening | None = Opening(board)
        self._bring_up = BringUp(None)
        self._commanded = False

    @property
    def stage(self) -> str:
        """What is happening, for people."""
        return "waiting for the master board" if self._opening is not None else self._bring_up.stage.value

    @property
    def is_done(self) -> bool:
        """Whether there is a result."""
        return self._bring_up.is_done

    def step(self) -> None:
        """Advance by a tick.

        Raises:
            CalibrationError: It failed, with the cause; the next calls damp the motors.
        """
        if self._opening is not None:
            if self._opening.step():
                self._opening = None
            return
        packet = self._board.receive(self._wait if self._commanded else 0.0)
        failed_before = self._bring_up.stage is Stage.FAILED
        self._board.send(self._bring_up.step(packet))
        self._commanded = True
        if self._bring_up.stage is Stage.FAILED and not failed_before:
            raise CalibrationError(self._bring_up.cause)

    def result(self, today: date) -> Calibration:
        """Return what was measured, for `calibration.save`."""
        if not self.is_done:
            raise CalibrationError(f"There is nothing to store yet: {self.stage}.")
        return Calibration.from_zero_pose(-self._bring_up.measured_offset, self._board.address, today)
