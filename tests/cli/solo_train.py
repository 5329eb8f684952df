"""The command solo-train with runs small enough for tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from solo_doi.cli.train import train_main
from tests.algorithm.runs import FLAGS
from tests.command import Command


class SoloTrain(Command):
    """Runs `solo-train` in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        """Take pytest's fixtures for arguments and output."""
        super().__init__("solo-train", train_main, monkeypatch, capsys)

    def run(self, *arguments: object, out: str = "run") -> Path:
        """Train a tiny run; return its directory."""
        code, _, errors = self(*FLAGS, *arguments, "--out", out)
        assert code == 0, errors
        return Path(out)


def with_this_project() -> str:
    """Return a PYTHONPATH with this project, for any working directory."""
    root = str(Path(__file__).parents[2])
    return os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
