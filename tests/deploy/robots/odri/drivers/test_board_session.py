"""A session with a board.

Its clock continues when the board is silent, and it counts packets lost on the cable.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from deploy.common.robot_constants import damping_command
from deploy.robots.odri.bench.calibration_phase import Phase
from deploy.robots.odri.bench.calibrator import Calibrator
from deploy.robots.odri.bench.inspection import Inspection
from deploy.robots.odri.bring_up.bring_up_stage import Stage
from deploy.robots.odri.drivers.board_session import LOCK_STEP_SILENCE, LOCK_STEP_WAIT, BoardSession
from deploy.robots.odri.drivers.motors import motors_off
from deploy.robots.odri.drivers.native_board import NativeBoard
from deploy.robots.odri.solo12 import Solo12
from deploy.robots.virtual_board.body import Body, BodyConfig
from deploy.robots.virtual_board.master_board import MasterBoard
from deploy.robots.virtual_board.memory_link import LockStep, MemoryLink
from tests.deploy.robots.odri.robots import CALIBRATION, Simulated, Waiting


class Waits(NativeBoard):
    """A driver that records its waiting times."""

    def receive(self, timeout: float):  # noqa: ANN201
        """Return the waiting packet."""
        self.waited = timeout
        return super().receive(timeout)


@pytest.fixture
def lock_step() -> LockStep:
    """Return a board and a good cable."""
    return LockStep(MasterBoard(Body(BodyConfig()), 4))


@pytest.fixture
def session(lock_step: LockStep) -> BoardSession:
    """Return an open session after its first measurement."""
    session = BoardSession(Waits(MemoryLink(lock_step), 77), lock_step=True)
    while not session.open():
        pass
    exchange(session, 1)
    return session


def exchange(session: BoardSession, times: int) -> None:
    """Send and receive."""
    for _ in range(times):
        session.send(motors_off())
        session.receive()


def test_time_goes_on_when_a_board_in_lock_step_is_silent(
    session: BoardSession, lock_step: LockStep
) -> None:
    """Otherwise the silence would never be detected.

    The session waits a few times; its time continues without a jump when the board is back.
    """
    begun = session.time
    lock_step.board.stalled = True
    waits = []
    for _ in range(6):
        exchange(session, 1)
        waits.append(session.board.waited)  # type: ignore[attr-defined]
    assert waits == [LOCK_STEP_WAIT] * LOCK_STEP_SILENCE + [0.0] * (6 - LOCK_STEP_SILENCE)
    assert session.time == pytest.approx(begun + 0.006)
    lock_step.board.stalled = False
    exchange(session, 3)
    assert session.time == pytest.approx(
        begun + 0.008
    )  # the first packet covers the time that was counted
    assert session.board.waited == LOCK_STEP_WAIT  # type: ignore[attr-defined]


def test_a_packet_that_was_lost_takes_its_time_once(
    session: BoardSession, lock_step: LockStep
) -> None:
    """The tick is counted when no packet arrives, and not again at the next index."""
    begun = session.time
    lock_step.to_pc.faults.drop = 1.0
    exchange(session, 1)
    lock_step.to_pc.faults.drop = 0.0
    exchange(session, 1)
    assert session.time == pytest.approx(begun + 0.002)


def test_losses_of_both_ways_are_counted(session: BoardSession, lock_step: LockStep) -> None:
    """Three commands and two measurements are lost; a duplicated command does not count."""
    lock_step.to_board.faults.duplicate = 1.0
    exchange(session, 5)
    assert session.lost == 0
    lock_step.to_board.faults.duplicate = 0.0
    lock_step.to_board.faults.drop = 1.0
    exchange(session, 3)
    lock_step.to_board.faults.drop = 0.0
    lock_step.to_pc.faults.drop = 1.0
    exchange(session, 2)
    lock_step.to_pc.faults.drop = 0.0
    exchange(session, 2)
    assert session.lost == 5


# --- Duration of silence -------------------------------------------------------------------------


def begun(
    board: Waiting, clock: Simulated, job: str
) -> tuple[Callable[[], None], Callable[[], bool]]:
    """Start a job; return its tick, and a function that is true after its end."""
    if job == "inspection":
        look = Inspection(board, seconds=9.0, clock=clock)
        return look.step, lambda: look.is_over
    if job == "calibrator":
        calibrator = Calibrator(board, yes=True, clock=clock)
        while calibrator.phase is not Phase.MEASURE:
            calibrator.step()
        return calibrator.step, lambda: calibrator.phase is Phase.FAILED
    robot = Solo12(board, CALIBRATION, clock=clock)

    def tick() -> None:
        robot.sense()
        robot.drive(damping_command(), robot.time)

    while robot.stage != Stage.SEARCH.value:
        tick()
    return tick, lambda: robot.stage == Stage.FAILED.value


@pytest.mark.parametrize(
    ("job", "limit"), [("solo12", 0.020), ("calibrator", 0.020), ("inspection", 1.0)]
)
def test_silence_is_timed_by_the_clock(job: str, limit: float, lock_step: LockStep) -> None:
    """A tick without a packet waits for two milliseconds, so ticks are not a measure of time."""
    clock = Simulated()
    board = Waiting(lock_step, clock)
    tick, ended = begun(board, clock, job)
    for _ in range(100):
        tick()
    assert not ended()
    board.silent, silent_since = True, clock.now_ns()
    while not ended():
        tick()
    assert limit - 0.002 < (clock.now_ns() - silent_since) * 1e-9 < limit + 0.003


def test_silence_starts_with_the_first_command(lock_step: LockStep) -> None:
    """The board sends no packet before the first command, for any waiting time."""
    clock = Simulated()
    session = BoardSession(Waiting(lock_step, clock), clock=clock)
    while not session.open():
        pass
    clock.sleep(5.0)
    assert session.silence == 0.0
    session.send(motors_off())
    clock.sleep(0.5)
    assert session.silence == pytest.approx(0.5)
