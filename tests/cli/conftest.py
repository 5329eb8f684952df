"""Data for commands that train, and a place to start them in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.algorithm.runs import write_made_up_task

from .solo_train import SoloTrain


@pytest.fixture(scope="package")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with made-up datasets of the locomotion task; nothing else is written to it."""
    return write_made_up_task(tmp_path_factory.mktemp("task"))


@pytest.fixture
def here(task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with datasets where commands look for them."""
    (tmp_path / "datasets").symlink_to(task / "datasets")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> SoloTrain:
    """The command solo-train, started in `here`."""
    return SoloTrain(monkeypatch, capsys)
