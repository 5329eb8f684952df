"""Measurements of checkpoints, and their output."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from collect.dominic.measure_checkpoint import EvaluateCommand, evaluate
from collect.dominic.trainer import Trainer
from solo_doi.common.errors import SoloError
from solo_doi.policies.dominic_checkpoint import write_policy
from tests.command import Command

from .runs import tiny


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Three untrained skills, which hardly move."""
    path = tmp_path / "model_0.pt"
    write_policy(path, Trainer(tiny(), tmp_path).policy())
    return path


def test_every_skill_of_a_checkpoint_is_measured(checkpoint: Path) -> None:
    """Each skill has one row with finite numbers in plausible ranges.

    Untrained robots stay about where they started.
    """
    walks = evaluate(EvaluateCommand(checkpoints=(checkpoint,), episodes=2, steps=100))
    assert [(walk.checkpoint, walk.skill) for walk in walks] == [
        ("model_0", 0),
        ("model_0", 1),
        ("model_0", 2),
    ]
    for walk in walks:
        numbers = [value for value in asdict(walk).values() if not isinstance(value, str)]
        assert np.isfinite(numbers).all()
        assert abs(walk.velocity) < 0.3
        assert walk.tracked == pytest.approx(walk.velocity)  # of a command of 1 m/s
        assert 0 <= walk.falls <= 2
        assert 0.05 < walk.height < 0.35
        assert 0 < walk.task_value <= 1


def test_the_share_tracked_is_along_the_command(checkpoint: Path) -> None:
    """A command of half the speed backwards doubles the share and changes its sign."""
    options = {"episodes": 2, "steps": 100, "randomisation": "none"}
    for command in ((-0.5, 0.0, 0.0), (0.0, 0.0, 0.5)):
        walk = evaluate(EvaluateCommand(checkpoints=(checkpoint,), command=command, **options))[0]  # type: ignore[arg-type]
        assert walk.tracked == pytest.approx(walk.velocity / 0.5)


def test_json_lines_have_the_measurements(checkpoint: Path, command: Command) -> None:
    """Each line of the output is one JSON object."""
    code, output, _ = command("evaluate", checkpoint, "--json", "--episodes", 1, "--steps", 100)
    assert code == 0
    lines = [json.loads(line) for line in output.splitlines()]
    assert [line["skill"] for line in lines] == [0, 1, 2]
    assert {"velocity", "falls", "diagonal_phase", "task_value"} <= set(lines[0])


def test_the_table_has_a_row_per_skill(
    checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The title contains the command and the randomisation, on which the numbers depend."""
    evaluate(
        EvaluateCommand(checkpoints=(checkpoint,), episodes=1, steps=100, randomisation="paper")
    )
    text = capsys.readouterr().out
    assert text.count("model_0") == 3
    assert "randomisation paper" in " ".join(text.split())


def test_the_same_seed_measures_the_same(checkpoint: Path) -> None:
    one, same = (
        evaluate(EvaluateCommand(checkpoints=(checkpoint,), episodes=1, steps=100))
        for _ in range(2)
    )
    assert one == same


def test_too_short_a_walk_is_refused(checkpoint: Path) -> None:
    """The first second is excluded from all numbers, so one second is too short."""
    with pytest.raises(
        SoloError, match="50 steps are too short to measure a gait: expected at least 100"
    ):
        evaluate(EvaluateCommand(checkpoints=(checkpoint,), episodes=1, steps=50))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--episodes", 0], "--episodes 0: expected 1 or more."),
        (["--episodes", -3], "--episodes -3: expected 1 or more."),
        (["--seed", -1], "--seed -1: expected 0 or more."),
        (["--command", "nan", 0, 0], "--command nan 0 0: expected three finite numbers."),
    ],
)
def test_invalid_measurements_are_refused(
    checkpoint: Path, command: Command, words: list[object], message: str
) -> None:
    """The error names the flag."""
    assert command.error("evaluate", checkpoint, *words) == message


def test_checkpoints_must_be_named(command: Command) -> None:
    """An empty table would look like a result."""
    assert "expected at least one checkpoint" in command.error("evaluate")


def test_a_missing_checkpoint_is_refused_in_one_line(tmp_path: Path, command: Command) -> None:
    """A wrong path gives no traceback."""
    assert "absent.pt: no such file" in command.error("evaluate", tmp_path / "absent.pt")
