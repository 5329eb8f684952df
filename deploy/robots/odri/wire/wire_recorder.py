"""Listen to the cable and write down every frame, both ways, in the format of packet captures (pcap, nanoseconds).

The file is complete up to its last whole record however the program ends, and other tools can open it. Listening
disturbs nobody: `python -m deploy.robots.odri.wire.wire_recorder INTERFACE FILE`.
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
PATIENCE = 0.1
STAMPED = 35
"""Linux' SO_TIMESTAMPNS."""
STAMP = struct.Struct("@ll")

Packet = Init | Ack | CommandPacket | SensorPacket | Malformed


@dataclass(frozen=True)
class Record:
    """A frame, when it passed [ns since 1970], and what it says."""

    time_ns: int
    frame: bytes
    packet: Packet

    @property
    def from_pc(self) -> bool:
        """Whether the PC sent it."""
        return self.frame[6:12] == PC_MAC


def record(interface: str, path: Path, stop: Callable[[], bool]) -> int:
    """Write all frames into a new file until told to stop; return how many."""
    check_interface(interface)
    if path.exists():
        raise RobotError(f"{path} exists: recordings are never overwritten. Choose another name.")
    count = 0
    with path.open("xb", buffering=0) as file, open_socket(interface, ALL_TYPES) as ear:
        ear.setsockopt(socket.SOL_SOCKET, STAMPED, 1)
        file.write(FILE_HEADER.pack(MAGIC, 2, 4, 0, 0, LONGEST, ETHERNET))
        while not stop():
            if not select.select([ear], [], [], PATIENCE)[0]:
                continue
            batch = list(_waiting(ear))
            file.write(b"".join(batch))
            count += len(batch)
    return count


def _waiting(ear: socket.socket) -> Iterator[bytes]:
    while True:
        try:
            data, notes, *_ = ear.recvmsg(LONGEST, socket.CMSG_SPACE(STAMP.size))
        except OSError as error:
            if error.errno in (
                errno.EAGAIN,
                errno.ENETDOWN,
            ):  # a cable that was pulled out may come back
                return
            raise
        yield pack_record(_stamp(notes), data)


def _stamp(notes: list[tuple[int, int, bytes]]) -> int:
    """When the kernel saw a frame [ns since 1970], however late this program reads it; now if it does not say."""
    for level, kind, data in notes:
        if (level, kind) == (socket.SOL_SOCKET, STAMPED):
            seconds, nanoseconds = STAMP.unpack(data)
            return int(seconds * SECOND + nanoseconds)
    return time.time_ns()


def pack_record(time_ns: int, frame: bytes) -> bytes:
    """Put a record's header before a frame."""
    return RECORD_HEADER.pack(time_ns // SECOND, time_ns % SECOND, len(frame), len(frame)) + frame


def replay(path: Path) -> Iterator[Record]:
    """Read a recording through the decoders; a last record that was cut off is left out.

    Raises:
        RobotError: The file is no recording.
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
    """Read a frame of any kind; its length tells which."""
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
