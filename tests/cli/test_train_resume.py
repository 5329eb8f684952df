"""solo-train --resume: a run that was killed or interrupted continues to the same bytes."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest
import torch
import yaml

from solo_doi.cli.train import train, train_main
from solo_doi.common import command_line
from solo_doi.common.metrics_log import METRICS_FILE
from solo_doi.runs.run_config import TrainCommand
from tests.algorithm.runs import EXPERT_TERMS, FLAGS, assert_same_run, summary_of, write_made_up
from tests.command import run_silently

from .solo_train import SoloTrain, with_this_project

PATIENCE = 60.0
OUTER = 24
LONG = ("--outer", str(OUTER), "--save-every", "5", "--checkpoints", "3", "--policy.updates", "200")
"""Long enough to be killed in the middle."""


# --- Kills ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unbroken(task: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of `LONG` that nothing disturbed."""
    run, data = tmp_path_factory.mktemp("runs") / "unbroken", task / "datasets" / "locomotion"
    command = command_line.parse(TrainCommand, "solo-train", [*FLAGS, *LONG])
    return train(replace(command, out=run, data=data / "coverage", expert=data / "demonstrations"))


Start = Callable[..., ForkServerProcess]


@pytest.fixture
def start(here: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Start the command in a process of its own, forked from one that has imported all it needs."""
    monkeypatch.setenv("PYTHONWARNINGS", "ignore:resource_tracker")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "tyro"])

    def start(*arguments: str) -> ForkServerProcess:
        process = context.Process(
            target=run_silently, args=("solo-train", train_main, list(arguments), here)
        )
        process.start()
        return process

    return start


def kill_when(process: ForkServerProcess, condition: Callable[[], bool]) -> None:
    """`kill -9` to that process alone once something holds; it must not have ended before."""
    deadline = time.monotonic() + PATIENCE
    while process.exitcode is None and not condition() and time.monotonic() < deadline:
        process.join(0.002)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def lines(run: Path) -> int:
    """How many outer steps are logged."""
    path = run / METRICS_FILE
    return path.read_text().count("\n") if path.exists() else 0


MOMENTS: dict[str, Callable[[Path], bool]] = {
    "expert": lambda run: (run / "provenance.json").exists(),
    "before the first save": lambda run: lines(run) >= 1,
    "between saves": lambda run: lines(run) >= 8,
    "near the end": lambda run: lines(run) >= 19,
    "cloning": lambda run: (run / "ratios.h5").exists(),
}


@pytest.mark.parametrize("moments", [["cloning"], [*MOMENTS]], ids=["one kill", "five kills"])
def test_killed_at_any_moment_a_run_continues_to_the_same_bytes(
    command: SoloTrain, start: Start, unbroken: Path, moments: list[str]
) -> None:
    """Before its first save, between saves, while policies are cloned; once, or again and again."""
    run = Path("run")
    for name in moments:
        arguments = ("--resume", "run") if run.exists() else (*FLAGS, *LONG, "--out", "run")
        kill_when(start(*arguments), functools.partial(MOMENTS[name], run))
        assert not (run / "policy.h5").exists()
        assert (lines(run) < OUTER) == (name != "cloning")
    assert command("--resume", run)[0] == 0
    assert_same_run(unbroken, run)
    assert summary_of(unbroken) == summary_of(run)


def test_an_interrupt_is_one_line_that_says_how_to_go_on(
    command: SoloTrain, here: Path, unbroken: Path
) -> None:
    """Ctrl-C: exit code 130, no traceback; the run continues to the same bytes."""
    program = "from solo_doi.cli.train import train_main; train_main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *FLAGS, *LONG, "--out", "run"],
        cwd=here, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": with_this_project()},
    )  # fmt: skip
    try:
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and lines(here / "run") < 7 and time.monotonic() < deadline:
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert errors.splitlines()[-1] == "solo-train: stopped. Continue with --resume run."
    assert command("--resume", "run")[0] == 0
    assert_same_run(unbroken, here / "run")


# --- What is continued ---------------------------------------------------------------------------


def test_metrics_cut_in_the_middle_of_a_line_are_mended(command: SoloTrain) -> None:
    """As a power cut leaves them."""
    unbroken = command.run(out="unbroken")
    run = Path("cut")
    run.mkdir()
    for name in ("config.yaml", "provenance.json"):
        shutil.copy(unbroken / name, run / name)
    text = (unbroken / METRICS_FILE).read_text()
    (run / METRICS_FILE).write_text(text[: len(text) // 2])
    assert command("--resume", run)[0] == 0
    assert_same_run(unbroken, run)


def test_flags_beside_resume_change_nothing(command: SoloTrain) -> None:
    """The run's own configuration counts."""
    run = command.run()
    before = yaml.safe_load((run / "config.yaml").read_text())
    policy = (run / "policy.h5").read_bytes()
    assert command("--resume", run, "--seed", "9", "--preset", "paper")[0] == 0
    assert yaml.safe_load((run / "config.yaml").read_text()) == before
    assert (run / "policy.h5").read_bytes() == policy


def test_only_runs_can_be_continued(command: SoloTrain) -> None:
    """Neither nothing nor any other folder."""
    assert (
        command.error("--resume", "datasets")
        == "datasets: not a run of solo-train, it has no config.yaml."
    )
    found = command.error("--resume", "nowhere")
    assert found == "nowhere: no such directory. Expected a run of solo-train to continue."
    assert not Path("nowhere").exists()


def test_a_state_that_is_refused_changes_nothing(command: SoloTrain) -> None:
    """Not even what the refusal points to: the software that the run began with."""
    run = command.run()
    state = torch.load(run / "state.pt", weights_only=True)
    torch.save(state | {"version": 1}, run / "state.pt")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert "saved by another version of solo-train (1, expected" in command.error("--resume", run)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_continued_run_tells_what_it_began_with(command: SoloTrain) -> None:
    """And what it went on with."""
    run = command.run()
    path = run / "provenance.json"
    began = json.loads(path.read_text())["software"] | {"torch": "1.0"}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"software": began}))
    assert command("--resume", run)[0] == 0
    found = json.loads(path.read_text())
    assert found["software"] == began
    assert found["continued_with"]["torch"] == importlib.metadata.version("torch")


def test_a_run_is_not_continued_with_other_data(command: SoloTrain, here: Path, task: Path) -> None:
    """Other states, other actions or another expert; what the run was stays as it was."""
    run = command.run()
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    (here / "datasets").unlink()
    folder = here / "datasets" / "locomotion"
    folder.mkdir(parents=True)
    original = task / "datasets" / "locomotion"
    write_made_up(folder / "coverage", seed=7)
    shutil.copytree(original / "demonstrations", folder / "demonstrations")
    assert "run: began with other data (" in command.error("--resume", run)
    shutil.rmtree(folder / "coverage")
    shutil.copytree(original / "coverage", folder / "coverage")
    shutil.rmtree(folder / "demonstrations")
    write_made_up(folder / "demonstrations", terms=EXPERT_TERMS, actions=False, seed=7)
    assert "run: began with other expert (" in command.error("--resume", run)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
