"""Recorder of all frames between PC and board, in both directions, as a packet capture (pcap).

Times have nanoseconds. The recorder only listens. The file is valid up to its last whole record,
even if the program is killed. Wireshark can open it.
"""

from __future__ import annotations

import errno
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from deploy.common.robot_error import RobotError
from solo_doi.common.files import reason

from . import codec
from .ethernet import PC_MAC, unpack_frame
from .ethernet_link import ALL_TYPES, check_interface, open_socket
from .protocol import (
    ACKS,
    COMMAND_PACKET,
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
"""Linux socket option SO_TIMESTAMPNS: the kernel's time of each frame."""
STAMP = struct.Struct("@ll")

Packet = Init | Ack | CommandPacket | SensorPacket | Malformed


@dataclass(frozen=True)
class Record:
    """A recorded frame: time [ns since 1970], bytes, and decoded packet."""

    time_ns: int
    frame: bytes
    packet: Packet

    @property
    def from_pc(self) -> bool:
        """True if the PC sent the frame."""
        return self.frame[6:12] == PC_MAC


def record(interface: str, path: Path, stop: Callable[[], bool]) -> int:
    """Write all frames to a new file until `stop` is true; return their number.

    Every frame that arrives after the file appears is recorded.

    Raises:
        RobotError: The interface cannot be used, or the file exists or cannot be written.
    """
    check_interface(interface)
    if path.exists():
        raise _exists(path)
    count = 0
    # Open the socket first: if that fails, no file is left that the next attempt would refuse.
    with open_socket(interface, ALL_TYPES) as listener:
        listener.setsockopt(socket.SOL_SOCKET, STAMPED, 1)
        with _new_recording(path) as file:
            ended = False
            while not ended:
                ended = stop()  # frames that have arrived by then are still written
                select.select([listener], [], [], 0.0 if ended else POLL_SECONDS)
                batch = list(_waiting(listener))
                _write(file, b"".join(batch))
                count += len(batch)
    return count


def _exists(path: Path) -> RobotError:
    return RobotError(f"{path} exists: recordings are never overwritten. Choose another name.")


def _new_recording(path: Path) -> FileIO:
    """Create a recording without frames; leave no file if that fails."""
    try:
        file = FileIO(path, "x")
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        raise RobotError(
            f"{path}: cannot be written ({reason(error)}). Choose another place."
        ) from error
    try:
        _write(file, FILE_HEADER.pack(MAGIC, 2, 4, 0, 0, LONGEST, ETHERNET))
    except RobotError:
        file.close()
        path.unlink()
        raise
    return file


def _write(file: FileIO, data: bytes) -> None:
    """Write all bytes, in several calls if needed: a nearly full disk accepts only a part."""
    try:
        while data:
            data = data[file.write(data) :]
    except OSError as error:
        raise RobotError(
            f"{file.name!s}: cannot be written ({reason(error)}). Free space or choose another "
            "place. Whole records are kept."
        ) from error


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
    """Return the kernel's time of a frame, or else the present time [ns since 1970]."""
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
        RobotError: The file cannot be read, or is not a recording.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RobotError(f"{path}: cannot be read ({reason(error)}).") from error
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
    if size == COMMAND_PACKET.itemsize:
        return codec.decode_command(frame.payload)
    if size in {layout.itemsize for layout in ACKS.values()}:
        return codec.decode_ack(frame.payload)
    for protocol, layout in SENSORS.items():
        if size == layout.itemsize:
            return codec.decode_sensor(frame.payload, protocol)
    return Malformed(f"{size} bytes, no packet has that many")
