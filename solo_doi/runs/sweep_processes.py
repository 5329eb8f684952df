"""Training processes of a sweep, which end with it."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TextIO

import yaml

from solo_doi.common.child_python import child_environment, program_command
from solo_doi.common.files import write_text
from solo_doi.common.steps import step

from .run_files import RunFiles
from .sweep_job import Job

END_WITH_PARENT = "import ctypes, signal; ctypes.CDLL(None).prctl(1, signal.SIGTERM); "
"""Makes Linux end the process when the sweep dies for any reason (PR_SET_PDEATHSIG is 1)."""
TRAIN = END_WITH_PARENT + "from solo_doi.cli.train import train_main; train_main()"

FOLLOW_SECONDS = 2.0
"""Period of looking at the log of a run [s]."""


class TrainingProcesses:
    """Starts training processes from several threads, and ends all of them on request."""

    def __init__(self) -> None:
        """Start without a process."""
        self._lock = Lock()
        self._running: list[subprocess.Popen[bytes]] = []
        self._ended = False

    def run(self, job: Job) -> str | None:
        """Train a job if it is not finished; return the reason of a failure."""
        if job.finished:
            return None
        if RunFiles(job.run).config.is_file():
            arguments = ["--resume", str(job.run)]
        else:
            write_text(job.settings_file, yaml.safe_dump(job.settings))
            arguments = ["--config", str(job.settings_file), "--out", str(job.run)]
        with job.log_file.open("w") as log:  # written while it runs, so that it can be followed
            code = self.train(arguments, log)
        if not code:
            return None
        last = job.log_file.read_text().strip().rpartition("\n")[2]
        if code == 1 and last:
            return last
        return f"ended with exit code {code}, see {job.log_file}"

    def train(self, arguments: list[str], log: TextIO) -> int:
        """Run solo-train with its output in a file; return its exit code."""
        command = program_command(TRAIN, *arguments)
        with self._lock:
            if self._ended:
                return 1
            process = subprocess.Popen(
                command, env=child_environment(), stdout=log, stderr=subprocess.STDOUT
            )
            self._running.append(process)
        code = _followed(process, Path(log.name))
        with self._lock:
            self._running.remove(process)
        return code

    def end(self) -> None:
        """End all processes, and start no other; a run continues from its last saved state."""
        with self._lock:
            self._ended = True
            for process in self._running:
                with suppress(ProcessLookupError):
                    process.terminate()


def _followed(process: subprocess.Popen[bytes], log: Path) -> int:
    """Show the last line of a run's log until it ends; return its exit code."""
    while True:
        last = log.read_text().strip().rpartition("\n")[2]
        step(f"{log.stem}: {last or 'starting'}")
        with suppress(subprocess.TimeoutExpired):
            return process.wait(FOLLOW_SECONDS)
