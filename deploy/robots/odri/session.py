"""A session with a board as its users see it: opened by one request per tick, then one packet and one command."""

from __future__ import annotations

import time

from deploy.robots.robot import TICK

from .board import WORD, Board, BoardError, check_drivers
from .protocol import MotorCommand, SensorPacket

CONNECT_LIMIT = 2500
"""Requests before giving up; at one per tick as long as the vendor's library waits."""
WAIT = 2 * TICK
"""How long to wait for the board's tick before the caller's clock takes over [s]."""
LOCK_STEP_WAIT = 2.0
"""A board in lock-step answers every command, when it is ready [s]."""


class Session:
    """Keeps time: by this machine's clock, or in lock-step by the board's packets."""

    def __init__(self, board: Board, *, lock_step: bool = False, needs_drivers: bool = True) -> None:
        """Take a board; nothing is sent yet. Who only looks does not need all drivers to answer."""
        self.board = board
        self._needs_drivers = needs_drivers
        self.is_open = False
        self.time = 0.0
        """Of the last packet, monotonic or in lock-step simulated [s]."""
        self._lock_step = lock_step
        self._wait = LOCK_STEP_WAIT if lock_step else WAIT
        self._asked = 0
        self._commanded = False  # before its first command the board measures, but does not tell
        self._index = 0

    @property
    def now(self) -> float:
        """The session's clock: this machine's, or in lock-step that of the packets [s]."""
        return self.time if self._lock_step else time.monotonic()

    def open(self) -> bool:
        """Ask for the session once; return whether it is open now.

        Raises:
            BoardError: Nobody answers, or a driver is missing.
        """
        self._asked += 1
        if self.board.connect():
            if self._needs_drivers:
                check_drivers(self.board.drivers)
            self.is_open = True
        elif self._asked > CONNECT_LIMIT:
            raise BoardError(
                f"No master board answered {CONNECT_LIMIT} requests in protocols 4 and 3: is it powered, is this its "
                "cable, and does no other program hold a session with it?"
            )
        else:
            time.sleep(TICK)  # until it is open, nothing else keeps time
        return self.is_open

    def receive(self) -> SensorPacket | None:
        """Return the newest packet, waiting for it no longer than the caller's clock allows."""
        packet = self.board.receive(self._wait if self._commanded else 0.0)
        if packet is not None:
            self.time = self._stamp(packet)
        return packet

    def send(self, command: MotorCommand) -> None:
        """Send a command, or refuse it if the wire cannot carry it."""
        self._commanded = True
        self.board.send(command)

    def _stamp(self, packet: SensorPacket) -> float:
        if not self._lock_step:
            return time.monotonic()
        elapsed = (packet.index - self._index) % WORD
        self._index = packet.index
        return self.time + TICK * elapsed
