"""The one interface of both ways to a master board: our own (`native`) and the vendor's library (`sdk`)."""

from __future__ import annotations

from typing import Protocol

from deploy.common.robot_error import RobotError
from deploy.robots.odri.wire.protocol import ALL_DRIVERS, NUM_DRIVERS, MotorCommand, SensorPacket

WORD = 2**16
LARGEST_LAG = 10
"""Commands that a board may leave unconfirmed; one that has switched the motors off confirms none."""


class BoardError(RobotError):
    """A board that does not answer, or not as it must."""


class Board(Protocol):
    """A session with a board. No call waits longer than it was told to."""

    driver: str
    """Name of this way to the board."""
    protocol: int
    """Which the board speaks; known once connected."""
    drivers: int
    """Which driver boards answered, as bits; known once connected."""
    address: str
    """Of the board's network card: tells one robot from another."""

    @property
    def lost(self) -> int:
        """How many sensor packets were sent but did not come."""

    @property
    def rejected(self) -> int | None:
        """How many frames of the board's type were no news of it; None where a driver does not tell."""

    def connect(self) -> bool:
        """Ask for a session once, and return whether the board has acknowledged it. Call once per tick."""

    def receive(self, timeout: float) -> SensorPacket | None:
        """Return the newest measurements that were not returned before, waiting for them at most so long [s].

        Nothing before it is connected.
        """

    def send(self, command: MotorCommand) -> None:
        """Send a command, or refuse it if the wire cannot carry it."""

    @property
    def command_lag(self) -> int:
        """How many commands were sent after the last one the board has confirmed: above 10 it ignores us."""

    def close(self) -> None:
        """Stop talking; the board switches the motors off 20 ms later."""


def check_drivers(drivers: int) -> None:
    """Refuse a board on which a driver is missing.

    Raises:
        BoardError: Naming them.
    """
    missing = [str(driver) for driver in range(NUM_DRIVERS) if not drivers >> driver & 1]
    if missing:
        raise BoardError(
            f"Of {NUM_DRIVERS} motor drivers, number {', '.join(missing)} did not answer the master board "
            f"(mask {drivers:#04x}, expected {ALL_DRIVERS:#04x}): check its power and SPI cable, then start again."
        )


def lag(sent: int, confirmed: int) -> int:
    """Commands from a confirmed index to a sent one; indices wrap."""
    return (sent - confirmed) % WORD
