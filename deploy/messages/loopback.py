"""Confinement of LCM's sockets to the loopback interface, with a filter in the kernel.

LCM joins its multicast group on the interface of the default route. A ttl of 0 keeps sent packets
on the host, but packets of other hosts still arrive. Here, the group is joined on the loopback
interface only, and the kernel drops all packets that:

- arrive on another interface,
- are fragments of a large message, whose announced size LCM would allocate unchecked,
- are longer than every message of this project, or no packet of LCM at all.
"""

from __future__ import annotations

import ctypes
import os
import re
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from solo_doi.common.errors import SoloError

LOOPBACK = "lo"
"""Name of the loopback interface."""
LARGEST_CHANNEL = 63
"""Longest name of an LCM channel [bytes]."""
SHORT_MESSAGE = int.from_bytes(b"LC02", "big")
"""First bytes of an LCM packet that contains a whole message."""
HEADERS = 8 + 8 + LARGEST_CHANNEL + 1
"""Largest length of the headers: UDP, LCM, channel with its final zero [bytes]."""
IP_MULTICAST_ALL = 49
"""Linux socket option: deliver packets of groups that other sockets have joined."""
SO_ATTACH_FILTER = 26
"""Linux socket option: packet filter, as for packet capture."""
PACKET_INTERFACE = 0xFFFFF008
"""Address of the interface number in a packet filter (SKF_AD_OFF + SKF_AD_IFINDEX)."""
LOAD_WORD = 0x20
LOAD_LENGTH = 0x80
JUMP_IF_EQUAL = 0x15
JUMP_IF_GREATER = 0x25
RETURN_LENGTH = 0x06
Made = TypeVar("Made")


class LoopbackGroup:
    """One multicast group on the loopback interface, and LCM's sockets in it."""

    def __init__(self, url: str, largest_message: int) -> None:
        """Use the group and port of an LCM address.

        `largest_message` is the length of the longest message to accept [bytes].
        """
        parts = re.match(r"udpm://([\d.]+):(\d+)", url)
        if parts is None:
            raise SoloError(
                f"{url}: messages stay on this host, so the address must begin with "
                "udpm://ADDRESS:PORT, such as udpm://239.255.76.67:7667?ttl=0."
            )
        self._group = socket.inet_aton(parts[1])
        self._address = (parts[1], int(parts[2]))
        self._interface = socket.if_nametoindex(LOOPBACK)
        self._longest = largest_message + HEADERS

    def make_sender(self, make: Callable[[], Made]) -> Made:
        """Call `make`, which opens LCM's sending socket, and let that send to the loopback only."""
        made, opened = _opened_by(make)
        for sender in opened:
            with sender:
                sender.setsockopt(
                    socket.IPPROTO_IP, socket.IP_MULTICAST_IF, self._membership(self._interface)
                )
                # LCM joins the group with this socket too, on the interface of the default route.
                self._leave_default(sender)
        if len(opened) != 1:
            raise _unknown_lcm(len(opened))
        return made

    def make_receiver(self, make: Callable[[], Made]) -> Made:
        """Call `make`, which opens LCM's receiving socket, and confine that to the loopback."""
        # LCM tests itself within the call, and has not joined the loopback yet.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as member:
            self._join(member)
            made, opened = _opened_by(make)
            receivers = [found for found in opened if found.getsockname() == self._address]
            for receiver in receivers:
                self._confine(receiver)
        for found in opened:
            found.close()
        if len(receivers) != 1:
            raise _unknown_lcm(len(receivers))
        return made

    def _confine(self, receiver: socket.socket) -> None:
        program = packet_filter(self._interface, self._longest)
        kept = ctypes.create_string_buffer(program)
        head = struct.pack("HP", len(program) // 8, ctypes.addressof(kept))
        receiver.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, head)
        receiver.setsockopt(socket.IPPROTO_IP, IP_MULTICAST_ALL, 0)
        self._leave_default(receiver)
        self._join(receiver)

    def _join(self, member: socket.socket) -> None:
        membership = self._membership(self._interface)
        member.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)

    def _leave_default(self, member: socket.socket) -> None:
        with suppress(OSError):  # that interface is gone, and its membership with it
            member.setsockopt(socket.IPPROTO_IP, socket.IP_DROP_MEMBERSHIP, self._membership(0))

    def _membership(self, interface: int) -> bytes:
        """Return the kernel's `ip_mreqn`: group, any address, interface number."""
        return struct.pack("4s4si", self._group, bytes(4), interface)


def packet_filter(interface: int, longest: int) -> bytes:
    """Return the packet filter of a receiving socket, in the kernel's instructions.

    It accepts whole LCM messages of at most `longest` bytes with headers, from one interface.
    """
    instructions = (
        (LOAD_WORD, 0, 0, PACKET_INTERFACE),
        (JUMP_IF_EQUAL, 0, 5, interface),
        (LOAD_LENGTH, 0, 0, 0),
        (JUMP_IF_GREATER, 3, 0, longest),
        (LOAD_WORD, 0, 0, 8),  # behind the UDP header; a packet without these bytes is dropped
        (JUMP_IF_EQUAL, 0, 1, SHORT_MESSAGE),
        (RETURN_LENGTH, 0, 0, 0xFFFF),
        (RETURN_LENGTH, 0, 0, 0),
    )
    return b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)


def _opened_by(make: Callable[[], Made]) -> tuple[Made, list[socket.socket]]:
    """Call a function; return its result and duplicates of the UDP sockets that it opened."""
    before = _sockets()
    made = make()
    opened = []
    for number in sorted(_sockets() - before):
        found = socket.socket(fileno=os.dup(number))
        if found.family == socket.AF_INET and found.type == socket.SOCK_DGRAM:
            opened.append(found)
        else:
            found.close()
    return made, opened


def _sockets() -> set[int]:
    """Return the numbers of this process's open sockets."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # closed meanwhile, as the listed folder itself
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                found.add(int(name))
    return found


def _unknown_lcm(count: int) -> SoloError:
    return SoloError(
        f"LCM opened {count} sockets where one was expected, so that messages could leave this "
        "host. Install the version of this project's requirements: pip install lcm==1.5.3"
    )
