"""Data for commands that train, and a working directory to start them in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, TextIO

import pytest

from solo_doi.cli.sweep import main as sweep_main
from solo_doi.cli.train import train_main
from tests.algorithm.runs import write_made_up_task
from tests.command import Command

from .solo_train import SoloTrain
from .sweeps import replace_processes


@pytest.fixture(scope="package")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with made-up datasets of the locomotion task; tests must not write to it."""
    return write_made_up_task(tmp_path_factory.mktemp("task"))


@pytest.fixture
def here(task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with datasets at their default location."""
    (tmp_path / "datasets").symlink_to(task / "datasets")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> SoloTrain:
    """The command solo-train, started in `here`."""
    return SoloTrain(monkeypatch, capsys)


@pytest.fixture
def started(here: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Arguments of every run that is started.

    Runs are made in this process, which spares the imports.
    """
    calls: list[list[str]] = []

    def run(words: list[str], *, stdout: TextIO, **_: object) -> subprocess.CompletedProcess[str]:
        calls.append(words)
        code: Any = 0
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["solo-train", *words])
            patch.setattr(sys, "stdout", stdout)
            patch.setattr(sys, "stderr", stdout)
            try:
                train_main()
            except SystemExit as end:
                code = end.code
        return subprocess.CompletedProcess(words, code)

    replace_processes(monkeypatch, run)
    return calls


@pytest.fixture
def sweep(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command solo-sweep."""
    return Command("solo-sweep", sweep_main, monkeypatch, capsys)
