"""Pair of virtual network interfaces: one for the PC, one for the board."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from deploy.common.robot_error import RobotError

PC_END = "esolo0"
"""Interface of the PC; the vendor's library accepts only names that begin with `e`."""
BOARD_END = "esolo1"
"""Interface of the board."""


@contextmanager
def veth_pair(pc_end: str = PC_END, board_end: str = BOARD_END) -> Iterator[tuple[str, str]]:
    """Make the pair of interfaces, and remove it at the end.

    Raises:
        RobotError: This program lacks network rights, or the names are in use.
    """
    _ip("link", "add", pc_end, "type", "veth", "peer", "name", board_end)
    try:
        for end in (pc_end, board_end):
            # Only the board's packets may travel here: no ARP, no IPv6 neighbour discovery.
            _ip("link", "set", end, "addrgenmode", "none")
            _ip("link", "set", end, "arp", "off", "up")
        yield pc_end, board_end
    finally:
        subprocess.run(["ip", "link", "delete", pc_end], check=False, capture_output=True)


def _ip(*arguments: str) -> None:
    try:
        result = subprocess.run(["ip", *arguments], check=False, capture_output=True, text=True)
    except FileNotFoundError:
        raise RobotError(
            "Making network interfaces needs the program 'ip' (package iproute2)."
        ) from None
    if result.returncode:
        raise RobotError(
            f"ip {' '.join(arguments)}: {result.stderr.strip()}. Without the right to make "
            "interfaces, run inside a network namespace: unshare -Urn COMMAND"
        )
