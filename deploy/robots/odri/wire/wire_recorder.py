"""Record every frame between PC and board, both ways, as a packet capture (pcap, nanoseconds).

Usage: `python -m deploy.robots.odri.wire.wire_recorder INTERFACE FILE`. The recorder only listens.
The file is valid up to its last whole record however the program ends; Wireshark can open it.
"""

from __future__ import annotations

import argparse
import errno
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from deploy.common.robot_error import RobotError
from deploy.common.signals import Interrupts
from solo_doi.common.errors import one_line

from . import codec
from .ethernet import PC_MAC, unpack_frame
from .ethernet_link import ALL_TYPES, check_interface, open_socket
from .protocol import (
    ACKS,
    COMMAND,
    INIT,
    SENSORS,
    Ack,
    CommandPacket,
    Init,
    Malformed,
    SensorPacket,
)

MAGIC = 0xA1B23C4D
FILE_HEADER = struct.Struct("<IHHiIII")
RECORD_HEADER = struct.Struct("<IIII")
LONGEST = 65535
ETHERNET = 1
SECOND = 1_000_000_000
POLL_SECONDS = 0.1
"""Longest wait for a frame before the request to stop is checked [s]."""
STAMPED = 35
"""Linux' SO_TIMESTAMPNS."""
STAMP = struct.Struct("@ll")

Packet = Init | Ack | CommandPacket | SensorPacket | Malformed


@dataclass(frozen=True)
class Record:
    """A frame, its time [ns since 1970], and its decoded packet."""

    time_ns: int
    frame: bytes
    packet: Packet

    @property
    def from_pc(self) -> bool:
        """True if the PC sent it."""
        return self.frame[6:12] == PC_MAC


def record(interface: str, path: Path, stop: Callable[[], bool]) -> int:
    """Write all frames to a new file until `stop` is true; return their number."""
    check_interface(interface)
    if path.exists():
        raise RobotError(f"{path} exists: recordings are never overwritten. Choose another name.")
    count = 0
    with path.open("xb", buffering=0) as file, open_socket(interface, ALL_TYPES) as listener:
        listener.setsockopt(socket.SOL_SOCKET, STAMPED, 1)
        file.write(FILE_HEADER.pack(MAGIC, 2, 4, 0, 0, LONGEST, ETHERNET))
        while not stop():
            if not select.select([listener], [], [], POLL_SECONDS)[0]:
                continue
            batch = list(_waiting(listener))
            file.write(b"".join(batch))
            count += len(batch)
    return count


def _waiting(listener: socket.socket) -> Iterator[bytes]:
    while True:
        try:
            data, notes, *_ = listener.recvmsg(LONGEST, socket.CMSG_SPACE(STAMP.size))
        except OSError as error:
            # An unplugged cable may be plugged in again.
            if error.errno in (errno.EAGAIN, errno.ENETDOWN):
                return
            raise
        yield pack_record(_stamp(notes), data)


def _stamp(notes: list[tuple[int, int, bytes]]) -> int:
    """Return the kernel's time of a frame [ns since 1970]; the present time if there is none."""
    for level, kind, data in notes:
        if (level, kind) == (socket.SOL_SOCKET, STAMPED):
            seconds, nanoseconds = STAMP.unpack(data)
            return int(seconds * SECOND + nanoseconds)
    return time.time_ns()


def pack_record(time_ns: int, frame: bytes) -> bytes:
    """Return the record of a frame."""
    return RECORD_HEADER.pack(time_ns // SECOND, time_ns % SECOND, len(frame), len(frame)) + frame


def replay(path: Path) -> Iterator[Record]:
    """Decode a recording; skip a last record that is incomplete.

    Raises:
        RobotError: The file is not a recording.
    """
    data = path.read_bytes()
    if len(data) < FILE_HEADER.size or FILE_HEADER.unpack_from(data)[0] != MAGIC:
        raise RobotError(
            f"{path}: not a recording of the wire (a packet capture with nanoseconds)."
        )
    place = FILE_HEADER.size
    while place + RECORD_HEADER.size <= len(data):
        seconds, nanoseconds, length, _ = RECORD_HEADER.unpack_from(data, place)
        place += RECORD_HEADER.size
        frame = data[place : place + length]
        if len(frame) < length:
            return
        place += length
        yield Record(seconds * SECOND + nanoseconds, frame, decode(frame))


def decode(data: bytes) -> Packet:
    """Decode a frame of any kind; its length determines the kind."""
    frame = unpack_frame(data)
    if isinstance(frame, Malformed):
        return frame
    size = len(frame.payload)
    if size == INIT.itemsize:
        return codec.decode_init(frame.payload)
    if size == COMMAND.itemsize:
        return codec.decode_command(frame.payload)
    if size in {layout.itemsize for layout in ACKS.values()}:
        return codec.decode_ack(frame.payload)
    for protocol, layout in SENSORS.items():
        if size == layout.itemsize:
            return codec.decode_sensor(frame.payload, protocol)
    return Malformed(f"{size} bytes, no packet has that many")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="recorder", description=__doc__)
    parser.add_argument("interface", help="the cable to listen to")
    parser.add_argument("file", type=Path, help="new file for the recording")
    arguments = parser.parse_args()
    with one_line("recorder", when_stopped="The recording is complete."), Interrupts():
        record(arguments.interface, arguments.file, lambda: False)
