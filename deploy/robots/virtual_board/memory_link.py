"""A cable inside one process: the board makes one tick per payload it is sent. Deterministic, and no rights needed."""

from __future__ import annotations

from collections import deque

from deploy.robots.odri.wire.ethernet import Frame

from .faulty_wire import FaultyWire, WireFaults
from .master_board import MasterBoard
from .virtual_robot import BOARD_MAC


class LockStep:
    """A board that ticks when it is spoken to, behind a cable that may be bad."""

    def __init__(self, board: MasterBoard, seed: int = 0) -> None:
        """Connect to a board."""
        self.board = board
        self.left_out = 0
        """Ticks of the wall clock that the board did not make, as this machine was late."""
        self.to_board, self.to_pc = (
            FaultyWire(WireFaults(), seed),
            FaultyWire(WireFaults(), seed + 1),
        )

    def exchange(self, payload: bytes) -> list[bytes]:
        """Send a payload; return all that comes back."""
        answers: list[bytes | None] = [
            self.board.receive(arrived) for arrived in self.to_board.pass_on(payload)
        ]
        answers.append(self.board.tick())
        return [
            out for answer in answers if answer is not None for out in self.to_pc.pass_on(answer)
        ]


class MemoryLink:
    """The PC's end of a cable to a board in lock-step; a `BoardLink`."""

    malformed = 0
    """There are no frames, so none can be."""

    def __init__(self, lock_step: LockStep) -> None:
        """Connect."""
        self._lock_step = lock_step
        self._arrived: deque[bytes] = deque()

    def send(self, payload: bytes) -> None:
        """Send a payload: the board makes one tick."""
        self._arrived.extend(self._lock_step.exchange(payload))

    def receive(self, timeout: float) -> Frame | None:  # nothing comes while nothing is sent
        """Return the oldest frame that arrived, or nothing, at once."""
        return Frame(BOARD_MAC, self._arrived.popleft()) if self._arrived else None

    def close(self) -> None:
        """Unplug."""
        self._arrived.clear()
