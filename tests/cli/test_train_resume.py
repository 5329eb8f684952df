"""solo-train --resume: a run that was killed or interrupted continues to the same bytes."""

from __future__ import annotations

import importlib.metadata
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
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
from tests.own_signals import Moment, signal_at

from .solo_train import SoloTrain, with_this_project

PATIENCE = 240.0
OUTER = 24
LONG = ("--outer", str(OUTER), "--save-every", "5", "--checkpoints", "3")
"""Options of a run with steps before, between and after its saves."""


# --- Kills ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unbroken(task: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of `LONG` without interruption."""
    run, data = tmp_path_factory.mktemp("runs") / "unbroken", task / "datasets" / "locomotion"
    command = command_line.parse(TrainCommand, "solo-train", [*FLAGS, *LONG])
    return train(replace(command, out=run, data=data / "coverage", expert=data / "demonstrations"))


Start = Callable[..., ForkServerProcess]


@pytest.fixture
def start(here: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Start the command in a process forked from one that has imported its modules."""
    monkeypatch.setenv("PYTHONWARNINGS", "ignore:resource_tracker")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "tyro"])

    def start(moment: Moment, *arguments: str) -> ForkServerProcess:
        process = context.Process(target=train_until, args=(moment, arguments, here))
        process.start()
        return process

    return start


def train_until(moment: Moment, arguments: tuple[str, ...], folder: Path) -> None:
    """Run the command in a process that gets `kill -9` at a moment of its run."""
    signal_at(moment, Path("run"))
    run_silently("solo-train", train_main, list(arguments), folder)


def lines(run: Path) -> int:
    """Return the number of logged outer steps."""
    path = run / METRICS_FILE
    return path.read_text().count("\n") if path.exists() else 0


MOMENTS = {
    "expert": Moment("provenance.json"),
    "before the first save": Moment(lines=1),
    "between saves": Moment(lines=8),
    "near the end": Moment(lines=19),
    "cloning": Moment("ratios.h5"),
}


@pytest.mark.parametrize("moments", [["cloning"], [*MOMENTS]], ids=["one kill", "five kills"])
def test_killed_at_any_moment_a_run_continues_to_the_same_bytes(
    command: SoloTrain, start: Start, unbroken: Path, moments: list[str]
) -> None:
    """The run is killed before its first save, between saves, during cloning or several times."""
    run = Path("run")
    for name in moments:
        arguments = ("--resume", "run") if run.exists() else (*FLAGS, *LONG, "--out", "run")
        process = start(MOMENTS[name], *arguments)
        process.join(PATIENCE)
        assert process.exitcode == -signal.SIGKILL
        assert not (run / "policy.h5").exists()
        assert (lines(run) < OUTER) == (name != "cloning")
    assert command("--resume", run)[0] == 0
    assert_same_run(unbroken, run)
    assert summary_of(unbroken) == summary_of(run)


INTERRUPTED = """
import signal
from pathlib import Path
from solo_doi.cli.train import train_main
from tests.own_signals import Moment, signal_at
signal_at(Moment(lines=7), Path("run"), signal.SIGINT)
train_main()
"""


def test_an_interrupt_is_one_line_with_the_command_to_continue(
    command: SoloTrain, here: Path, unbroken: Path
) -> None:
    """Ctrl-C gives exit code 130 without a traceback; the run continues to the same bytes."""
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *FLAGS, *LONG, "--out", "run"],
        cwd=here, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
        timeout=PATIENCE, env={**os.environ, "PYTHONPATH": with_this_project()},
    )  # fmt: skip
    assert ended.returncode == 130
    assert "Traceback" not in ended.stderr
    assert lines(here / "run") == 7
    assert ended.stderr.splitlines()[-1] == "solo-train: stopped. Continue with --resume run."
    assert command("--resume", "run")[0] == 0
    assert_same_run(unbroken, here / "run")


# --- State of a continued run --------------------------------------------------------------------


def test_metrics_cut_in_the_middle_of_a_line_are_mended(command: SoloTrain) -> None:
    """A power cut can leave half a line."""
    unbroken = command.run(out="unbroken")
    run = Path("cut")
    run.mkdir()
    for name in ("config.yaml", "provenance.json"):
        shutil.copy(unbroken / name, run / name)
    text = (unbroken / METRICS_FILE).read_text()
    (run / METRICS_FILE).write_text(text[: len(text) // 2])
    assert command("--resume", run)[0] == 0
    assert_same_run(unbroken, run)


def test_flags_beside_resume_have_no_effect(command: SoloTrain) -> None:
    """The run's stored configuration has priority over flags."""
    run = command.run()
    before = yaml.safe_load((run / "config.yaml").read_text())
    policy = (run / "policy.h5").read_bytes()
    assert command("--resume", run, "--seed", "9", "--preset", "paper")[0] == 0
    assert yaml.safe_load((run / "config.yaml").read_text()) == before
    assert (run / "policy.h5").read_bytes() == policy


def test_only_runs_can_be_continued(command: SoloTrain) -> None:
    """Other folders and missing ones are refused."""
    assert (
        command.error("--resume", "datasets")
        == "datasets: not a run of solo-train, it has no config.yaml."
    )
    found = command.error("--resume", "nowhere")
    assert found == "nowhere: no such directory. Expected a run of solo-train to continue."
    assert not Path("nowhere").exists()


def test_a_refused_state_leaves_the_run_unchanged(command: SoloTrain) -> None:
    """The record of the run's original software stays the same."""
    run = command.run()
    state = torch.load(run / "state.pt", weights_only=True)
    torch.save(state | {"version": 1}, run / "state.pt")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert "saved by another version of solo-train (1, expected" in command.error("--resume", run)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_continued_run_records_its_original_software(command: SoloTrain) -> None:
    """The provenance contains the software at the start and at the continuation."""
    run = command.run()
    path = run / "provenance.json"
    began = json.loads(path.read_text())["software"] | {"torch": "1.0"}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"software": began}))
    assert command("--resume", run)[0] == 0
    found = json.loads(path.read_text())
    assert found["software"] == began
    assert found["continued_with"]["torch"] == importlib.metadata.version("torch")


def test_a_run_is_not_continued_with_other_data(command: SoloTrain, here: Path, task: Path) -> None:
    """Other states, other actions or another expert are refused; the run stays unchanged."""
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
