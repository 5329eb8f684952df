"""Packets of an attacker without the key, in LCM's format, made with the standard library only."""

from __future__ import annotations

import socket
import struct
import time

from deploy.messages.lcm_link import MESSAGE_SIZES, STATE_CHANNEL, blank

HUGE = 256_000_000
"""Size that a forged fragment announces [bytes]."""
KINDS = ("forged", "fragment", "long", "junk")


def packet(kind: str, number: int) -> bytes:
    """Return one hostile packet; `number` makes it differ from others."""
    channel = STATE_CHANNEL.encode() + b"\0"
    if kind == "forged":
        return struct.pack(">4sI", b"LC02", number) + channel + blank(STATE_CHANNEL).encode()
    if kind == "fragment":
        head = struct.pack(">4sIIIHH", b"LC03", number, HUGE, 0, 0, 200)
        return head + channel + bytes(100)
    if kind == "long":
        return struct.pack(">4sI", b"LC02", number) + channel + bytes(60_000)
    assert kind == "junk"
    return bytes([number % 256]) * (number % 40)


def attack(address: tuple[str, int], count: int, interface: str) -> None:
    """Send `count` packets of every kind from an interface of this host, by its address."""
    assert MESSAGE_SIZES[STATE_CHANNEL] < len(packet("long", 0))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(interface))
        for number in range(count):
            for kind in KINDS:
                sender.sendto(packet(kind, number), address)
            time.sleep(0.001)  # a queue that overflows would hide what arrives
