"""Bench process: owns the network card while a robot is calibrated, checked or watched.

Started by solo-deploy as
`deploy.service.bench_process watch|check|calibrate --interface X`.

It ticks at 1 kHz and prints no tables, since a slow terminal must not delay commands. Ten times a
second it writes a status as a line of JSON; a line that does not fit into the pipe is dropped. A
line on its input is the operator's confirmation. It stops, and damps motors that are on, when its
input ends, its output stays full for a second, its parent dies, or on Ctrl-C.
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
from deploy.robots.process.robot_process import ROBOT_PRIORITY
from solo_doi.common.errors import SoloError

BENCH_STATUS_TICKS = round(0.1 / TICK)
STDIN = 0
STDOUT = 1
PIPE_SIZE = 4096
"""Size of the output pipe: a few lines, so that a hanging reader is detected soon [bytes]."""
READER_TIMEOUT = 1.0
"""Longest time with a full pipe; after it the reader counts as hanging, and the job stops [s]."""


class BenchJob(Protocol):
    """Calibration or inspection of a robot: one `step` per tick until `is_over`."""

    failure: str

    @property
    def is_over(self) -> bool:
        """True if the job has ended."""

    def step(self) -> None:
        """Advance by one tick."""

    def confirm(self) -> None:
        """Accept the operator's confirmation."""

    def stop(self) -> None:
        """End the job as soon as it is safe; damp motors that are on."""

    def status(self) -> dict[str, Any]:
        """Return the status for the display."""


class Pipe:
    """Lines to and from the session process; neither reading nor writing blocks."""

    def __init__(self, source: int = STDIN, sink: int = STDOUT) -> None:
        """Use two file descriptors."""
        self._source = source
        self._sink = sink
        os.set_blocking(source, False)
        os.set_blocking(sink, False)
        with suppress(OSError):  # a terminal, not a pipe
            fcntl.fcntl(sink, fcntl.F_SETPIPE_SZ, PIPE_SIZE)
        self._full_since: float | None = None

    @property
    def reader_is_gone(self) -> bool:
        """True if the output pipe has been full for longer than `READER_TIMEOUT`."""
        if self._full_since is None:
            return False
        return time.monotonic() - self._full_since > READER_TIMEOUT

    def write(self, content: dict[str, Any]) -> None:
        """Write a line, or drop it if the pipe is full, since the next follows soon."""
        line = json.dumps(content).encode() + b"\n"
        try:  # a write of less than 4096 bytes is complete or not done at all
            os.write(self._sink, line)
            self._full_since = None
        except BlockingIOError:
            if self._full_since is None:
                self._full_since = time.monotonic()
        except BrokenPipeError:
            return

    def write_last(self, content: dict[str, Any]) -> None:
        """Write the result, blocking if the pipe is full."""
        os.set_blocking(self._sink, True)
        self.write(content)

    def read(self) -> bytes | None:
        """Return the input since the last call; None if the input has ended."""
        try:
            return os.read(self._source, 64) or None
        except BlockingIOError:
            return b""


def run(job: BenchJob, pipe: Pipe, stop: Callable[[], bool]) -> None:
    """Tick until the job is over; after an exception, stop the job safely and raise it again."""
    try:
        _run(job, pipe, stop)
    except Exception:
        job.stop()
        while not job.is_over:
            job.step()
        raise


def _run(job: BenchJob, pipe: Pipe, stop: Callable[[], bool]) -> None:
    ticks = 0
    while not job.is_over:
        received = pipe.read()
        if received is None or pipe.reader_is_gone or stop():
            job.stop()
        elif received:
            job.confirm()
        job.step()
        ticks += 1
        if ticks % BENCH_STATUS_TICKS == 0:
            pipe.write(job.status())
    pipe.write(job.status())


def work(arguments: argparse.Namespace, pipe: Pipe, stop: StopRequest) -> dict[str, Any]:
    """Run the job that the command line names; return its result for JSON."""
    refused = []
    if not arguments.lock_step:
        refused = prepare_aloud(ROBOT_PRIORITY, "bench process")
    board = open_board(arguments.interface, arguments.driver, lock_step=arguments.lock_step)
    try:
        if arguments.job == "calibrate":
            calibrator = Calibrator(board, lock_step=arguments.lock_step, yes=arguments.yes)
            run(calibrator, pipe, stop)
            if calibrator.failure:
                raise SoloError(calibrator.failure)
            return to_json(calibrator.result(date.today()))
        hand_test = None
        if arguments.job == "check" and not arguments.yes:
            hand_test = HandTest()
        inspection = Inspection(
            board, seconds=arguments.seconds, lock_step=arguments.lock_step, hand_test=hand_test
        )
        run(inspection, pipe, stop)
        return inspection.result() | {"refused": refused}
    finally:
        board.close()


def main() -> int:
    """Run the command; the last line of its output is the result or the error."""
    parser = argparse.ArgumentParser(prog="bench_process", description=__doc__)
    parser.add_argument("job", choices=("watch", "check", "calibrate"))
    parser.add_argument("--interface", required=True, help="network card of the master board")
    parser.add_argument("--driver", choices=("native", "sdk"), default="native")
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="time for which packets are counted [s]"
    )
    parser.add_argument(
        "--lock-step", action="store_true", help="the board waits for every command"
    )
    parser.add_argument("--yes", action="store_true", help="ask no questions")
    arguments = parser.parse_args()
    stop = StopRequest()
    pipe = Pipe()
    try:
        pipe.write_last({"result": work(arguments, pipe, stop)})
    except SoloError as error:
        pipe.write_last({"error": str(error)})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
