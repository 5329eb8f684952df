"""Link to the board: raw Ethernet on one interface, which needs CAP_NET_RAW but not root."""

from __future__ import annotations

import errno
import fcntl
import select
import socket
import struct
import time
from typing import Protocol

from deploy.common.interpreter_rights import rights_command
from deploy.common.robot_error import RobotError
from solo_doi.common.errors import ALL_CHECKS

from .ethernet import ETHERTYPE, LONGEST_PAYLOAD, PC_MAC, Frame, pack_frame, unpack_frame
from .protocol import Malformed

GET_FLAGS = 0x8913
"""Linux ioctl SIOCGIFFLAGS: read the flags of an interface."""
ALL_TYPES = 0x0003
"""Linux ETH_P_ALL: frames of all types, including those that this host sends."""
MOST_MALFORMED = 64
"""Largest number of malformed frames skipped in one read: a flood must not stall a tick."""
NOTHING_TO_READ = (errno.EAGAIN, errno.EINTR, errno.ENETDOWN, errno.ENODEV, errno.ENXIO)
"""Errors of an empty socket or an interface that is down; both are treated as silence."""
SOCKET_PRIORITY = 7
"""Highest socket priority that needs no additional capability."""


class BoardLink(Protocol):
    """Sends payloads to a board and receives its frames."""

    malformed: int
    """Number of frames of the board's type that were not accepted."""

    def send(self, payload: bytes) -> None:
        """Send a payload; drop it if the socket is busy, as the next follows in 1 ms."""

    def receive(self, timeout: float) -> Frame | None:
        """Return the oldest well-formed frame; wait at most `timeout` [s]."""

    def close(self) -> None:
        """Release the link."""


class EthernetLink:
    """Raw socket on one network interface."""

    def __init__(self, interface: str, source: bytes = PC_MAC) -> None:
        """Open an interface.

        Raises:
            RobotError: The interface is missing, down or not wired, or CAP_NET_RAW is missing.
        """
        check_interface(interface)
        self._interface = interface
        self._source = source
        self._socket = open_socket(interface, ETHERTYPE)
        self.malformed = 0
        """Number of frames of the board's type that were not accepted."""

    def send(self, payload: bytes, kind: int = ETHERTYPE) -> None:
        """Send a payload; drop it if the socket is busy, as the next follows in 1 ms."""
        try:
            self._socket.send(pack_frame(payload, self._source, kind))
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            # An unplugged cable is treated as silence; the check of the sensors' age detects it.
            if error.errno not in (errno.ENETDOWN, errno.ENOBUFS, errno.ENXIO, errno.ENODEV):
                raise RobotError(f"{self._interface}: cannot send ({error.strerror}).") from error

    def receive(self, timeout: float) -> Frame | None:
        """Return the oldest well-formed frame; wait at most `timeout` [s]."""
        deadline = time.monotonic() + timeout
        while True:
            frame = self._read()
            if frame is not None:
                return frame
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not select.select([self._socket], [], [], remaining)[0]:
                return None

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _read(self) -> Frame | None:
        for _ in range(MOST_MALFORMED):
            try:
                data = self._socket.recv(LONGEST_PAYLOAD + 16)
            except OSError as error:
                if error.errno in NOTHING_TO_READ:
                    return None
                raise RobotError(
                    f"{self._interface}: cannot receive ({error.strerror})."
                ) from error
            frame = unpack_frame(data)
            if not isinstance(frame, Malformed):
                return frame
            self.malformed += 1
        return None


def present_interfaces() -> list[str]:
    """Return the names of this computer's network interfaces."""
    # /sys/class/net would show the interfaces of another network namespace.
    return sorted(name for _, name in socket.if_nameindex())


def check_interface(interface: str) -> None:
    """Refuse an interface that cannot be the link to a board.

    Raises:
        RobotError: The message has the remedy, or the interfaces that exist.
    """
    present = present_interfaces()
    here = f"Interfaces here: {', '.join(present) or 'none'}."
    if interface not in present:
        raise RobotError(
            f"There is no network interface {interface!r}. {here} "
            "Expected a wired one, whose name begins with 'e'."
        )
    # The vendor's library recognises wired interfaces by the name, and crashes on `lo`.
    if not interface.startswith("e"):
        raise RobotError(
            f"{interface!r} is not a wired interface by its name, which must begin with 'e'. {here}"
        )
    if not _is_up(interface):
        raise RobotError(
            f"The interface {interface!r} is down. Run: sudo ip link set {interface} up"
        )


def _is_up(interface: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answer = fcntl.ioctl(any_socket, GET_FLAGS, struct.pack("16sH14x", interface.encode(), 0))
    return bool(struct.unpack("16xH14x", answer)[0] & 1)


def open_socket(interface: str, kind: int) -> socket.socket:
    """Open a raw, non-blocking socket for frames of one type.

    Raises:
        RobotError: This program lacks CAP_NET_RAW; the message contains the command to add it.
    """
    try:
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(kind))
    except PermissionError:
        raise RobotError(
            f"Raw Ethernet on {interface!r} needs CAP_NET_RAW. Run once: {rights_command()} "
            f"({ALL_CHECKS})"
        ) from None
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, SOCKET_PRIORITY)
    raw.bind((interface, kind))
    raw.setblocking(False)
    return raw
