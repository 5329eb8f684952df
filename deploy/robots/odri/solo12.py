"""Solo12 behind a master board, with calibration and bring-up, as a `Robot`."""

from __future__ import annotations

from collections import Counter

import numpy as np

from deploy.common.clock import CLOCK, Clock
from deploy.common.latency_padding import LatencyPadding
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
from .drivers.board_session import BoardSession
from .wire.protocol import SensorPacket

LAST_COMMANDS = 5
"""Number of damping commands that `close` sends."""
ALL = np.ones(NUM_JOINTS, dtype=bool)
ALL.setflags(write=False)


class Solo12:
    """Sensors and motors of the robot.

    Bring-up starts when the board has answered; each `sense` and `drive` advances it by a tick.
    Until bring-up is done, `drive` ignores its command and sends that of bring-up. A second session
    is never opened: after an error the process must be started again.
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
        """Wrap a board that is not connected yet; a board in lock-step replaces the clock.

        A command waits until the measurement it is based on is `lag` old, as in training [s].
        """
        self._lag = LatencyPadding(lag, damping_command())
        self._session = BoardSession(board, lock_step=lock_step, clock=clock)
        self._calibration = calibration
        self._bring_up: BringUp | None = None
        self._failed_at: float | None = None
        self._stopped = ""  # reason why bring-up must not begin; empty if it may
        self._packet: SensorPacket | None = None
        self._last_valid: Sensors | None = None

    @property
    def stage(self) -> str:
        """Present stage of bring-up, as text."""
        if self._bring_up is None:
            return "waiting for the master board"
        return self._bring_up.stage.value

    @property
    def is_calibrated(self) -> bool:
        """True if joints follow `drive`."""
        return self._bring_up is not None and self._bring_up.is_done

    @property
    def time(self) -> float:
        """Time on the robot's clock: the host's, or in lock-step that of the packets [s]."""
        return self._session.now

    def start_clock(self, first_tick: float) -> None:
        """Do nothing: measurements have the time at which they arrived."""

    @property
    def largest_gains(self) -> tuple[float, float]:
        """Largest gains that the board's protocol carries, once it is known."""
        if not self._session.is_open:
            return LARGEST_GAINS
        return motors.largest_gains(self._session.board.protocol)

    @property
    def rejected(self) -> Counter[str]:
        """Number of replaced frames of zeros, by kind."""
        return self._session.zero_frames.counts

    def sense(self) -> Sensors | None:
        """Return the measurement of this tick; None if nothing new came in time.

        Raises:
            RobotError: No board answers, a driver is missing, the calibration is of another board,
                or bring-up was stopped or has failed. The robot then needs a new start.
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
            raise RobotError(
                f"Bring-up failed while {self._bring_up.cause}. "
                "Put all joints to zero and start again.",
                since=self._failed_at,
            )
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
        valid = without_errors(measured, self._last_valid)
        self._last_valid = valid or self._last_valid
        return valid

    def drive(self, command: JointCommand, observed: float) -> float:
        """Send the command that the motors follow until the next call."""
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
        command, observed = self._lag.push(command, observed, self.time)
        self._session.send(
            motors.motor_command(command, bring_up.offset, enabled=ALL, compensate_index=ALL)
        )
        return observed

    def stop(self, cause: str = STOPPED) -> None:
        """Abort bring-up: it does not begin, or its motors are damped or switched off."""
        if self._bring_up is None:
            self._stopped = self._stopped or cause
        elif not self._bring_up.is_done:
            self._bring_up.give_up(cause)

    def close(self) -> None:
        """Damp the motors and end the session; the board switches them off 20 ms later."""
        if self.is_calibrated:
            for _ in range(LAST_COMMANDS):
                self.drive(damping_command(), self.time)
        self._session.board.close()
