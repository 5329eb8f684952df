"""Measure where the index pulses are, twice, and compare: a person puts the robot into the zero pose each time.

PLACE    motors off; a person puts the joints to zero and says so
MEASURE  bring-up without a calibration: joints swing gently until they have seen their index, then fold
SHOW     the legs stay folded until a person says that they look alike: nobody else can see an error of 40 degrees
RELAX    the motors are only damped; then they are off
DONE     both measurements agree
FAILED   motors that were on are damped for as long as anybody calls
"""

from __future__ import annotations

from datetime import date
from enum import Enum
from typing import Any

import numpy as np

from deploy.common.clock import CLOCK, Clock
from deploy.common.robot_constants import TICK, damping_command
from deploy.common.robot_error import RobotError
from deploy.robots.odri.bring_up.bring_up import REST_TIME, SILENCE_LIMIT, BringUp, Stage
from deploy.robots.odri.bring_up.bring_up_guard import BringUpGuard
from deploy.robots.odri.bring_up.calibration import Calibration, CalibrationError, nearest
from deploy.robots.odri.drivers.board import LARGEST_LAG, Board
from deploy.robots.odri.drivers.board_sensors import driver_faults
from deploy.robots.odri.drivers.board_session import BoardSession
from deploy.robots.odri.drivers.motors import (
    MOTOR_OF_JOINT,
    joint_position,
    motor_command,
    motors_off,
)
from deploy.robots.odri.wire.protocol import Flags, MotorCommand, SensorPacket
from solo_doi.solo12.constants import JOINT_NAMES, NUM_JOINTS, Array

from .index_watch import IndexWatch
from .measurement_comparison import check_offsets, check_pose
from .stillness import Stillness

ROUNDS = 2
RELAX_TIME = 1.5
"""How long motors are damped before they are off [s]."""
VALID_TIME = 2.0
"""How long after a person's word the joints must have come to rest, or it is asked for again [s]."""
PLACE_WORDS = (
    "Hang the robot up so that no leg touches anything. Put all twelve joints to zero, every leg straight down, best "
    "with the calibration tool. Hands off, then press Enter: the legs will move.",
    "Put all joints to zero once more: the second measurement is compared with the first. Hands off, then press Enter.",
)
SHOW_WORDS = "All four legs must now be folded alike, hips straight, feet below the body. Press Enter if so, Ctrl-C if not."


class Phase(Enum):
    """What the calibrator is doing."""

    CONNECT = "waiting for the master board"
    PLACE = "motors off: joints are put to zero"
    MEASURE = "measuring"
    SHOW = "legs folded"
    RELAX = "motors damped"
    DONE = "done"
    FAILED = "ended: motors damped or off"


class Calibrator:
    """One `step` per tick until `is_over`."""

    def __init__(
        self, board: Board, *, lock_step: bool = False, yes: bool = False, clock: Clock = CLOCK
    ) -> None:
        """Take a board that is not connected yet; with `yes` nobody is asked."""
        self._session = BoardSession(board, lock_step=lock_step, clock=clock)
        self._yes = yes
        self.phase, self.failure = Phase.CONNECT, ""
        self._time = self._silence = 0.0
        self._confirmed, self._confirmed_at = False, 0.0
        self._round = 0
        self._zero: list[Array] = []  # the zero poses, as counted since power-up
        self._found: list[Array] = []  # joint angles of indices
        self._bring_up = BringUp(None)
        self._watch = IndexWatch()
        self._still = Stillness()
        self._guard = BringUpGuard()
        self._packet: SensorPacket | None = None
        self._powered = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen, and the motors may be left alone."""
        damped_enough = not self._powered or self._time > REST_TIME
        return self.phase is Phase.DONE or (self.phase is Phase.FAILED and damped_enough)

    @property
    def question(self) -> str:
        """What a person is asked to do and to confirm; nothing if nobody is waited for."""
        if self._yes or self._confirmed:
            return ""
        return {Phase.PLACE: PLACE_WORDS[min(self._round, 1)], Phase.SHOW: SHOW_WORDS}.get(
            self.phase, ""
        )

    def confirm(self) -> None:
        """Learn that a person has done what was asked."""
        if self.question:
            self._confirmed, self._confirmed_at = True, self._time

    def stop(self) -> None:
        """Damp at once: a person has asked for it."""
        self._fail("stopped")

    def step(self) -> None:
        """Advance by a tick.

        Raises:
            BoardError: There is no board, or a driver is missing; nothing has moved.
        """
        if not self._session.is_open:
            if self.phase is Phase.CONNECT and self._session.open():
                self._enter(Phase.PLACE)
            return
        packet = self._session.receive()
        self._time += TICK
        self._silence = 0.0 if packet is not None else self._session.silence
        self._packet = packet or self._packet
        if self.phase is not Phase.FAILED:
            self._find_faults()
        self._session.send(self._act(packet))

    def result(self, today: date) -> Calibration:
        """Return the mean of both measurements.

        Raises:
            CalibrationError: There is none.
        """
        if self.phase is not Phase.DONE:
            raise CalibrationError(
                f"There is nothing to store: {self.failure or self.phase.value}."
            )
        first, second = self._found
        board = self._session.board
        offset = first + nearest(second - first) / 2
        return Calibration.from_zero_pose(
            -offset, board.address, today, f"{board.driver}, protocol {board.protocol}"
        )

    def status(self) -> dict[str, Any]:
        """What people are shown, as plain values."""
        phase = self._bring_up.stage if self.phase is Phase.MEASURE else self.phase
        angle, index = np.zeros(NUM_JOINTS), np.zeros(NUM_JOINTS, dtype=bool)
        if self._packet is not None:
            offset = self._bring_up.offset if self._powered else np.zeros(NUM_JOINTS)
            angle = joint_position(self._packet, offset)
            if self._zero:  # seen from the zero pose, also where the index is still unknown
                angle = angle - np.where(
                    self._powered & self._bring_up.resolved, 0.0, self._zero[0]
                )
            index = self._packet.index_seen[MOTOR_OF_JOINT]
        found = self._found[-1] if self._found else self._bring_up.measured_offset
        return {
            "phase": phase.value, "round": min(self._round, ROUNDS - 1) + 1, "question": self.question,
            "failure": self.failure, "angle": angle.tolist(), "index": index.tolist(),
            "offset": [None if np.isnan(value) else float(nearest(value)) for value in found],
            "difference": nearest(self._found[1] - self._found[0]).tolist() if len(self._found) == ROUNDS else None,
            "stage": self._stages(index), "passed": self._watch.passed.tolist(),
        }  # fmt: skip

    def _stages(self, index: Flags) -> list[str]:
        """What each joint is doing, for people."""
        if not self._powered:
            return ["motor off"] * NUM_JOINTS
        if self.phase is not Phase.MEASURE:
            return ["folded" if self.phase is Phase.SHOW else "damped"] * NUM_JOINTS
        measured, searching = self._bring_up.resolved, self._bring_up.searching
        words = np.select(
            [measured, index, searching], ["measured", "index seen", "searching"], "waits"
        )
        return [str(word) for word in words]

    def _find_faults(self) -> None:
        packet = self._packet
        if self._silence > SILENCE_LIMIT:
            self._fail(f"no measurements for {1000 * self._silence:.0f} ms")
        elif packet is not None and (faults := driver_faults(packet)):
            self._fail("; ".join(faults))
        elif self._silence == 0.0 and self._session.board.command_lag > LARGEST_LAG:
            self._fail(
                "the master board takes no commands any more, and has switched the motors off"
            )
        elif self._powered and self.phase is not Phase.MEASURE and packet is not None:
            self._find_faults_of_held(packet)

    def _find_faults_of_held(self, packet: SensorPacket) -> None:
        """Watch what bring-up watches while it measures."""
        if not packet.ready.all():
            joint = int(np.argmin(packet.ready[MOTOR_OF_JOINT]))
            self._fail(f"the motor of {JOINT_NAMES[joint]} is no longer ready")
            return
        wrong = self._guard.check(packet) if self._silence == 0.0 else ""
        if self.phase is Phase.SHOW:
            wrong = wrong or self._bring_up.blocked(packet)
        if wrong:
            self._fail(wrong)

    def _act(self, packet: SensorPacket | None) -> MotorCommand:
        """Return what to send in this tick."""
        if self.phase is Phase.PLACE and self._packet is not None:
            self._place(joint_position(self._packet, np.zeros(NUM_JOINTS)))
        if self.phase in (Phase.MEASURE, Phase.SHOW):
            command = self._bring_up.step(packet, self._silence)
            self._powered = self._bring_up.powered
            self._measure()
            if self.phase in (Phase.MEASURE, Phase.SHOW):
                return command
        if self.phase is Phase.RELAX and self._time > RELAX_TIME:
            self._powered = False
            self._enter(Phase.PLACE if self._round < ROUNDS else Phase.DONE)
        return self._damping() if self._powered else motors_off()

    def _place(self, position: Array) -> None:
        rests = self._still.rests(position)
        if self._time - self._confirmed_at > VALID_TIME:
            self._confirmed = (
                False  # hands are still at work: who pauses later must not be surprised by motors
            )
        if not (rests and (self._confirmed or self._yes)):
            return
        try:
            check_pose(position, self._zero)
        except CalibrationError as error:
            self._fail(str(error))
            return
        self._zero.append(position)
        self._bring_up, self._watch = BringUp(None), IndexWatch()
        self._enter(Phase.MEASURE)

    def _measure(self) -> None:
        bring_up = self._bring_up
        if bring_up.stage is Stage.FAILED:
            self._fail(bring_up.cause)
        elif self.phase is Phase.SHOW and (self._confirmed or self._yes):
            self._enter(Phase.RELAX)
        elif self.phase is Phase.MEASURE:
            self._compare()

    def _compare(self) -> None:
        bring_up = self._bring_up
        try:
            if self._packet is not None:  # and no joint begins to count anew
                self._watch.check(
                    self._packet, bring_up.resolved & (bring_up.stage is not Stage.SETTLE)
                )
            if not bring_up.is_done:
                return
            self._found.append(bring_up.measured_offset)
            self._round += 1
            check_offsets(self._found)
        except RobotError as error:
            self._fail(str(error))
            return
        self._enter(Phase.SHOW if self._round == 1 else Phase.RELAX)

    def _damping(self) -> MotorCommand:
        everything, nothing = np.ones(NUM_JOINTS, dtype=bool), np.zeros(NUM_JOINTS)
        counting = self._bring_up.compensated
        return motor_command(
            damping_command(), nothing, enabled=everything, compensate_index=counting
        )

    def _enter(self, phase: Phase) -> None:
        self.phase, self._time, self._confirmed = phase, 0.0, False
        self._still = Stillness()

    def _fail(self, cause: str) -> None:
        if self.phase not in (Phase.FAILED, Phase.DONE):
            if self.phase is Phase.MEASURE:
                self._bring_up.give_up(cause)
                self._powered = self._bring_up.powered
            self.failure = cause
            self._enter(Phase.FAILED)
