"""Walks on the wall clock, and who is to blame if one ends early.

A bare C loop on every processor feels what the machine does to everybody. The system tells how long
robot and controller waited for a processor: more urgent programs do that to them. What neither
explains is our own doing.
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
from deploy.robots.process.robot_process import PRIORITY
from deploy.robots.virtual_board.__main__ import PRIORITY as BOARD_PRIORITY

from .deploy import URL, c_loop, run_c_loop, solo_deploy
from .harness import Pairs, benchmark

SECONDS, SKILLS = 120, range(5)
SHORTEST = 20.0
"""A walk for which less time is left is not begun [s]."""
LOOK = 0.1
"""Between looks at the hypervisor and at who waits [s]."""
LONGEST = SECONDS + 180.0
"""Longer than any walk with all that comes before and after it [s]."""
BEFORE = 0.2
"""How long before a fault its cause may lie.

Checks wait for 0.1 s, the robot's own for less [s].
"""
STALL = 0.005
"""Half of the state age that is a fault.

Who was kept from running for so long, even in pieces, is excused [s].
"""
PIECE = 0.0005
"""A shorter delay of the bare loop is its timer's, not a stall [s]."""
USUAL = 0.9
"""What is not exceeded for so much of a run is usual in it."""
LATE_TICKS = 10
"""So many late ticks of the bare loop explain an overrun: half of those that are a fault."""
TABLE = (
    "| skill | walked | overruns | left out by the board | C loops at worst | stolen | ended |\n"
    "|---|---|---|---|---|---|---|\n"
)
MOST_URGENT = max(PRIORITY, BOARD_PRIORITY) + 1
"""Above everything of ours, a virtual board included.

What makes a loop late then is the machine.
"""


@dataclass(frozen=True)
class Look:
    """What one processor was like for about a tenth of a second."""

    cpu: int
    begun: float
    ended: float
    lateness: np.ndarray  # (ticks,) of the C loop [s]
    steal: float
    """Time of this processor that the hypervisor gave to others [s]."""
    waited: float
    """Longest time that robot or controller waited for a processor [s]."""
    before: float = 0.0
    """Lateness of the tick before the first [s]."""

    @property
    def stalled(self) -> float:
        """How long nobody ran here: by so much lateness grew from tick to tick [s]."""
        growth = np.diff(self.lateness, prepend=self.before)
        return float(growth[growth > PIECE].sum())


@dataclass(frozen=True)
class Sample:
    """What the system says at one moment."""

    time: float
    steal: dict[int, float]  # by processor [s]
    waited: dict[int, float]  # by process [s]


class Beside:
    """A bare C loop on every processor, more urgent than all of ours.

    Only the machine makes it late.

    Nothing else is done at that priority, nor between its ticks: an observer in Python would hold
    up what it observes.
    """

    def __init__(self) -> None:
        """Compile the loop."""
        c_loop()
        self.looks: list[Look] = []
        """Complete when it is over."""
        self.followed: list[int] = []
        """Processes whose waiting is looked at."""
        self._samples: list[Sample] = []
        self._late = {
            cpu: np.zeros(round(LONGEST / TICK), dtype=np.int64) for cpu in os.sched_getaffinity(0)
        }
        self._begun: dict[int, float] = {}
        self._made: dict[int, int] = {}
        self._stop, self._over = ctypes.c_int(0), threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(cpu,)) for cpu in self._late]
        self._threads.append(threading.Thread(target=self._look))

    def __enter__(self) -> Self:
        """Start looking."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop looking, and put together what was seen."""
        self._stop.value = 1
        self._over.set()
        for thread in self._threads:
            thread.join()
        self.looks = [
            self._between(cpu, before, after)
            for before, after in pairwise(self._samples)
            for cpu in self._late
        ]

    def _run(self, cpu: int) -> None:
        os.sched_setaffinity(0, {cpu})  # of this thread alone, as the following
        with suppress(PermissionError):  # robot and controller are refused, too
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
    """Time of a processor that the hypervisor gave to others since the machine was started [s]."""
    _, rest = Path("/proc/stat").read_text().split(f"cpu{cpu} ", 1)
    return int(rest.split()[7]) / os.sysconf("SC_CLK_TCK")


def waiting(pid: int) -> float:
    """Time that the threads of a process have waited for a processor [s]."""
    try:
        stats = [(task / "schedstat").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:  # it has just ended
        return 0.0
    return sum(int(text.split()[1]) for text in stats) * 1e-9


def descendants(pid: int) -> list[int]:
    """Processes that a process has started, those that they have started, and so on."""
    try:
        texts = [(task / "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:  # it has just ended
        return []
    children = [int(child) for text in texts for child in text.split()]
    return children + [further for child in children for further in descendants(child)]


def blames(looks: list[Look], summary: dict[str, Any]) -> list[str]:
    """Blame somebody for every trip of a run, in bring-up too.

    Say so of a run that ended badly without one.
    """
    trips = [
        entry["time"]
        for entry in summary["history"]
        if entry["state"] == ControllerState.FAULT.name
    ]
    if summary["robot_gave_up_at"] is not None and not trips:  # else it gave up because of a trip
        trips = [summary["robot_gave_up_at"]]
    if summary["problems"] and not trips:
        return ["ours: no trip, and still not as asked"]
    return [blame(looks, when) for when in trips]


def blame(looks: list[Look], when: float) -> str:
    """Say what the machine was like before a fault, whose it therefore was.

    Whether it was often like that.
    """
    who, seen = judge(looks, when)
    moments = {look.ended for look in looks if look.ended <= when}
    as_bad = [judge(looks, moment)[0] == who for moment in moments]
    often = (
        f"; in {100 * np.mean(as_bad):.0f} % of the run the same could be said" if as_bad else ""
    )
    return f"{who}: {seen}{often}" if who else seen


def judge(looks: list[Look], when: float) -> tuple[str, str]:
    """Return whose fault one at this moment would be, and what speaks for that."""
    near = [look for look in looks if look.ended >= when - BEFORE and look.begun <= when]
    if not near:
        return "", "nobody looked at the machine then"
    stalled = max(
        sum(look.stalled for look in near if look.cpu == cpu) for cpu in {look.cpu for look in near}
    )
    late = sum(int((look.lateness > TICK).sum()) for look in near)
    stolen, waited = sum(look.steal for look in near), max(look.waited for look in near)
    usual = float(
        np.quantile([look.waited for look in looks], USUAL)
    )  # they wait for each other all the time
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
    """p99 of ticks' lateness on the wall clock, two minutes of each skill, against C loops beside.

    Blames each trip.
    """
    return wall("pybullet")


def wall(robot: str) -> Pairs:
    """Spend two minutes with each skill, with a new walk after every trip.

    Print how each walk ended.
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
        f"{blamed or 'nobody'}\n\n"
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
