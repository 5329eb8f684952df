"""solo-pretrain: its flags, and its one-line errors."""

from __future__ import annotations

import os
from operator import attrgetter
from pathlib import Path

import pytest

from collect.dominic.pretrain_config import PretrainConfig
from collect.dominic.trainer import Trainer
from solo_doi.common.errors import SoloError
from solo_doi.policies.dominic_checkpoint import read_policy
from tests.collect.dominic.runs import flags, tiny
from tests.command import Command


def test_the_skills_flag_sets_how_many_skills_a_checkpoint_has(
    tmp_path: Path, command: Command
) -> None:
    """The number of rows of the masks equals the flag."""
    for skills in (1, 4):
        out = tmp_path / f"run{skills}"
        assert command(*flags(iterations=1, num_skills=skills), "--out", out)[0] == 0
        assert read_policy(out / "checkpoints" / "model_1.pt").num_skills == skills


def test_skills_without_robots_are_refused(tmp_path: Path) -> None:
    """The running value of a skill without robots would be NaN, and so would the multipliers."""
    with pytest.raises(SoloError, match="17 skills on 16 robots"):
        Trainer(tiny(num_skills=17), tmp_path)


@pytest.mark.parametrize(
    ("flag", "values", "expected"),
    [
        ("iterations", [-5], "1 or more"),
        ("num-skills", [0], "1 or more"),
        ("torch-threads", [0], "1 or more"),
        ("episode.command-steps", [0], "1 or more"),
        ("lr", ["nan"], "above 0"),
        ("clip", [-1], "above 0"),
        ("diversity.length", [0], "above 0"),
        ("max-grad-norm", ["inf"], "above 0"),
        ("entropy", [-0.1], "0 or more"),
        ("lam", [1.1], "between 0 and 1"),
        ("episode.forward-share", ["nan"], "between 0 and 1"),
        ("gamma", ["nan"], "at least 0 and below 1"),
        ("gamma", [1], "at least 0 and below 1"),
        ("episode.command-vx", [1, -1], "the lower end first, both finite"),
        ("episode.command-yaw", [0, "inf"], "the lower end first, both finite"),
        ("seed", [-1], "0 or more, and below 2^63"),
        ("mask-keep", [0], "above 0, and 1 at most"),
        ("policy-hidden", [0, 8], "1 or more each"),
        ("checkpoints", [-1], "iterations from 0 on"),
        ("diversity.burn-in", [-2], "an iteration, or -1 for none"),
    ],
)
def test_invalid_pretraining_settings_are_refused(
    tmp_path: Path, command: Command, flag: str, values: list[object], expected: str
) -> None:
    """The error is one line that names the setting; no directory is left."""
    message = command.error(*flags(), f"--{flag}", *values, "--out", tmp_path / "run")
    assert message.startswith(f"{flag.replace('-', '_')} is ")
    assert message.endswith(f": expected {expected}.")
    assert not (tmp_path / "run").exists()


def test_every_number_that_can_be_set_is_checked() -> None:
    """Every numeric setting has a rule for its range."""
    for part in ("", "episode.", "diversity."):
        config = attrgetter(part.rstrip("."))(PretrainConfig()) if part else PretrainConfig()
        numbers = {
            name for name, value in vars(config).items() if type(value) in (int, float, tuple)
        }
        assert {f"{part}{name}" for name in numbers} <= set(PretrainConfig()._rules())


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path, command: Command) -> None:
    """The line contains the reason of the operating system."""
    (tmp_path / "file").write_text("")
    message = command.error(*flags(), "--out", tmp_path / "file" / "run")
    assert message.startswith(f"{tmp_path / 'file' / 'run'}: cannot be written (Not a directory).")


def test_an_existing_directory_is_not_overwritten(tmp_path: Path, command: Command) -> None:
    """Hours of training may lie in it; the message names `--resume`."""
    (tmp_path / "note").write_text("precious")
    message = command.error(*flags(), "--out", tmp_path)
    assert f"{tmp_path}: exists already" in message
    assert f"--resume {tmp_path}" in message
    assert os.listdir(tmp_path) == ["note"]


@pytest.mark.parametrize("name", ["empty", "absent"])
def test_only_a_run_can_be_resumed(tmp_path: Path, command: Command, name: str) -> None:
    """This holds for a directory without a run and for a missing one, which is not created."""
    (tmp_path / "empty").mkdir()
    assert "not a run of solo-pretrain" in command.error("--resume", tmp_path / name)
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


def test_a_run_that_cannot_start_leaves_no_directory(tmp_path: Path, command: Command) -> None:
    """A leftover directory would block the corrected command."""
    for words in (flags(num_skills=99), [*flags(), "--start", tmp_path]):
        code, _, errors = command(*words, "--out", tmp_path / "run")
        assert (code, errors.count("\n")) == (1, 1)
        assert errors.startswith("solo-pretrain: ")
    assert not (tmp_path / "run").exists()


def test_gym_tasks_have_no_pre_training(command: Command) -> None:
    assert "Task hopper has no pre-training" in command.error("--task", "hopper")
