"""Our own driver of a master board, for both protocols, without the vendor's library."""

from __future__ import annotations

import time

from deploy.robots.odri.wire import codec
from deploy.robots.odri.wire.ethernet import Frame, mac_text
from deploy.robots.odri.wire.ethernet_link import BoardLink
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
"""Number of requests before the other protocol is tried; a board answers the 52nd."""
MOST_FRAMES = 64
"""Largest number of frames read in one call: a flood of foreign frames must not stall the loop."""


def new_session() -> int:
    """Return a session number from the clock, so that it most likely differs from the last one.

    It is never 0, the number that a board without a session sends.
    """
    return time.time_ns() // 1_000_000 % (WORD - 1) + 1


class NativeBoard:
    """Native driver: tries protocol 4 first, then 3, and uses the one that the board answers."""

    driver = "native"

    def __init__(self, link: BoardLink, session: int | None = None) -> None:
        """Use a link; nothing is sent before `connect`."""
        self._link = link
        self._session = new_session() if session is None else session
        self._connected = False
        self._tries = 0
        self._sent = WORD - 1
        self._confirmed = WORD - 1
        self.protocol = 0
        self.drivers = 0
        self.address = ""
        self.lost = 0
        """Number of sensor packets that the board sent but that did not arrive."""
        self._rejected = 0
        self._last_index: int | None = None

    def connect(self) -> bool:
        """Request a session; return True once the board has acknowledged it. Call once per tick."""
        if self._connected:
            return True
        wanted = PROTOCOLS[self._tries // TRIES_PER_PROTOCOL % len(PROTOCOLS)]
        self._tries += 1
        self._link.send(codec.encode_init(Init(wanted, self._session)))
        while not self._connected and (frame := self._link.receive(0.0)) is not None:
            self._read_ack(frame, wanted)
        return self._connected

    def receive(self, timeout: float) -> SensorPacket | None:
        """Return the newest measurements not returned before; wait at most `timeout` [s]."""
        if not self._connected:
            return None  # leave late acknowledgements to `connect`
        newest = None
        deadline = time.monotonic() + timeout
        for _ in range(MOST_FRAMES):
            remaining = 0.0 if newest else max(0.0, deadline - time.monotonic())
            frame = self._link.receive(remaining)
            if frame is None:
                break
            newest = self._read_sensor(frame) or newest
        return newest

    def send(self, command: MotorCommand) -> None:
        """Send a command; refuse it if the protocol cannot carry it."""
        index = (self._sent + 1) % WORD
        payload = codec.encode_command(command, self._session, index, self.protocol)
        self._sent = index
        self._link.send(payload)

    @property
    def command_lag(self) -> int:
        """Number of commands sent after the last one that the board has confirmed."""
        return lag(self._sent, self._confirmed)

    @property
    def rejected(self) -> int:
        """Number of frames that were malformed, of another session, duplicate or late."""
        return self._rejected + self._link.malformed

    def close(self) -> None:
        """End the session; the board switches the motors off 20 ms later."""
        self._link.close()

    def _read_ack(self, frame: Frame, wanted: int) -> None:
        ack = codec.decode_ack(frame.payload)
        if isinstance(ack, Malformed) or ack.session != self._session:
            return
        if ack.protocol not in PROTOCOLS:
            raise BoardError(
                f"The master board's firmware speaks protocol {ack.protocol}, this program "
                f"{sorted(PROTOCOLS)}: use a matching firmware or a newer version of this program."
            )
        if ack.protocol != wanted:
            # A board of version 4 answers a wrong version with its own, and keeps waiting.
            self._tries = PROTOCOLS.index(ack.protocol) * TRIES_PER_PROTOCOL
            return
        self._accept(ack, frame)

    def _accept(self, ack: Ack, frame: Frame) -> None:
        self._connected = True
        self.protocol = ack.protocol
        self.drivers = ack.drivers
        self.address = mac_text(frame.source)

    def _read_sensor(self, frame: Frame) -> SensorPacket | None:
        if len(frame.payload) == ACKS[self.protocol].itemsize:
            return None  # the board repeats its acknowledgement until the first command
        packet = codec.decode_sensor(frame.payload, self.protocol)
        if isinstance(packet, Malformed) or packet.session != self._session:
            self._rejected += 1
            return None
        return packet if self._is_newer(packet) else None

    def _is_newer(self, packet: SensorPacket) -> bool:
        """Count gaps; reject duplicate and late packets."""
        if self._last_index is not None:
            ahead = (packet.index - self._last_index) % WORD
            if ahead == 0 or ahead > WORD // 2:
                self._rejected += 1
                return False
            self.lost += ahead - 1
        self._last_index = packet.index
        self._confirmed = packet.last_command
        return True
