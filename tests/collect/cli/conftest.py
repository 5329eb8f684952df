"""The commands of collection, run in this process."""

from __future__ import annotations

import pytest

from collect.cli.pretrain import main
from tests.command import Command


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command solo-pretrain."""
    return Command("solo-pretrain", main, monkeypatch, capsys)
