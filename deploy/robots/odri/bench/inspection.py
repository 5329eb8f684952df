"""Inspection of a robot with motors off: measurements, packet statistics, test by hand."""

from __future__ import annotations

from typing import Any

from deploy.common.clock import CLOCK, Clock
from deploy.robots.odri.drivers.board import Board
from deploy.robots.odri.drivers.board_sensors import driver_faults
from deploy.robots.odri.drivers.board_session import BoardSession
from deploy.robots.odri.drivers.motors import (
    MOTOR_OF_JOINT,
    joint_position,
    joint_velocity,
    motors_off,
)
from deploy.robots.odri.wire.protocol import SensorPacket

from .hand_test import HandTest
from .packet_statistics import AT_POWER_UP, PacketStatistics

INSPECTION_SILENCE = 1.0
"""Longest time without measurements [s]."""
SETTLE_TICKS = 20
"""Number of packets ignored at the start: drivers answer only after a few [ticks]."""


class Inspection:
    """Inspection: one `step` per tick until `is_over`; joint angles count from power-up."""

    def __init__(
        self,
        board: Board,
        *,
        seconds: float,
        lock_step: bool = False,
        hand_test: HandTest | None = None,
        clock: Clock = CLOCK,
    ) -> None:
        """Use a board that is not connected yet; count packets for `seconds`, then test by hand."""
        self._session = BoardSession(board, lock_step=lock_step, needs_drivers=False, clock=clock)
        self._seconds = seconds
        self._hand_test = hand_test
        self._statistics: PacketStatistics | None = None
        self._packet: SensorPacket | None = None
        self._settling = SETTLE_TICKS
        self._stopped = False
        self.failure = ""

    @property
    def is_over(self) -> bool:
        """True if the inspection has ended."""
        complete = self._listened and (self._hand_test is None or self._hand_test.is_over)
        return bool(self.failure) or self._stopped or complete

    @property
    def question(self) -> str:
        """Instruction for the operator, which needs no confirmation; empty if there is none."""
        if self._hand_test is None or not self._listened:
            return ""
        return self._hand_test.question

    def confirm(self) -> None:
        """Do nothing: an inspection needs no confirmation."""

    def stop(self) -> None:
        """End the inspection, at the operator's request."""
        self._stopped = True

    def step(self) -> None:
        """Advance by one tick.

        Raises:
            BoardError: No board answers.
        """
        if not self._session.is_open:
            self._session.open()
            return
        packet = self._session.receive()
        if packet is None and self._session.silence > INSPECTION_SILENCE:
            self.failure = f"the master board sent nothing for {INSPECTION_SILENCE} s"
        if packet is not None:
            self._add(packet)
        self._session.send(motors_off())

    def status(self) -> dict[str, Any]:
        """Return the present state for the display, as JSON values."""
        packet = self._packet
        statistics = self._statistics
        board = self._session.board
        if packet is None or statistics is None:
            return {
                "phase": "waiting for the master board",
                "question": "",
                "failure": self.failure,
            }
        return {
            "phase": "motors off",
            "question": self.question,
            "failure": self.failure,
            "angle": joint_position(packet, AT_POWER_UP).tolist(),
            "velocity": joint_velocity(packet).tolist(),
            "index": packet.index_seen[MOTOR_OF_JOINT].tolist(),
            "attitude": packet.imu.attitude.tolist(),
            "acceleration": packet.imu.acceleration.tolist(),
            "voltage": packet.power.voltage,
            "current": packet.power.current,
            "faults": list(driver_faults(packet)),
            "protocol": board.protocol,
            "address": board.address,
            "packets": statistics.packets,
            "lost": statistics.lost,
            "rejected": board.rejected,
            "seconds": statistics.seconds,
        }

    def result(self) -> dict[str, Any]:
        """Return the measurements as JSON values; `go_checks` judges them."""
        board = self._session.board
        statistics: dict[str, Any] = {"packets": 0}
        if self._statistics is not None:
            statistics = self._statistics.result()
        return {
            "protocol": board.protocol,
            "driver": board.driver,
            "drivers": board.drivers,
            "address": board.address,
            "rejected": board.rejected,
            "failure": self.failure,
            "hands": None if self._hand_test is None else self._hand_test.result(),
            **statistics,
        }

    @property
    def _listened(self) -> bool:
        return self._statistics is not None and self._statistics.seconds >= self._seconds

    def _add(self, packet: SensorPacket) -> None:
        self._packet = packet
        if self._settling > 0:
            self._settling -= 1
        elif self._statistics is None:
            self._statistics = PacketStatistics(self._session.board)
        elif not self._listened or self._hand_test is None:
            self._statistics.add(packet, self._session.time)
        else:
            self._hand_test.step(packet)
