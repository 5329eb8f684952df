"""Two processes on one run directory: the second is refused, the first is not disturbed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.algorithm.runs import FLAGS, assert_same_run, summary_of

from .solo_train import SoloTrain, with_this_project

TRAIN = "from solo_doi.cli.train import train_main; train_main()"
PAUSE = """
import sys
def pause():
    print("paused", flush=True)
    sys.stdin.readline()
"""
PAUSED_IN_TRAINING = f"""{PAUSE}
from solo_doi.runs.train_log import TrainLog
outer = TrainLog.outer
def paused_outer(self, number, metrics):
    outer(self, number, metrics)
    if number == 3:
        pause()
TrainLog.outer = paused_outer
{TRAIN}
"""
PAUSED_BEFORE_WRITING = f"""{PAUSE}
from solo_doi.runs import train_run
prepare = train_run._prepare
def paused_prepare(*arguments):
    prepared = prepare(*arguments)
    pause()
    return prepared
train_run._prepare = paused_prepare
{TRAIN}
"""


@contextmanager
def paused(program: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process and wait until it pauses; a line on its input lets it continue."""
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": with_this_project()},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            assert any(line == "paused\n" for line in process.stdout), "it ended before its pause"
            yield process
        finally:
            process.kill()


def refusal(*arguments: str) -> str:
    """Run solo-train in a process of its own; return the only line of its error output."""
    process = subprocess.run(
        [sys.executable, "-c", TRAIN, *arguments],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": with_this_project()},
    )  # fmt: skip
    assert (process.returncode, process.stdout) == (1, "")
    assert process.stderr.count("\n") == 1
    return process.stderr.strip()


def test_a_run_in_training_refuses_other_processes(command: SoloTrain) -> None:
    """A second process with the same `--out` or with `--resume` has no effect on the run."""
    unbroken = command.run(out="unbroken")
    with paused(PAUSED_IN_TRAINING, *FLAGS, "--out", "run") as first:
        assert refusal(*FLAGS, "--out", "run").startswith("solo-train: run: exists already.")
        in_use = refusal("--resume", "run")
        assert in_use.startswith("solo-train: run: another process is writing to it. Wait until")
        _, errors = first.communicate("\n")
    assert first.returncode == 0, errors
    assert_same_run(unbroken, Path("run"))
    assert summary_of(unbroken) == summary_of(Path("run"))


def test_a_resumed_run_refuses_a_second_resume(command: SoloTrain) -> None:
    """Both would append to the same metrics file."""
    unbroken = command.run(out="unbroken")
    with paused(PAUSED_IN_TRAINING, *FLAGS, "--out", "run"):
        pass  # killed during its pause
    with paused(PAUSED_IN_TRAINING, "--resume", "run") as first:
        assert "another process is writing to it" in refusal("--resume", "run")
        _, errors = first.communicate("\n")
    assert first.returncode == 0, errors
    assert_same_run(unbroken, Path("run"))


def test_only_one_of_two_simultaneous_runs_starts(command: SoloTrain) -> None:
    """The other found no directory at first, and is refused before it writes a file."""
    with paused(PAUSED_BEFORE_WRITING, *FLAGS, "--seed", "9", "--out", "run") as second:
        run = command.run()
        before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
        output, errors = second.communicate("\n")
    assert (second.returncode, output) == (1, "")
    assert errors.startswith("solo-train: run: exists already.")
    assert errors.count("\n") == 1
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
