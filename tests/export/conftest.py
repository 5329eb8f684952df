"""The command solo-export, runs to export and a bundle."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from solo_doi.cli import export as cli
from tests.command import Command
from tests.policies.bundles import skill_policy, write

from .runs import CONFIG, METRICS, PROVENANCE, evaluated_as_it_is


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command, run in this process."""
    return Command("solo-export", cli.main, monkeypatch, capsys)


@pytest.fixture
def plain_run(tmp_path: Path) -> Path:
    """A run with only a policy and the configuration of its training."""
    run = tmp_path / "my-run"
    skill_policy().write(run / "policy.h5")
    (run / "config.yaml").write_text(CONFIG)
    return run


@pytest.fixture
def evaluated_run(plain_run: Path) -> Path:
    """A run with evaluation and provenance."""
    (plain_run / "evaluation").mkdir()
    (plain_run / "evaluation" / "metrics.json").write_text(json.dumps(METRICS))
    evaluated_as_it_is(plain_run)
    (plain_run / "provenance.json").write_text(json.dumps(PROVENANCE))
    return plain_run


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A good bundle."""
    return write(tmp_path / "good.onnx")


@pytest.fixture
def same_software(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fix the software in all contracts, because the commit may change while tests run."""
    monkeypatch.setattr(
        "solo_doi.export.contract_builder.software", lambda: {"commit": "0123456789ab"}
    )
