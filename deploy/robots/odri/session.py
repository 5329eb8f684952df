"""Open a session with a board, one request per tick."""

from __future__ import annotations

from .board import Board, BoardError, check_drivers

CONNECT_LIMIT = 2500
"""Requests before giving up; at one per tick as long as the vendor's library waits."""


class Opening:
    """Asks until the board has acknowledged and all its drivers answer."""

    def __init__(self, board: Board) -> None:
        """Take a board; nothing is sent yet."""
        self._board = board
        self._asked = 0

    def step(self) -> bool:
        """Ask once; return whether the session is open.

        Raises:
            BoardError: Nobody answers, or a driver is missing.
        """
        self._asked += 1
        if self._board.connect():
            check_drivers(self._board.drivers)
            return True
        if self._asked > CONNECT_LIMIT:
            raise BoardError(
                f"No master board answered {CONNECT_LIMIT} requests in protocols 4 and 3: is it powered, is this its "
                "cable, and does no other program hold a session with it?"
            )
        return False
