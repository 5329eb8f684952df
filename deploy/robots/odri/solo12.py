"""The real Solo12: a master board, its calibration and its bring-up as one `Robot`."""

from __future__ import annotations

import numpy as np

from deploy.common.clock import CLOCK, Clock
from deploy.common.latency_padding import Lag
from deploy.common.robot_constants import LARGEST_GAINS, STOPPED, damping_command
from deploy.common.robot_error import RobotError
from deploy.common.sensors import Sensors
from solo_doi.solo12.constants import MOTOR_LAG, NUM_JOINTS
from solo_doi.solo12.state import JointCommand

from .bring_up.bring_up import BringUp
from .bring_up.calibration import Calibration
from .drivers import motors
from .drivers.board import LARGEST_LAG, Board
from .drivers.board_sensors import sensors_of, without_errors
from .drivers.board_session import Session
from .wire.protocol import SensorPacket

LAST_COMMANDS = 5
"""Damping commands that `close` sends."""
ALL = np.ones(NUM_JOINTS, dtype=bool)
ALL.setflags(write=False)


class Solo12:
    """Sensors and motors of the robot.

    After construction, which is a person's act, each `sense` and `drive` advances bring-up by a tick; until it is
    done `drive` sends what bring-up wants, whatever it is told. Nothing here ever begins a second session.
    """

    paces = True

    def __init__(
        self,
        board: Board,
        calibration: Calibration,
        *,
        lock_step: bool = False,
        lag: float = MOTOR_LAG,
        clock: Clock = CLOCK,
    ) -> None:
        """Take a board that is not connected yet; one in lock-step has its own time, in place of the clock's.

        Commands wait until the measurements behind them are `lag` seconds old: policies were trained with that.
        """
        self._lag = Lag(lag, damping_command())
        self._session, self._calibration = (
            Session(board, lock_step=lock_step, clock=clock),
            calibration,
        )
        self._bring_up: BringUp | None = None
        self._failed_at: float | None = None
        self._stopped = ""  # why, if bring-up must not begin any more
        self._packet: SensorPacket | None = None
        self._sound: Sensors | None = None

    @property
    def stage(self) -> str:
        """What the robot is doing, for people."""
        return (
            "waiting for the master board" if self._bring_up is None else self._bring_up.stage.value
        )

    @property
    def is_calibrated(self) -> bool:
        """Whether joints follow `drive`."""
        return self._bring_up is not None and self._bring_up.is_done

    @property
    def time(self) -> float:
        """The robot's clock: this machine's, or in lock-step that of the packets [s]."""
        return self._session.now

    def start_clock(self, first_tick: float) -> None:
        """Do nothing: measurements have the time at which they arrived."""

    @property
    def largest_gains(self) -> tuple[float, float]:
        """What the board's protocol carries, once it is known."""
        board = self._session.board
        return motors.largest_gains(board.protocol) if self._session.is_open else LARGEST_GAINS

    def sense(self) -> Sensors | None:
        """Return what was measured in this tick; nothing if no news came in time.

        Raises:
            RobotError: No board answers, a driver is missing, the calibration is another board's, it was stopped
                before bring-up, or that has failed: nothing more will come of it, and who waits must know.
        """
        session = self._session
        if self._bring_up is None:
            if self._stopped:
                raise RobotError(
                    f"Before bring-up: {self._stopped}. Nothing has moved; start again."
                )
            if session.open():
                self._calibration.check_board(session.board.address)
                self._bring_up = BringUp(self._calibration)
            return None
        if self._bring_up.is_over:
            failed = f"Bring-up failed while {self._bring_up.cause}. Put all joints to zero and start again."
            raise RobotError(failed, since=self._failed_at)
        self._packet = session.receive()
        if self._packet is None:
            return None
        measured = sensors_of(
            self._packet,
            session,
            offset=self._bring_up.offset,
            follows=self._bring_up.is_done,
            faults=(self._bring_up.cause,) if self._bring_up.cause else (),
        )
        sound = without_errors(measured, self._sound)
        self._sound = sound or self._sound
        return sound

    def drive(self, command: JointCommand, observed: float) -> float:
        """Send what the motors shall do until the next call."""
        bring_up = self._bring_up
        if bring_up is None:
            return observed
        if not bring_up.is_done:
            if self._packet is not None and self._session.board.command_lag > LARGEST_LAG:
                bring_up.give_up(
                    "the master board takes no commands any more, and has switched the motors off"
                )
            self._session.send(bring_up.step(self._packet, self._session.silence))
            if bring_up.cause and self._failed_at is None:
                self._failed_at = self.time
            return observed
        motors.check(command, self._session.board.protocol)
        command, observed = self._lag.take(command, observed, self.time)
        self._session.send(
            motors.motor_command(command, bring_up.offset, enabled=ALL, compensate_index=ALL)
        )
        return observed

    def stop(self, cause: str = STOPPED) -> None:
        """Give up bring-up: it never begins, or its motors are only damped from now on."""
        if self._bring_up is None:
            self._stopped = self._stopped or cause
        elif not self._bring_up.is_done:
            self._bring_up.give_up(cause)

    def close(self) -> None:
        """Damp the motors and stop talking: the board switches them off 20 ms later."""
        if self.is_calibrated:
            for _ in range(LAST_COMMANDS):
                self.drive(damping_command(), self.time)
        self._session.board.close()
