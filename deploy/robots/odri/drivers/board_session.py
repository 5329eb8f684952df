"""Session with a board: one request per tick to open it, then one packet and one command."""

from __future__ import annotations

from deploy.common.clock import CLOCK, Clock
from deploy.common.robot_constants import TICK
from deploy.robots.odri.wire.protocol import MotorCommand, SensorPacket

from .board import WORD, Board, BoardError, check_drivers
from .zero_frames import ZeroFrames

CONNECT_LIMIT = 2500
"""Largest number of requests to open a session, one per tick: 2.5 s, as the vendor's library."""
PACKET_WAIT = 2 * TICK
"""Timeout for the board's packet; without one the caller's tick continues [s]."""
LOCK_STEP_WAIT = 2.0
"""Timeout for the answer of a board in lock-step; its simulation may be slow [s]."""
LOCK_STEP_SILENCE = 3
"""Number of timeouts in a row after which a board in lock-step counts as silent."""


class BoardSession:
    """Exchanges packets and keeps time: by the host's clock, or in lock-step by the packets."""

    def __init__(
        self,
        board: Board,
        *,
        lock_step: bool = False,
        needs_drivers: bool = True,
        clock: Clock = CLOCK,
    ) -> None:
        """Wrap a board; nothing is sent yet.

        With `needs_drivers`, a board with missing motor drivers is refused.
        """
        self.board = board
        self._clock = clock
        self._needs_drivers = needs_drivers
        self.is_open = False
        self.time = 0.0
        """Time of the last packet; in lock-step, of the last simulated tick [s]."""
        self._lock_step = lock_step
        self._wait = LOCK_STEP_WAIT if lock_step else PACKET_WAIT
        self._requests = 0
        self._commanded = False  # the board sends measurements only after its first command
        self._last_packet = 0.0  # time of the last packet, or of the first command
        self.elapsed = TICK
        """Time between the last two packets on the board's clock [s]."""
        self.zero_frames = ZeroFrames()
        self._index: int | None = None
        self._silent = 0
        self._reported_lost = 0
        self._commands_lost = 0

    @property
    def now(self) -> float:
        """Time on the session's clock: the host's, or in lock-step that of the packets [s]."""
        return self.time if self._lock_step else self._clock.now_ns() * 1e-9

    @property
    def silence(self) -> float:
        """Time since the last packet; 0 before the first command [s]."""
        if not self._commanded:
            return 0.0
        return self.now - self._last_packet

    @property
    def lost(self) -> int:
        """Number of lost packets, both ways."""
        return self.board.lost + self._commands_lost

    def open(self) -> bool:
        """Request the session once; return True if it is open now.

        Raises:
            BoardError: No board answers, or a driver is missing.
        """
        self._requests += 1
        if self.board.connect():
            if self._needs_drivers:
                check_drivers(self.board.drivers)
            self.is_open = True
        elif self._requests > CONNECT_LIMIT:
            raise BoardError(
                f"No master board answered {CONNECT_LIMIT} requests in protocols 4 and 3: is it "
                "powered, is this its cable, and does no other program hold a session with it?"
            )
        else:
            self._clock.sleep(TICK)  # before the session opens, no packets set the pace
        return self.is_open

    def receive(self) -> SensorPacket | None:
        """Return the newest packet; None if none comes within the timeout."""
        gone = self._lock_step and self._silent >= LOCK_STEP_SILENCE
        timeout = 0.0
        if self._commanded and not gone:
            timeout = self._wait
        packet = self.board.receive(timeout)
        if packet is not None:
            packet = self.zero_frames.repaired(packet)
            self.time = self._stamp(packet)
            self._last_packet = self.time
            self._silent = 0
            self._count(packet)
        elif self._lock_step and self._commanded:
            # Time must advance while the board is silent, so that the age of the sensors grows.
            self.time += TICK
            self._silent += 1
        return packet

    def send(self, command: MotorCommand) -> None:
        """Send a command; refuse it if the protocol cannot carry it."""
        if not self._commanded:
            self._commanded = True
            self._last_packet = self.now
        self.board.send(command)

    def _count(self, packet: SensorPacket) -> None:
        more = (packet.commands_lost - self._reported_lost) % WORD
        self._reported_lost = packet.commands_lost
        if more < WORD // 2:  # a duplicate command decrements the board's counter
            self._commands_lost += more

    def _stamp(self, packet: SensorPacket) -> float:
        ticks = 1
        if self._index is not None:
            ticks = (packet.index - self._index) % WORD
        elif self._lock_step:
            ticks = packet.index
        self._index = packet.index
        self.elapsed = max(1, ticks) * TICK
        if not self._lock_step:
            return self.now
        # Silent ticks were already added to the time in `receive`.
        return self.time + TICK * max(0, ticks - self._silent)
