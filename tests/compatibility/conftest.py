"""Commands in a working directory of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest

from tests.command import Command

from .entry_points import entry_point


class RunCommand(Protocol):
    """Runs an installed command and requires that it succeeds."""

    def __call__(self, name: str, *arguments: object) -> str:
        """Return the printed text."""
        ...


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> RunCommand:
    """Run commands in a temporary directory."""
    monkeypatch.chdir(tmp_path)

    def call(name: str, *arguments: object) -> str:
        code, output, errors = Command(name, entry_point(name), monkeypatch, capsys)(*arguments)
        assert code == 0, errors
        return output

    return call
