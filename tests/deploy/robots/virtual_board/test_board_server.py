"""A board by the clock: one tick per millisecond, and a count of skipped ticks."""

from __future__ import annotations

import shlex
import subprocess
import sys
from types import SimpleNamespace

import pytest

from deploy.common.robot_constants import TICK
from deploy.robots.virtual_board import board_server as server
from deploy.robots.virtual_board.__main__ import report
from deploy.robots.virtual_board.body import Body, BodyConfig
from deploy.robots.virtual_board.fault_switches import FaultSchedule
from deploy.robots.virtual_board.master_board import MasterBoard
from deploy.robots.virtual_board.memory_link import LockStep
from deploy.robots.virtual_board.true_path import TruePath
from tests.contract.board_runs import ROOT, need_namespace

TICKS = 20


class LateMachine:
    """A clock and a silent cable.

    The machine stalls once, in the middle of the ticks.
    """

    def __init__(self, stall: float) -> None:
        """Start at an arbitrary time."""
        self.now, self._stall, self._looks = 100.0, stall, 0

    def receive(self, timeout: float) -> None:
        """Return no packet after the waiting time."""
        self.now += timeout

    def stop(self) -> bool:
        """Return True after the last tick."""
        self._looks += 1
        self.now += self._stall if self._looks == TICKS // 2 else 0.0
        return self._looks > TICKS


@pytest.mark.parametrize(("stall", "left_out"), [(0.0, 0), (5.5, 0), (30.5, 29)])
def test_ticks_skipped_by_a_late_machine_are_reported(
    stall: float, left_out: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five ticks are made up for.

    Further ticks are skipped, and their number is reported.
    """
    machine = LateMachine(stall * TICK)
    monkeypatch.setattr(server, "time", SimpleNamespace(monotonic=lambda: machine.now))
    board = LockStep(MasterBoard(Body(BodyConfig()), 4))
    server.serve_by_clock(board, machine, FaultSchedule([]), machine.stop)
    found = report(board, TruePath(board.board, lock_step=False))
    assert (found["ticks"], found["left_out"]) == (TICKS, left_out)


def test_a_report_that_cannot_be_written_is_one_line() -> None:
    """The file is written completely or not at all; the error is that of other files."""
    need_namespace()
    board = [
        sys.executable,
        "-m",
        "deploy.robots.virtual_board",
        "--veth",
        "--report",
        "/proc/none/board.json",
    ]
    command = shlex.join([*board, "--", "true"])
    ran = subprocess.run(
        ["unshare", "-Urn", "sh", "-c", command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith("virtual_board: /proc/none/board.json: cannot be written (")
