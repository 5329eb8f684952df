"""Two solo-pretrain on one run directory: the second is refused, the first is not disturbed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.bits import differing
from tests.command import Command

from .runs import flags, metrics, state

ROOT = Path(__file__).parents[3]
PAUSED = """
import sys
from collect.cli.pretrain import main
from collect.dominic.run_log import RunLog
iteration = RunLog.iteration
def paused_iteration(self, number, metrics):
    iteration(self, number, metrics)
    if number == 2:
        print("paused", flush=True)
        sys.stdin.readline()
RunLog.iteration = paused_iteration
main()
"""


def test_a_run_in_training_refuses_other_processes(tmp_path: Path, command: Command) -> None:
    """A second process with the same `--out` or with `--resume` has no effect on the run."""
    options = flags(iterations=4, num_skills=2)
    run = tmp_path / "run"
    with subprocess.Popen(
        [sys.executable, "-c", PAUSED, *options, "--out", str(run)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as first:  # fmt: skip
        assert first.stdout is not None
        try:
            assert any(line == "paused\n" for line in first.stdout)
            assert "exists already" in command.error(*options, "--out", run)
            assert "another process is writing to it" in command.error("--resume", run)
            _, errors = first.communicate("\n")
        finally:
            first.kill()
    assert first.returncode == 0, errors
    assert command(*options, "--out", tmp_path / "unbroken")[0] == 0
    assert not differing(state(tmp_path / "unbroken"), state(run))
    assert metrics(tmp_path / "unbroken") == metrics(run)
