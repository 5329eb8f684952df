"""Walks on the wall clock, and the causes of those that end early.

A bare C loop on every processor measures the stalls of the machine. The scheduler's statistics
contain the time that robot and controller waited for a processor because of more urgent programs.
Any other delay is a fault of this project.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np

from deploy.common.robot_constants import TICK
from deploy.common.state_machine import ControllerState
from deploy.launch.deployment_report import SUMMARY_FILE
from deploy.robots.process.robot_process import ROBOT_PRIORITY
from deploy.robots.virtual_board.__main__ import BOARD_PRIORITY as BOARD_PRIORITY

from .deploy import URL, c_loop, run_c_loop, solo_deploy
from .harness import Pairs, benchmark

SECONDS, SKILLS = 120, range(5)
SHORTEST = 20.0
"""Shortest walk that is still started [s]."""
LOOK = 0.1
"""Interval between samples of the hypervisor's and the scheduler's statistics [s]."""
LONGEST = SECONDS + 180.0
"""Upper bound for a walk, including bring-up and shut-down [s]."""
BEFORE = 0.2
"""Longest time between a cause and its fault [s].

The controller's checks wait for 0.1 s, those of the robot process for less.
"""
STALL = 0.005
"""Total delay that explains a fault: half of the largest allowed state age [s]."""
PIECE = 0.0005
"""Shortest delay of the bare loop that counts as a stall; less is jitter of the timer [s]."""
USUAL = 0.9
"""Quantile of a run's waiting times that counts as usual."""
LATE_TICKS = 10
"""Late ticks of the bare loop that explain an overrun: half of those that are a fault."""
TABLE = (
    "| skill | walked | overruns | left out by the board | C loops at worst | stolen | ended |\n"
    "|---|---|---|---|---|---|---|\n"
)
MOST_URGENT = max(ROBOT_PRIORITY, BOARD_PRIORITY) + 1
"""Priority above all processes of this project, including a virtual board.

Only the machine can delay a loop at this priority.
"""


@dataclass(frozen=True)
class Look:
    """Sample of one processor over about a tenth of a second."""

    cpu: int
    begun: float
    ended: float
    lateness: np.ndarray  # (ticks,) of the C loop [s]
    steal: float
    """Time of this processor that the hypervisor gave to other guests [s]."""
    waited: float
    """Longest time that robot or controller waited for a processor [s]."""
    before: float = 0.0
    """Lateness of the tick before the first [s]."""

    @property
    def stalled(self) -> float:
        """Time without a running process here: the growth of lateness from tick to tick [s]."""
        growth = np.diff(self.lateness, prepend=self.before)
        return float(growth[growth > PIECE].sum())


@dataclass(frozen=True)
class Sample:
    """System statistics at one moment."""

    time: float
    steal: dict[int, float]  # processor: time [s]
    waited: dict[int, float]  # process: time [s]


class Beside:
    """A bare C loop on every processor, more urgent than all processes of this project.

    Its lateness comes from the machine alone. Samples are taken at normal priority, because an
    urgent observer in Python would delay the robot.
    """

    def __init__(self) -> None:
        """Compile the loop."""
        c_loop()
        self.looks: list[Look] = []
        """All samples; complete after the context has ended."""
        self.followed: list[int] = []
        """Processes to sample for waiting times."""
        self._samples: list[Sample] = []
        self._late = {
            cpu: np.zeros(round(LONGEST / TICK), dtype=np.int64) for cpu in os.sched_getaffinity(0)
        }
        self._begun: dict[int, float] = {}
        self._made: dict[int, int] = {}
        self._stop, self._over = ctypes.c_int(0), threading.Event()
        self._loops = [threading.Thread(target=self._run, args=(cpu,)) for cpu in self._late]
        self._looker = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        """Start the loops; start the sampling when all loops have begun."""
        for thread in self._loops:
            thread.start()
        while len(self._begun) < len(self._loops):
            time.sleep(TICK)
        self._looker.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, and combine the samples."""
        self._stop.value = 1
        self._over.set()
        for thread in (*self._loops, self._looker):
            thread.join()
        self.looks = [
            self._between(cpu, before, after)
            for before, after in pairwise(self._samples)
            for cpu in self._late
        ]

    def _run(self, cpu: int) -> None:
        os.sched_setaffinity(0, {cpu})  # applies to this thread only, as does the next call
        with suppress(PermissionError):  # robot and controller lack this permission, too
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(MOST_URGENT))
        self._begun[cpu] = time.monotonic()
        self._made[cpu] = run_c_loop(self._late[cpu], self._stop)

    def _look(self) -> None:
        while not self._over.wait(LOOK):
            steals, waited = (
                {cpu: steal(cpu) for cpu in self._late},
                {pid: waiting(pid) for pid in self.followed},
            )
            self._samples.append(Sample(time.monotonic(), steals, waited))

    def _between(self, cpu: int, before: Sample, after: Sample) -> Look:
        first, last = (round((sample.time - self._begun[cpu]) / TICK) for sample in (before, after))
        late = self._late[cpu][: self._made[cpu]] * 1e-9
        longest = max(
            (total - before.waited.get(pid, total) for pid, total in after.waited.items()),
            default=0.0,
        )
        stolen = after.steal[cpu] - before.steal[cpu]
        carried = float(late[first - 1]) if first > 0 else 0.0
        return Look(cpu, before.time, after.time, late[first:last], stolen, longest, carried)


def steal(cpu: int) -> float:
    """Time of a processor that the hypervisor gave to other guests since boot [s]."""
    _, rest = Path("/proc/stat").read_text().split(f"cpu{cpu} ", 1)
    return int(rest.split()[7]) / os.sysconf("SC_CLK_TCK")


def waiting(pid: int) -> float:
    """Time that the threads of a process have waited for a processor [s]."""
    try:
        stats = [(task / "schedstat").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:  # the process has just ended
        return 0.0
    return sum(int(text.split()[1]) for text in stats) * 1e-9


def descendants(pid: int) -> list[int]:
    """Return the children of a process, their children, and so on."""
    try:
        texts = [(task / "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:  # the process has just ended
        return []
    children = [int(child) for text in texts for child in text.split()]
    return children + [further for child in children for further in descendants(child)]


def blames(looks: list[Look], summary: dict[str, Any]) -> list[str]:
    """Name the cause of every trip of a run, including bring-up.

    A run that ended badly without a trip is reported as such.
    """
    trips = [
        entry["time"]
        for entry in summary["history"]
        if entry["state"] == ControllerState.FAULT.name
    ]
    if summary["robot_gave_up_at"] is not None and not trips:  # otherwise a trip made it give up
        trips = [summary["robot_gave_up_at"]]
    if summary["problems"] and not trips:
        return ["ours: no trip, and still not as asked"]
    return [blame(looks, when) for when in trips]


def blame(looks: list[Look], when: float) -> str:
    """Describe the machine before a fault, and name the cause that follows from it.

    The description includes how often the machine was in that state.
    """
    who, seen = judge(looks, when)
    moments = {look.ended for look in looks if look.ended <= when}
    as_bad = [judge(looks, moment)[0] == who for moment in moments]
    often = (
        f"; in {100 * np.mean(as_bad):.0f} % of the run the same could be said" if as_bad else ""
    )
    return f"{who}: {seen}{often}" if who else seen


def judge(looks: list[Look], when: float) -> tuple[str, str]:
    """Return the cause of a fault at this moment, and the measurements that support it."""
    near = [look for look in looks if look.ended >= when - BEFORE and look.begun <= when]
    if not near:
        return "", "no sample before the fault"
    stalled = max(
        sum(look.stalled for look in near if look.cpu == cpu) for cpu in {look.cpu for look in near}
    )
    late = sum(int((look.lateness > TICK).sum()) for look in near)
    stolen, waited = sum(look.steal for look in near), max(look.waited for look in near)
    usual = float(
        np.quantile([look.waited for look in looks], USUAL)
    )  # robot and controller always wait for each other
    machine, others = stalled >= STALL or late >= LATE_TICKS, waited - usual >= STALL
    who = "the machine" if machine else "other programs" if others else "ours"
    return who, (
        f"C loops stalled for {1000 * stalled:.1f} ms, {late} ticks late by more than "
        f"{1000 * TICK:.0f} ms, "
        f"{1000 * stolen:.0f} ms stolen, {1000 * waited:.0f} ms waited for a processor "
        f"(usually up to {1000 * usual:.0f})"
    )


@benchmark(unit="us")
def wall_walks() -> Pairs:
    """p99 of the ticks' lateness on the wall clock, two minutes of each skill.

    The reference is the lateness of C loops that run beside it. The cause of each trip is printed.
    """
    return wall("pybullet")


def wall(robot: str) -> Pairs:
    """Walk for two minutes with each skill; restart after every trip.

    Print the end of each walk.
    """
    sys.stdout.write(TABLE)
    pairs, guilty, walked = [], Counter[str](), 0.0
    for skill in SKILLS:
        end = time.monotonic() + SECONDS
        while (left := end - time.monotonic()) > SHORTEST:
            with Beside() as beside:
                summary = _walk(robot, skill, left, beside)
            late = np.concatenate([look.lateness for look in beside.looks])
            verdicts = blames(beside.looks, summary)
            _tell(skill, summary, beside, verdicts)
            guilty.update(verdict.split(":")[0] for verdict in verdicts)
            walked += (summary["walk"] or {}).get("walked_seconds", 0.0)
            if ours := summary["timing"]["lateness"]:
                pairs.append((ours["p99_us"], 1e6 * float(np.percentile(late, 99))))
    blamed = ", ".join(f"{who} {count}" for who, count in guilty.most_common())
    sys.stdout.write(
        f"walked {walked:.0f} s of {SECONDS * len(SKILLS)}; to blame for trips: "
        f"{blamed or 'none'}\n\n"
    )
    return pairs


def _tell(skill: int, summary: dict[str, Any], beside: Beside, verdicts: list[str]) -> None:
    walked = (summary["walk"] or {}).get("walked_seconds", 0.0)
    stolen = sum(look.steal for look in beside.looks)
    worst = max(look.lateness.max(initial=0.0) for look in beside.looks)
    cells = [str(skill), f"{walked:.0f} s", f"{summary['overruns']} of {summary['ticks']}"]
    cells += [str(summary["board_left_out"]), f"{1000 * worst:.1f} ms", f"{stolen:.2f} s"]
    ended = [*summary["problems"], *verdicts] or ["as asked"]
    sys.stdout.write(f"| {' | '.join([*cells, '; '.join(ended)])} |\n")
    sys.stdout.flush()


def _walk(robot: str, skill: int, seconds: float, beside: Beside) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        words = [
            "--robot",
            robot,
            "--headless",
            "--seconds",
            f"{seconds:.0f}",
            "--skill",
            str(skill),
        ]
        process = solo_deploy(
            *words, "--out", str(out), "--url", URL.format(port=os.getpid() % 900 + 100)
        )
        while process.poll() is None:
            beside.followed = descendants(process.pid)  # the robot process may be a board's child
            time.sleep(0.5)
        content: dict[str, Any] = json.loads((out / SUMMARY_FILE).read_text())
    return content
