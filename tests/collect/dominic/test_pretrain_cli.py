"""solo-pretrain: its flags, and one line about what it cannot do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from collect.dominic.trainer import Trainer
from solo_doi.errors import SoloError
from solo_doi.policies.dominic import read_policy
from tests.command import Command

from .runs import flags, tiny


def test_the_skills_flag_sets_how_many_skills_a_checkpoint_has(tmp_path: Path, command: Command) -> None:
    """From the command line to the rows of the masks."""
    for skills in (1, 4):
        out = tmp_path / f"run{skills}"
        assert command(*flags(iterations=1, num_skills=skills), "--out", out)[0] == 0
        assert read_policy(out / "checkpoints" / "model_1.pt").num_skills == skills


@pytest.mark.parametrize("num_skills", [0, 17])
def test_skills_without_robots_are_refused(tmp_path: Path, num_skills: int) -> None:
    """The running value of a skill nobody has would be NaN, and with it the multipliers."""
    with pytest.raises(SoloError, match=f"{num_skills} skills on 16 robots"):
        Trainer(tiny(num_skills=num_skills), tmp_path)


def test_an_existing_directory_is_not_overwritten(tmp_path: Path, command: Command) -> None:
    """Hours of training may lie in it; the way to continue is named."""
    (tmp_path / "note").write_text("precious")
    message = command.error(*flags(), "--out", tmp_path)
    assert f"{tmp_path}: exists already" in message
    assert f"--resume {tmp_path}" in message
    assert os.listdir(tmp_path) == ["note"]


@pytest.mark.parametrize("name", ["empty", "absent"])
def test_what_is_not_a_run_cannot_be_resumed(tmp_path: Path, command: Command, name: str) -> None:
    """A directory with other things in it, or none at all, and none is made."""
    (tmp_path / "empty").mkdir()
    assert "not a run of solo-pretrain" in command.error("--resume", tmp_path / name)
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


def test_a_run_that_cannot_start_leaves_no_directory(tmp_path: Path, command: Command) -> None:
    """Or the corrected command would be refused because of it."""
    for words in (flags(num_skills=99), [*flags(), "--start", tmp_path]):
        code, _, errors = command(*words, "--out", tmp_path / "run")
        assert (code, errors.count("\n")) == (1, 1)
        assert errors.startswith("solo-pretrain: ")
    assert not (tmp_path / "run").exists()
