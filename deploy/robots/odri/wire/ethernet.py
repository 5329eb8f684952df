"""Ethernet frames: broadcast in both directions, own ethertype, length of the payload."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from .protocol import Malformed

ETHERTYPE = 0x88B5
BROADCAST = b"\xff" * 6
PC_MAC = bytes.fromhex("a01d4812a0c5")
"""Source address of the vendor's library; boards may be configured for it."""
HEADER = struct.Struct("<6s6s2sH")
SHORTEST = 64
"""Shortest frame; shorter ones are padded with zeros [bytes]."""
LONGEST_PAYLOAD = 1500 - 2
_TYPE = ETHERTYPE.to_bytes(2, "big")


@dataclass(frozen=True)
class Frame:
    """Source address and payload of a frame."""

    source: bytes
    payload: bytes


def pack_frame(payload: bytes, source: bytes = PC_MAC, kind: int = ETHERTYPE) -> bytes:
    """Build the frame of a payload."""
    header = HEADER.pack(BROADCAST, source, kind.to_bytes(2, "big"), len(payload))
    return (header + payload).ljust(SHORTEST, b"\0")


def unpack_frame(data: bytes) -> Frame | Malformed:
    """Parse a frame: check ethertype and length, remove the padding."""
    if len(data) < HEADER.size:
        return Malformed(f"{len(data)} bytes, a header has {HEADER.size}")
    _, source, kind, length = HEADER.unpack_from(data)
    if kind != _TYPE:
        return Malformed(f"ethertype {kind.hex()}, expected {_TYPE.hex()}")
    if length == 0 or length > len(data) - HEADER.size:
        return Malformed(f"a payload of {length} bytes in a frame of {len(data)}")
    return Frame(source, data[HEADER.size : HEADER.size + length])


def mac_text(address: bytes) -> str:
    """Return an address as text, such as `02:30:12:00:00:01`."""
    return address.hex(":")
