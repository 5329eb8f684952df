"""Sweeps of runs small enough for tests."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import pytest
import yaml

from solo_doi.common import settings
from solo_doi.runs.sweep_processes import TrainingProcesses
from tests.algorithm.runs import tiny

SETTINGS = {
    name: value for name, value in settings.to_dict(tiny()).items() if name not in ("eps", "seed")
}
"""Settings of a variant that takes a fraction of a second."""


def replace_processes(
    monkeypatch: pytest.MonkeyPatch, run: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """Replace the processes of the sweep by calls of a function."""

    def train(_: object, arguments: list[str], log: TextIO) -> int:
        return run(arguments, stdout=log).returncode

    monkeypatch.setattr(TrainingProcesses, "train", train)


def variants(**changes: dict[str, Any] | None) -> Path:
    """Write a file of tiny variants, each with some settings changed."""
    path = Path("variants.yaml")
    path.write_text(
        yaml.safe_dump({name: SETTINGS | (change or {}) for name, change in changes.items()})
    )
    return path


def table(out: Path) -> list[dict[str, str]]:
    """Return the rows of the CSV table."""
    with (out / "table.csv").open() as file:
        return list(csv.DictReader(file))


def runs(out: Path) -> set[str]:
    """Return the names of finished runs."""
    return {path.parent.name for path in out.glob("*/summary.json")}
