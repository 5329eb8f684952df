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


CHANGED_DEFAULTS = {"episodes": 30, "eps": 2.0, "outer": 120, "data_pull": 1.0}
"""Settings with another default than in 0.1, and that default; the changelog gives the reason."""
CHANGED_GYM_DEFAULTS = {
    "classifier": {"gradient_penalty": 10.0, "reward_scale": 1.0},
    "policy": {"updates": 6000, "squashed": False},
}
"""The same for `--task gym`, in parts of the settings."""


class StopError(Exception):
    """Raised instead of the command's work."""


@pytest.mark.parametrize("line", RECORDED)
def test_settings_are_those_of_0_1(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """New settings are allowed; old ones keep their names and defaults."""
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
    for name in changed_defaults(line, expected):
        expected = {**expected, name: found[name]}
    for part, names in changed_gym_defaults(line, expected).items():
        excused = {name: found[part][name] for name in names}
        expected = {**expected, part: {**expected[part], **excused}}
    assert recorded_part(found, expected) == expected


def changed_defaults(line: str, expected: dict[str, Any]) -> list[str]:
    """Return settings that the line does not give and 0.1 recorded with its own default."""
    given = {word.partition("=")[0] for word in line.split()}
    return [
        name
        for name, default in CHANGED_DEFAULTS.items()
        if f"--{name}" not in given and expected.get(name) in (default, [default])  # of a sweep
    ]


def changed_gym_defaults(line: str, expected: dict[str, Any]) -> dict[str, list[str]]:
    """Return settings by part, as `changed_defaults` does, for a line that trains on Gym data."""
    words = line.replace("=", " ").split()
    if "gym" not in words or "--preset" in words:
        return {}
    found = {}
    for part, defaults in CHANGED_GYM_DEFAULTS.items():
        found[part] = [
            name for name, default in defaults.items() if expected[part].get(name) == default
        ]
    return found


@pytest.mark.parametrize(
    ("line", "recorded", "excused"),
    [
        ("solo-eval run", 30, ["episodes"]),
        ("solo-eval run --episodes 30", 30, []),
        ("solo-eval run --episodes=30", 30, []),
        ("solo-eval run", 5, []),
    ],
)
def test_only_a_changed_default_is_excused(line: str, recorded: int, excused: list[str]) -> None:
    assert changed_defaults(line, {"episodes": recorded}) == excused


def recorded_part(found: Any, expected: Any) -> Any:
    """Return `found` without settings that version 0.1 did not have, at any depth."""
    if not isinstance(expected, dict):
        return found
    return {name: recorded_part(found.get(name), part) for name, part in expected.items()}


def test_all_commands_are_covered() -> None:
    """There are at least 60 lines, with every installed command."""
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
