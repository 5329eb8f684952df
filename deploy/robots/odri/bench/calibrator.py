"""Calibration of a robot: measure the index angles twice and compare.

A person puts the robot into the zero pose each time.

PLACE    motors off; a person puts the joints to zero and confirms it
MEASURE  bring-up without a calibration: joints swing gently until they pass their index, then fold
SHOW     legs stay folded until a person confirms that they look alike: sensors cannot detect an
         error of 40 degrees
RELAX    motors are damped, then switched off
DONE     both measurements agree
FAILED   motors that were on are damped in every further tick
"""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np

from deploy.common.clock import CLOCK, Clock
from deploy.common.robot_constants import TICK, damping_command
from deploy.common.robot_error import RobotError
from deploy.robots.odri.bring_up.bring_up import BRING_UP_SILENCE, REST_TIME, BringUp
from deploy.robots.odri.bring_up.bring_up_guard import BringUpGuard
from deploy.robots.odri.bring_up.bring_up_stage import Stage
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

from .calibration_phase import PLACE_WORDS, SHOW_WORDS, Phase
from .index_watch import IndexWatch
from .measurement_comparison import check_offsets, check_pose
from .stillness import Stillness

MEASUREMENTS = 2
"""Number of measurements."""
RELAX_TIME = 1.5
"""Duration of damping before motors are switched off [s]."""
VALID_TIME = 2.0
"""Lifetime of a confirmation: joints must come to rest within this time [s]."""


class Calibrator:
    """State machine of a calibration: one `step` per tick until `is_over`."""

    def __init__(
        self, board: Board, *, lock_step: bool = False, yes: bool = False, clock: Clock = CLOCK
    ) -> None:
        """Use a board that is not connected yet; `yes` skips all questions."""
        self._session = BoardSession(board, lock_step=lock_step, clock=clock)
        self._yes = yes
        self.phase = Phase.CONNECT
        self.failure = ""
        self._time = self._silence = 0.0
        self._confirmed = False
        self._confirmed_at = 0.0
        self._round = 0
        self._zero: list[Array] = []  # joint angles in the zero poses, counted since power-up
        self._found: list[Array] = []  # joint angles of the index pulses
        self._bring_up = BringUp(None)
        self._watch = IndexWatch()
        self._still = Stillness()
        self._guard = BringUpGuard()
        self._packet: SensorPacket | None = None
        self._powered = False

    @property
    def is_over(self) -> bool:
        """True if the calibration has ended and the motors are off or at rest."""
        rests = not self._powered or self._time > REST_TIME
        return self.phase is Phase.DONE or (self.phase is Phase.FAILED and rests)

    @property
    def question(self) -> str:
        """Instruction that a person must confirm; empty if there is none."""
        if self._yes or self._confirmed:
            return ""
        if self.phase is Phase.PLACE:
            return PLACE_WORDS[min(self._round, 1)]
        return SHOW_WORDS if self.phase is Phase.SHOW else ""

    def confirm(self) -> None:
        """Accept the operator's confirmation of the current instruction."""
        if self.question:
            self._confirmed = True
            self._confirmed_at = self._time

    def stop(self) -> None:
        """Damp at once, at the operator's request."""
        self._fail("stopped")

    def step(self) -> None:
        """Advance by one tick.

        Raises:
            BoardError: No board answers, or a driver is missing; nothing has moved.
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
            CalibrationError: The calibration has failed or is not finished.
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
        """Return the present state for the display, as JSON values."""
        phase = self._bring_up.stage if self.phase is Phase.MEASURE else self.phase
        angle = np.zeros(NUM_JOINTS)
        index = np.zeros(NUM_JOINTS, dtype=bool)
        if self._packet is not None:
            offset = self._bring_up.offset if self._powered else np.zeros(NUM_JOINTS)
            angle = joint_position(self._packet, offset)
            if self._zero:  # relative to the zero pose, also before the index is known
                angle = angle - np.where(
                    self._powered & self._bring_up.resolved, 0.0, self._zero[0]
                )
            index = self._packet.index_seen[MOTOR_OF_JOINT]
        found = self._found[-1] if self._found else self._bring_up.measured_offset
        difference = None
        if len(self._found) == MEASUREMENTS:
            difference = nearest(self._found[1] - self._found[0]).tolist()
        return {
            "phase": phase.value,
            "round": min(self._round, MEASUREMENTS - 1) + 1,
            "question": self.question,
            "failure": self.failure,
            "angle": angle.tolist(),
            "index": index.tolist(),
            "offset": [None if np.isnan(value) else float(nearest(value)) for value in found],
            "difference": difference,
            "stage": self._stages(index),
            "passed": self._watch.passed.tolist(),
        }

    def _stages(self, index: Flags) -> list[str]:
        """Return the state of each joint, as text."""
        if not self._powered:
            return ["motor off"] * NUM_JOINTS
        if self.phase is not Phase.MEASURE:
            word = "folded" if self.phase is Phase.SHOW else "damped"
            return [word] * NUM_JOINTS
        measured = self._bring_up.resolved
        searching = self._bring_up.searching
        words = np.select(
            [measured, index, searching], ["measured", "index seen", "searching"], "waits"
        )
        return list(map(str, words))

    def _find_faults(self) -> None:
        packet = self._packet
        if self._silence > BRING_UP_SILENCE:
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
        """Check powered motors after bring-up, by the criteria of bring-up."""
        if not packet.ready.all():
            joint = int(np.argmin(packet.ready[MOTOR_OF_JOINT]))
            self._fail(f"the motor of {JOINT_NAMES[joint]} is no longer ready")
            return
        fault = self._guard.check(packet) if self._silence == 0.0 else ""
        if self.phase is Phase.SHOW:
            fault = fault or self._bring_up.blocked(packet)
        if fault:
            self._fail(fault)

    def _act(self, packet: SensorPacket | None) -> MotorCommand:
        """Return the command of this tick."""
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
            self._enter(Phase.PLACE if self._round < MEASUREMENTS else Phase.DONE)
        return self._damping() if self._powered else motors_off()

    def _place(self, position: Array) -> None:
        rests = self._still.rests(position)
        if self._time - self._confirmed_at > VALID_TIME:
            # Hands still moved the joints. A later pause must not start the motors unexpectedly.
            self._confirmed = False
        if not (rests and (self._confirmed or self._yes)):
            return
        try:
            check_pose(position, self._zero)
        except CalibrationError as error:
            self._fail(str(error))
            return
        self._zero.append(position)
        self._bring_up = BringUp(None)
        self._watch = IndexWatch()
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
            if self._packet is not None:
                # In SETTLE positions change their reference and cannot be compared.
                counting = bring_up.resolved & (bring_up.stage is not Stage.SETTLE)
                self._watch.check(self._packet, counting)
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
        everything = np.ones(NUM_JOINTS, dtype=bool)
        nothing = np.zeros(NUM_JOINTS)
        counting = self._bring_up.compensated
        return motor_command(
            damping_command(), nothing, enabled=everything, compensate_index=counting
        )

    def _enter(self, phase: Phase) -> None:
        self.phase = phase
        self._time = 0.0
        self._confirmed = False
        self._still = Stillness()

    def _fail(self, cause: str) -> None:
        if self.phase not in (Phase.FAILED, Phase.DONE):
            if self.phase is Phase.MEASURE:
                self._bring_up.give_up(cause)
                self._powered = self._bring_up.powered
            self.failure = cause
            self._enter(Phase.FAILED)
