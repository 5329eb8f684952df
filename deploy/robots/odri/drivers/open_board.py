"""Choice of the driver of a master board."""

from __future__ import annotations

from typing import Literal

from deploy.robots.odri.wire.ethernet_link import EthernetLink

from .board import Board
from .native_board import NativeBoard
from .sdk_board import SdkBoard

Driver = Literal["native", "sdk"]


def open_board(interface: str, driver: Driver, *, lock_step: bool = False) -> Board:
    """Open a network card with one of the drivers; nothing is sent yet."""
    if driver == "sdk":
        return SdkBoard(interface, lock_step=lock_step)
    return NativeBoard(EthernetLink(interface))
