"""Training processes end with their sweep."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from solo_doi.common.child_python import program_command
from solo_doi.runs import sweep_processes
from solo_doi.runs.sweep_processes import END_WITH_PARENT, TrainingProcesses

SLEEP = (
    "import pathlib, time; pathlib.Path({path!r}).touch(); time.sleep(60); "
    "pathlib.Path({path!r} + '-survived').touch()"
)


def wait_for(path: Path) -> None:
    """Wait until a file exists; the test's own timeout ends a hopeless wait."""
    while not path.exists():
        time.sleep(0.01)


def test_running_processes_are_ended_and_no_other_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep_processes, "TRAIN", SLEEP.format(path=str(tmp_path / "started")))
    processes = TrainingProcesses()
    codes: list[int] = []
    with (tmp_path / "log").open("w") as log:
        thread = threading.Thread(target=lambda: codes.append(processes.train([], log)))
        thread.start()
        wait_for(tmp_path / "started")
        processes.end()
        thread.join()
        assert codes == [-signal.SIGTERM]
        assert processes.train([], log) == 1


def test_a_process_ends_when_its_sweep_is_killed(tmp_path: Path) -> None:
    """Even SIGKILL leaves no orphan."""
    child = program_command(END_WITH_PARENT + SLEEP.format(path=str(tmp_path / "started")))
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import subprocess; p = subprocess.Popen({child!r}); p.wait()",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    wait_for(tmp_path / "started")
    parent.kill()
    parent.wait()
    parent.stdout.read()  # the child holds the pipe until it ends
    parent.stdout.close()
    assert not (tmp_path / "started-survived").exists()
