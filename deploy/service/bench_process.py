"""The workbench process: owns the network card while a robot is calibrated, checked or only looked at.

python -m deploy.service.bench_process watch|check|calibrate --interface X, started by solo-deploy

It ticks at 1 kHz and draws nothing: a terminal that is slow must never keep a command from the board. Ten times a
second it writes a line of JSON to its output, dropped if nobody reads; a line on its input confirms what a person was
asked; the end of its input, an output that nobody reads for a second, Ctrl-C or a dead parent stop it, which damps
motors that are on.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from typing import Any, Protocol

from deploy.common.realtime import prepare_aloud
from deploy.common.robot_constants import TICK
from deploy.common.signals import StopRequest
from deploy.robots.odri.bench.calibrator import Calibrator
from deploy.robots.odri.bench.hand_test import HandTest
from deploy.robots.odri.bench.inspection import Inspection
from deploy.robots.odri.bring_up.calibration import to_json
from deploy.robots.odri.drivers.open_board import open_board
from deploy.robots.process.robot_process import PRIORITY
from solo_doi.common.errors import SoloError

STATUS_TICKS = round(0.1 / TICK)
INPUT, OUTPUT = 0, 1
LINES = 4096
"""What a pipe holds, a few lines: one that held more would be full only after seconds [bytes]."""
DEAF = 1.0
"""How long it may stay full: whoever should read was stopped, or hangs, and could not press a key either [s]."""


class Job(Protocol):
    """Something done to a robot, tick by tick."""

    failure: str

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""

    def step(self) -> None:
        """Advance by a tick."""

    def confirm(self) -> None:
        """Learn that a person has done what was asked."""

    def stop(self) -> None:
        """End as soon as it is safe."""

    def status(self) -> dict[str, Any]:
        """What people are shown."""


class Pipe:
    """Lines to and from the process that a person looks at; never waits."""

    def __init__(self, source: int = INPUT, sink: int = OUTPUT) -> None:
        """Take file descriptors."""
        self._source, self._sink = source, sink
        os.set_blocking(source, False)
        os.set_blocking(sink, False)
        with suppress(OSError):  # no pipe, but somebody's terminal
            fcntl.fcntl(sink, fcntl.F_SETPIPE_SZ, LINES)
        self._full_since: float | None = None

    @property
    def deaf(self) -> bool:
        """Whether nobody has read for so long that nobody is there."""
        return self._full_since is not None and time.monotonic() - self._full_since > DEAF

    def tell(self, content: dict[str, Any]) -> None:
        """Write a line; one that does not fit is dropped, as the next comes soon."""
        try:  # less than 4096 bytes are written completely or not at all
            os.write(self._sink, json.dumps(content).encode() + b"\n")
            self._full_since = None
        except BlockingIOError:
            self._full_since = time.monotonic() if self._full_since is None else self._full_since
        except BrokenPipeError:
            return

    def tell_last(self, content: dict[str, Any]) -> None:
        """Write the line that must not be lost, waiting for its reader."""
        os.set_blocking(self._sink, True)
        self.tell(content)

    def hear(self) -> bytes | None:
        """Return what was said since the last call; None if nobody is there any more."""
        try:
            return os.read(self._source, 64) or None
        except BlockingIOError:
            return b""


def run(job: Job, pipe: Pipe, stop: Callable[[], bool]) -> None:
    """Tick until the job is over; whatever goes wrong, motors that are on are damped first."""
    try:
        _run(job, pipe, stop)
    except Exception:
        job.stop()
        while not job.is_over:
            job.step()
        raise


def _run(job: Job, pipe: Pipe, stop: Callable[[], bool]) -> None:
    ticks = 0
    while not job.is_over:
        said = pipe.hear()
        if said is None or pipe.deaf or stop():
            job.stop()
        elif said:
            job.confirm()
        job.step()
        ticks += 1
        if ticks % STATUS_TICKS == 0:
            pipe.tell(job.status())
    pipe.tell(job.status())


def work(arguments: argparse.Namespace, pipe: Pipe, stop: StopRequest) -> dict[str, Any]:
    """Do a job; return its result as plain values."""
    refused = [] if arguments.lock_step else prepare_aloud(PRIORITY, "workbench")
    board = open_board(arguments.interface, arguments.driver, lock_step=arguments.lock_step)
    try:
        if arguments.job == "calibrate":
            calibrator = Calibrator(board, lock_step=arguments.lock_step, yes=arguments.yes)
            run(calibrator, pipe, stop)
            if calibrator.failure:
                raise SoloError(calibrator.failure)
            return to_json(calibrator.result(date.today()))
        hands = HandTest() if arguments.job == "check" and not arguments.yes else None
        inspection = Inspection(
            board, seconds=arguments.seconds, lock_step=arguments.lock_step, hand_test=hands
        )
        run(inspection, pipe, stop)
        return inspection.result() | {"refused": refused}
    finally:
        board.close()


def main() -> int:
    """Do what the command line says; the last line of output is the result or the error."""
    parser = argparse.ArgumentParser(prog="workbench", description=__doc__)
    parser.add_argument("job", choices=("watch", "check", "calibrate"))
    parser.add_argument("--interface", required=True, help="network card of the master board")
    parser.add_argument("--driver", choices=("native", "sdk"), default="native")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long packets are counted")
    parser.add_argument(
        "--lock-step", action="store_true", help="the board waits for every command"
    )
    parser.add_argument("--yes", action="store_true", help="nobody is asked anything")
    arguments = parser.parse_args()
    stop, pipe = StopRequest(), Pipe()
    try:
        pipe.tell_last({"result": work(arguments, pipe, stop)})
    except SoloError as error:
        pipe.tell_last({"error": str(error)})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
