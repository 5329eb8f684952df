"""Interface of the drivers of a master board: our own (`native`), the vendor's library (`sdk`)."""

from __future__ import annotations

from typing import Protocol

from deploy.common.robot_error import RobotError
from deploy.robots.odri.wire.protocol import ALL_DRIVERS, NUM_DRIVERS, MotorCommand, SensorPacket

WORD = 2**16
"""Number of values of the 16-bit counters in packets, which wrap around."""
LARGEST_LAG = 10
"""Largest number of unconfirmed commands; a board that has disarmed confirms no commands."""


class BoardError(RobotError):
    """A board that does not answer, or violates the protocol."""


class Board(Protocol):
    """Session with a board. No call blocks longer than its timeout."""

    driver: str
    """Name of the driver."""
    protocol: int
    """Protocol version of the board; known once connected."""
    drivers: int
    """Bit mask of the driver boards that answered; known once connected."""
    address: str
    """MAC address of the board, which identifies the robot."""

    @property
    def lost(self) -> int:
        """Number of sensor packets that the board sent but that did not arrive."""

    @property
    def rejected(self) -> int | None:
        """Number of frames that were malformed, of another session, duplicate or late.

        None if unknown.
        """

    def connect(self) -> bool:
        """Request a session; return True once the board has acknowledged it. Call once per tick."""

    def receive(self, timeout: float) -> SensorPacket | None:
        """Return the newest measurements if they were not returned before.

        Wait at most `timeout` [s]. Return None if there are none, or before the session is open.
        """

    def send(self, command: MotorCommand) -> None:
        """Send a command; refuse it if the protocol cannot carry it."""

    @property
    def command_lag(self) -> int:
        """Number of commands sent after the last one that the board has confirmed."""

    def close(self) -> None:
        """End the session; the board switches the motors off 20 ms later."""


def check_drivers(drivers: int) -> None:
    """Refuse a board with missing motor drivers.

    Raises:
        BoardError: The message has the numbers of the missing drivers.
    """
    missing = [str(driver) for driver in range(NUM_DRIVERS) if not drivers >> driver & 1]
    if missing:
        raise BoardError(
            f"Of {NUM_DRIVERS} motor drivers, number {', '.join(missing)} did not answer the "
            f"master board (mask {drivers:#04x}, expected {ALL_DRIVERS:#04x}): check its power and "
            "SPI cable, then start again."
        )


def lag(sent: int, confirmed: int) -> int:
    """Return the number of commands sent after the confirmed one, by wrapping indices."""
    return (sent - confirmed) % WORD
