"""Our own driver's session, in addition to the contract of all drivers."""

from __future__ import annotations

from collections import deque

from deploy.robots.odri.drivers.native_board import NativeBoard
from deploy.robots.odri.wire.ethernet import Frame
from deploy.robots.virtual_board.body import Body, BodyConfig
from deploy.robots.virtual_board.master_board import MasterBoard
from deploy.robots.virtual_board.memory_link import LockStep, MemoryLink


class SlowLink(MemoryLink):
    """A cable that delivers an answer only after a first unsuccessful poll."""

    def __init__(self, lock_step: LockStep) -> None:
        """Connect."""
        super().__init__(lock_step)
        self._there: deque[Frame] = deque()

    def receive(self, timeout: float) -> Frame | None:
        """Return the delivered answer, and deliver the next one."""
        if self._there:
            return self._there.popleft()
        while (frame := super().receive(timeout)) is not None:
            self._there.append(frame)
        return None


def test_an_acknowledgement_that_comes_late_is_not_taken_for_measurements() -> None:
    """It is left for the next request, which then succeeds."""
    link = SlowLink(LockStep(MasterBoard(Body(BodyConfig()), 3)))
    board = NativeBoard(link, session=5)
    tries = 0
    while not board.connect():
        assert board.receive(0.0) is None
        tries += 1
        assert tries < 1000
    assert board.protocol == 3
