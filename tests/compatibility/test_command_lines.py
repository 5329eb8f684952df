"""Command lines of version 0.1 give the settings that version 0.1 made of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from solo_doi.common import command_line, settings

from .entry_points import PROJECT, entry_point

RECORDED: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("command_lines.json").read_text()
)
"""Command lines from the documents, help texts, images and tests of 0.1, and their settings."""


class StopError(Exception):
    """Raised in the place of the command's work."""


@pytest.mark.parametrize("line", RECORDED)
def test_settings_are_those_of_0_1(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """New settings may be added; none is renamed, dropped or has another default."""
    found: dict[str, Any] = {}

    def stop(_: object, command: object) -> None:
        found.update(settings.to_dict(command))
        raise StopError

    monkeypatch.setattr(command_line, "call", stop)
    monkeypatch.setattr(sys, "argv", line.split())
    with pytest.raises(StopError):
        entry_point(line.split()[0])()
    expected = RECORDED[line]
    if line == "solo-deploy install-robot":
        expected = {**expected, "python": sys.executable}
    assert {name: found.get(name) for name in expected} == expected


def test_all_commands_are_covered() -> None:
    """At least 60 lines, and at least one of every installed command."""
    assert len(RECORDED) >= 60
    assert {line.split()[0] for line in RECORDED} <= {*PROJECT["scripts"]}
    assert {
        "solo-collect",
        "solo-deploy",
        "solo-eval",
        "solo-export",
        "solo-pretrain",
        "solo-sweep",
        "solo-train",
    } == {line.split()[0] for line in RECORDED}
