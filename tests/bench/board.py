"""Endurance of the robot behind a virtual master board: ten minutes of simulated time, and of the wall clock."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.operators import Script
from deploy.realtime import prepare
from deploy.report import SUMMARY_FILE
from deploy.robots.process import PRIORITY
from tests.deploy.board_world import BoardRig
from tests.deploy.world import ListRecorder

from .board_wall import in_network
from .deploy import c_lateness
from .harness import Pairs, benchmark

MINUTE = 60_000
"""[ticks]"""
TEN_MINUTES = 600.0
LATE = 0.005
"""How late a bare loop in C may be before the machine is to blame for a trip [s]."""
NEAR = 1.5
"""How far from a trip its cause may lie [s]."""


class Forgetful(ListRecorder):
    """Keeps incidents, and no messages: what grows must be the loop."""

    def put(self, channel: str, data: bytes) -> None:
        """Forget it."""


class SoakRig(BoardRig):
    """Walks for as long as it takes, and says every minute that it still does."""

    limit = 1000.0

    def tick(self, now: float) -> None:
        """Let a millisecond pass."""
        super().tick(now)
        ticks = self.loop.report.ticks
        if ticks and ticks % MINUTE == 0:
            sys.stderr.write(f"{ticks // MINUTE} min: {self.controller.state.name}, skill {self.controller.skill}\n")


@benchmark(unit="MB", at_most=1.05)
def board_soak() -> Pairs:
    """Memory after ten simulated minutes of walking behind the board, without a fault, against that after the first."""
    rig = SoakRig(operator=Script((0, 1, 2, 3, 4), 120.0), recorder=Forgetful()).run()
    if rig.problems or not rig.ledger.unharmed:
        raise RuntimeError(f"ten minutes behind the board ended with {rig.problems or rig.ledger}")
    memory = rig.loop.report.memory
    return [(memory["last"], memory["first"])] * 5


@benchmark(unit="s")
def board_wall_soak() -> Pairs:
    """Seconds of ten minutes on the wall clock without a fault behind the board; prints what each trip is due to."""
    program = "from tests.bench.board import weather; weather()"
    beside = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    begun = time.monotonic()
    runs = []
    while (left := begun + TEN_MINUTES - time.monotonic()) > 0:
        runs.append(_walk(left))
    beside.terminate()
    told, _ = beside.communicate()
    rows = [json.loads(line) for line in told.splitlines() if line.endswith("}")]
    sys.stdout.write("| after | named | C loop late | stolen | due to |\n|---|---|---|---|---|\n")
    for run in (run for run in runs if run.problem):
        near = [row for row in rows if run.earliest - NEAR <= row["time"] <= run.ended + NEAR]
        late, steal = (max((row[name] for row in near), default=0.0) for name in ("late", "steal"))
        blame = "machine" if max(late, steal) > LATE else "us"
        cells = [f"{run.ended - begun:.0f} s", run.problem, f"{1000 * late:.1f} ms", f"{1000 * steal:.0f} ms", blame]
        sys.stdout.write(f"| {' | '.join(cells)} |\n")
    return [(sum(run.ended - run.begun for run in runs), TEN_MINUTES)] * 5


def weather() -> None:
    """Tell every second how late a bare C loop was at worst and how much time the hypervisor took [s], until killed.

    The loop has the priority of the robot process, so that it is late when that one must be.
    """
    prepare(PRIORITY)
    stolen = _stolen()
    while True:
        late = float(c_lateness(1000).max())
        before, stolen = stolen, _stolen()
        row = {"time": time.monotonic(), "late": late, "steal": stolen - before}
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()


def _stolen() -> float:
    """Time that the hypervisor gave to others, of all processors [s]."""
    return int(Path("/proc/stat").read_text().splitlines()[0].split()[8]) / 100


@dataclass(frozen=True)
class Walk:
    """A deployment from its start to its first fault or its end; times are monotonic [s]."""

    begun: float
    earliest: float
    """When the problem can have begun: bring-up does not tell when it failed."""
    ended: float
    problem: str


def _walk(left: float) -> Walk:
    """Walk with all skills for what is left."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        words = ["--robot", "virtual", "--skill", "0", "--then", "1", "2", "3", "4", "--seconds", str(left / 5)]
        program = "from deploy.cli import main; main()"
        begun = time.monotonic()
        in_network(sys.executable, "-c", program, *words, "--out", str(out))
        summary: dict[str, Any] = json.loads((out / SUMMARY_FILE).read_text())
    faults = [entry["time"] for entry in summary["history"] if entry["state"] == "FAULT"]
    ended = faults[0] if faults else time.monotonic()
    named = [problem for problem in summary["problems"] if problem != "stopped before the script was done"]
    return Walk(begun, faults[0] if faults else begun, ended, (named or [""])[0])
