"""The cable to the board: raw Ethernet on one interface, which needs CAP_NET_RAW but not root."""

from __future__ import annotations

import errno
import fcntl
import select
import socket
import struct
import time
from typing import Protocol

from deploy.common.realtime import rights_command
from deploy.common.robot_error import RobotError

from .ethernet import ETHERTYPE, LONGEST_PAYLOAD, PC_MAC, Frame, pack_frame, unpack_frame
from .protocol import Malformed

GET_FLAGS = 0x8913
"""Linux' SIOCGIFFLAGS."""
ALL_TYPES = 0x0003
"""Linux' ETH_P_ALL: also what this machine itself sends."""
MOST_MALFORMED = 64
"""So many malformed frames are passed over in one look: who floods the cable must not hold up a tick."""
PRIORITY = 7
"""Highest that needs no further rights."""


class Link(Protocol):
    """A way to send payloads to a board and to receive its frames."""

    malformed: int
    """Frames of the board's type that were not accepted."""

    def send(self, payload: bytes) -> None:
        """Send a payload; one that cannot leave now is dropped, as the next comes in a millisecond."""

    def receive(self, timeout: float) -> Frame | None:
        """Return the oldest well-formed frame, waiting for it at most so long [s]."""

    def close(self) -> None:
        """Unplug."""


class EthernetLink:
    """A network interface, held for itself."""

    def __init__(self, interface: str, source: bytes = PC_MAC) -> None:
        """Open an interface.

        Raises:
            RobotError: It does not exist, is down or no cable to a board, or this program lacks the right.
        """
        check_interface(interface)
        self._interface, self._source = interface, source
        self._socket = open_socket(interface, ETHERTYPE)
        self.malformed = 0
        """Frames of the board's type that were not accepted."""

    def send(self, payload: bytes, kind: int = ETHERTYPE) -> None:
        """Send a payload; one that cannot leave now is dropped, as the next comes in a millisecond."""
        try:
            self._socket.send(pack_frame(payload, self._source, kind))
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            # A cable that is pulled out shows as silence; the caller's watch over sensor age finds it.
            if error.errno not in (errno.ENETDOWN, errno.ENOBUFS, errno.ENXIO, errno.ENODEV):
                raise RobotError(f"{self._interface}: cannot send ({error.strerror}).") from error

    def receive(self, timeout: float) -> Frame | None:
        """Return the oldest well-formed frame, waiting for it at most so long [s]."""
        deadline = time.monotonic() + timeout
        while True:
            frame = self._take()
            if frame is not None:
                return frame
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not select.select([self._socket], [], [], remaining)[0]:
                return None

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _take(self) -> Frame | None:
        for _ in range(MOST_MALFORMED):
            try:
                data = self._socket.recv(LONGEST_PAYLOAD + 16)
            except OSError as error:  # nothing there, or the interface went down: silence, as above
                if error.errno in (
                    errno.EAGAIN,
                    errno.EINTR,
                    errno.ENETDOWN,
                    errno.ENODEV,
                    errno.ENXIO,
                ):
                    return None
                raise RobotError(
                    f"{self._interface}: cannot receive ({error.strerror})."
                ) from error
            frame = unpack_frame(data)
            if not isinstance(frame, Malformed):
                return frame
            self.malformed += 1
        return None


def check_interface(interface: str) -> None:
    """Refuse an interface that cannot be the cable to a board.

    Raises:
        RobotError: Naming those that could be.
    """
    present = sorted(name for _, name in socket.if_nameindex())
    usable = [name for name in present if name.startswith("e")] or ["none"]
    if interface not in present:
        raise RobotError(
            f"There is no network interface {interface!r}. Wired ones here: {', '.join(usable)}."
        )
    if not interface.startswith(
        "e"
    ):  # the vendor's library tells cable from WiFi by the name, and crashes on `lo`
        raise RobotError(
            f"{interface!r} is not a wired interface by its name, which must begin with 'e'. Here: {', '.join(usable)}."
        )
    if not _is_up(interface):
        raise RobotError(
            f"The interface {interface!r} is down. Run: sudo ip link set {interface} up"
        )


def _is_up(interface: str) -> bool:
    # Not from /sys, which shows the interfaces of the namespace it was mounted in.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        answer = fcntl.ioctl(any_socket, GET_FLAGS, struct.pack("16sH14x", interface.encode(), 0))
    return bool(struct.unpack("16xH14x", answer)[0] & 1)


def open_socket(interface: str, kind: int) -> socket.socket:
    """Open a raw, non-blocking socket for frames of one type.

    Raises:
        RobotError: This program lacks CAP_NET_RAW; the message holds the command that gives it.
    """
    try:
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(kind))
    except PermissionError:
        raise RobotError(
            f"Raw Ethernet on {interface!r} needs CAP_NET_RAW. Run once: {rights_command()}"
        ) from None
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, PRIORITY)
    raw.bind((interface, kind))
    raw.setblocking(False)
    return raw
