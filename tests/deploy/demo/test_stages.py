"""Commands of the demonstration, and the keys that decide if their results are still valid."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from deploy.demo.stages import PROGRAMS, DemoConfig, DemoStage, dry_run, stage_key, training_stages
from solo_doi.common import command_line
from tests.command import Command

STAGES = [*training_stages(DemoConfig(seed=3)), dry_run(DemoConfig(), 2)]


@pytest.mark.parametrize("stage", STAGES, ids=[stage.name for stage in STAGES])
@pytest.mark.parametrize("resumed", [False, True])
def test_every_command_accepts_its_flags(
    stage: DemoStage,
    resumed: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The programs themselves parse the arguments; nothing runs."""
    parsed: list[Any] = []
    monkeypatch.setattr(command_line, "call", lambda _, command: parsed.append(command))
    words = PROGRAMS[stage.program].split()
    main = getattr(importlib.import_module(words[1]), words[3])
    if resumed and stage.resume:
        stage = stage.continued()
    Command(stage.program, main, monkeypatch, capsys).good(*stage.arguments)
    assert len(parsed) == 1


def test_seed_and_folder_reach_collection_and_training() -> None:
    for stage in STAGES[:2]:
        assert "--seed 3" in stage.line
        assert f"--out {stage.artefact}" in stage.line


@pytest.mark.parametrize("change", ["command", "stage before", "software"])
def test_a_key_changes_with_all_that_decides_a_result(change: str) -> None:
    stage = STAGES[1]
    before = stage_key(stage, "collected", {"mujoco": "4.0.0"})
    changed = {
        "command": stage_key(
            training_stages(DemoConfig(seed=4))[1], "collected", {"mujoco": "4.0.0"}
        ),
        "stage before": stage_key(stage, "other", {"mujoco": "4.0.0"}),
        "software": stage_key(stage, "collected", {"mujoco": "4.0.1"}),
    }
    assert changed[change] != before
    assert stage_key(stage, "collected", {"mujoco": "4.0.0"}) == before


def test_a_stage_without_a_beginning_cannot_be_continued(tmp_path: Path) -> None:
    """A run directory without its configuration was killed before training began."""
    train = training_stages(DemoConfig(out=tmp_path))[1]
    (tmp_path / "run").mkdir()
    assert not train.can_resume
    (tmp_path / "run" / "config.yaml").touch()
    assert train.can_resume
    assert train.continued().arguments == ("--resume", str(tmp_path / "run"))
