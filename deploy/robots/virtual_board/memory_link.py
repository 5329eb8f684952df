"""Link to a board in the same process, in lock-step: one tick per payload.

It is deterministic and needs no network rights.
"""

from __future__ import annotations

from collections import deque

from deploy.robots.odri.wire.ethernet import Frame

from .faulty_wire import FaultyWire, WireFaults
from .master_board import MasterBoard
from .virtual_robot import BOARD_MAC


class LockStep:
    """Board behind a cable with possible faults; each exchange advances the board by one tick."""

    def __init__(self, board: MasterBoard, seed: int = 0) -> None:
        """Connect to a board."""
        self.board = board
        self.left_out = 0
        """Number of ticks skipped in real time because the host was late."""
        self.to_board = FaultyWire(WireFaults(), seed)
        self.to_pc = FaultyWire(WireFaults(), seed + 1)

    def exchange(self, payload: bytes) -> list[bytes]:
        """Send a payload; return all payloads that come back."""
        answers: list[bytes | None] = [
            self.board.receive(arrived) for arrived in self.to_board.pass_on(payload)
        ]
        answers.append(self.board.tick())
        arrived: list[bytes] = []
        for answer in answers:
            if answer is not None:
                arrived += self.to_pc.pass_on(answer)
        return arrived


class MemoryLink:
    """PC's end of the link to a board in lock-step; a `BoardLink`."""

    malformed = 0
    """Always 0: payloads travel without frames."""

    def __init__(self, lock_step: LockStep) -> None:
        """Connect."""
        self._lock_step = lock_step
        self._arrived: deque[bytes] = deque()

    def send(self, payload: bytes) -> None:
        """Send a payload: the board makes one tick."""
        self._arrived.extend(self._lock_step.exchange(payload))

    def receive(self, timeout: float) -> Frame | None:  # no wait: frames arrive only in `send`
        """Return the oldest frame that arrived, or None, without waiting."""
        if not self._arrived:
            return None
        return Frame(BOARD_MAC, self._arrived.popleft())

    def close(self) -> None:
        """Drop all frames that arrived."""
        self._arrived.clear()
