"""Our own session with a board, for both protocols, over any link. Needs no vendor library."""

from __future__ import annotations

import time

from deploy.robots.odri.wire import codec
from deploy.robots.odri.wire.ethernet import Frame, mac_text
from deploy.robots.odri.wire.ethernet_link import Link
from deploy.robots.odri.wire.protocol import (
    ACKS,
    PROTOCOLS,
    Ack,
    Init,
    Malformed,
    MotorCommand,
    SensorPacket,
)

from .board import WORD, BoardError, lag

TRIES_PER_PROTOCOL = 200
"""Requests before another protocol is tried; a board answers the 52nd."""

MOST_FRAMES = 64
"""Read in one call: a flood of foreign frames must not hold up the loop."""


def new_session() -> int:
    """Session number that is most likely not the last one; 0 is what a board without session sends."""
    return time.time_ns() // 1_000_000 % (WORD - 1) + 1


class NativeBoard:
    """Protocol 4 is tried first, then 3; the board's answer decides."""

    driver = "native"

    def __init__(self, link: Link, session: int | None = None) -> None:
        """Take a link; nothing is sent before `connect`."""
        self._link = link
        self._session = new_session() if session is None else session
        self._connected = False
        self._tries = 0
        self._sent, self._confirmed = WORD - 1, WORD - 1
        self.protocol, self.drivers, self.address = 0, 0, ""
        self.lost = 0
        """Measurements that the board sent but that did not come."""
        self._rejected = 0
        self._last_index: int | None = None

    def connect(self) -> bool:
        """Ask for a session once, and return whether the board has acknowledged it. Call once per tick."""
        if self._connected:
            return True
        wanted = PROTOCOLS[self._tries // TRIES_PER_PROTOCOL % len(PROTOCOLS)]
        self._tries += 1
        self._link.send(codec.encode_init(Init(wanted, self._session)))
        while not self._connected and (frame := self._link.receive(0.0)) is not None:
            self._read_ack(frame, wanted)
        return self._connected

    def receive(self, timeout: float) -> SensorPacket | None:
        """Return the newest measurements that were not returned before, waiting for them at most so long [s]."""
        if not self._connected:
            return None  # an acknowledgement that comes late is for `connect`
        newest, deadline = None, time.monotonic() + timeout
        for _ in range(MOST_FRAMES):
            frame = self._link.receive(0.0 if newest else max(0.0, deadline - time.monotonic()))
            if frame is None:
                break
            newest = self._read_sensor(frame) or newest
        return newest

    def send(self, command: MotorCommand) -> None:
        """Send a command, or refuse it if the wire cannot carry it."""
        index = (self._sent + 1) % WORD
        payload = codec.encode_command(command, self._session, index, self.protocol)
        self._sent = index
        self._link.send(payload)

    @property
    def command_lag(self) -> int:
        """How many commands were sent after the last one the board has confirmed: above 10 it ignores us."""
        return lag(self._sent, self._confirmed)

    @property
    def rejected(self) -> int:
        """How many frames of the board's type were no news of it: malformed, of another session, double or too late."""
        return self._rejected + self._link.malformed

    def close(self) -> None:
        """Stop talking; the board switches the motors off 20 ms later."""
        self._link.close()

    def _read_ack(self, frame: Frame, wanted: int) -> None:
        ack = codec.decode_ack(frame.payload)
        if isinstance(ack, Malformed) or ack.session != self._session:
            return
        if ack.protocol not in PROTOCOLS:
            raise BoardError(
                f"The master board's firmware speaks protocol {ack.protocol}, this program {sorted(PROTOCOLS)}: "
                "use a matching firmware or a newer version of this program."
            )
        if (
            ack.protocol != wanted
        ):  # a board of version 4 answers a wrong version with its own, and waits on
            self._tries = PROTOCOLS.index(ack.protocol) * TRIES_PER_PROTOCOL
            return
        self._accept(ack, frame)

    def _accept(self, ack: Ack, frame: Frame) -> None:
        self._connected = True
        self.protocol, self.drivers, self.address = (
            ack.protocol,
            ack.drivers,
            mac_text(frame.source),
        )

    def _read_sensor(self, frame: Frame) -> SensorPacket | None:
        if len(frame.payload) == ACKS[self.protocol].itemsize:
            return None  # the board acknowledges until it has our first command
        packet = codec.decode_sensor(frame.payload, self.protocol)
        if isinstance(packet, Malformed) or packet.session != self._session:
            self._rejected += 1
            return None
        return packet if self._is_newer(packet) else None

    def _is_newer(self, packet: SensorPacket) -> bool:
        """Count gaps; refuse packets that come twice or too late."""
        if self._last_index is not None:
            ahead = (packet.index - self._last_index) % WORD
            if ahead == 0 or ahead > WORD // 2:
                self._rejected += 1
                return False
            self.lost += ahead - 1
        self._last_index, self._confirmed = packet.index, packet.last_command
        return True
