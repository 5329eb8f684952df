"""A session with a board as its users see it: opened by one request per tick, then one packet and one command."""

from __future__ import annotations

from deploy.common.clock import CLOCK, Clock
from deploy.common.robot_constants import TICK
from deploy.robots.odri.wire.protocol import MotorCommand, SensorPacket

from .board import WORD, Board, BoardError, check_drivers

CONNECT_LIMIT = 2500
"""Requests before giving up; at one per tick as long as the vendor's library waits."""
WAIT = 2 * TICK
"""How long to wait for the board's tick before the caller's clock takes over [s]."""
LOCK_STEP_WAIT = 2.0
"""A board in lock-step answers every command, when it is ready [s]."""
LOCK_STEP_SILENCE = 3
"""Waits in vain after which nobody waits for it any longer."""


class Session:
    """Keeps time: by this machine's clock, or in lock-step by the board's packets."""

    def __init__(
        self,
        board: Board,
        *,
        lock_step: bool = False,
        needs_drivers: bool = True,
        clock: Clock = CLOCK,
    ) -> None:
        """Take a board; nothing is sent yet. Who only looks does not need all drivers to answer."""
        self.board, self._clock = board, clock
        self._needs_drivers = needs_drivers
        self.is_open = False
        self.time = 0.0
        """Of the last packet, monotonic; or in lock-step of the last tick, simulated [s]."""
        self._lock_step = lock_step
        self._wait = LOCK_STEP_WAIT if lock_step else WAIT
        self._asked = 0
        self._commanded = False  # before its first command the board measures, but does not tell
        self._heard = 0.0  # when a packet last came, or the first command was sent
        self._index = self._silent = 0
        self._told = self._commands_lost = 0

    @property
    def now(self) -> float:
        """The session's clock: this machine's, or in lock-step that of the packets [s]."""
        return self.time if self._lock_step else self._clock.now_ns() * 1e-9

    @property
    def silence(self) -> float:
        """For how long no packet has come, on the session's clock: ticks in which none comes last longer [s]."""
        return self.now - self._heard if self._commanded else 0.0

    @property
    def lost(self) -> int:
        """Packets that were lost so far, both ways."""
        return self.board.lost + self._commands_lost

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
            self._clock.sleep(TICK)  # until it is open, nothing else keeps time
        return self.is_open

    def receive(self) -> SensorPacket | None:
        """Return the newest packet, waiting for it no longer than the caller's clock allows."""
        gone = self._lock_step and self._silent >= LOCK_STEP_SILENCE
        packet = self.board.receive(self._wait if self._commanded and not gone else 0.0)
        if packet is not None:
            self.time, self._silent = self._stamp(packet), 0
            self._heard = self.time
            self._count(packet)
        elif self._lock_step and self._commanded:
            # Time does not stand still with the board: who watches the age of measurements must find out.
            self.time, self._silent = self.time + TICK, self._silent + 1
        return packet

    def send(self, command: MotorCommand) -> None:
        """Send a command, or refuse it if the wire cannot carry it."""
        if not self._commanded:
            self._commanded, self._heard = True, self.now
        self.board.send(command)

    def _count(self, packet: SensorPacket) -> None:
        more, self._told = (packet.commands_lost - self._told) % WORD, packet.commands_lost
        if more < WORD // 2:  # the board counts down for a command that comes twice
            self._commands_lost += more

    def _stamp(self, packet: SensorPacket) -> float:
        if not self._lock_step:
            return self.now
        elapsed = (packet.index - self._index) % WORD
        self._index = packet.index
        return self.time + TICK * max(
            0, elapsed - self._silent
        )  # silent ticks were counted when they passed
