"""Policies and measures over the training of a run."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from solo_doi.common import settings
from solo_doi.common.errors import SoloError
from solo_doi.evaluate import training_history as history_module
from solo_doi.evaluate.eval_config import EvalConfig
from solo_doi.evaluate.training_history import (
    checkpoint_steps_of_run,
    policies_over_training,
    returns_over_training,
)
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.runs.run_config import RunConfig

from .conftest import Train
from .test_evaluate_run import CHECKPOINTS, SKILLS, copied
from .walks import MadeUpPolicy, RollOuts

FEW = EvalConfig(episodes=4, steps=100)


def trained_config(run: Path) -> RunConfig:
    """Settings of a run."""
    return settings.read(RunConfig, run / "config.yaml")


def assert_same_policy(one: SkillPolicy, other: SkillPolicy) -> None:
    """Check that weights are equal to the last bit."""
    for field in fields(SkillPolicy):
        np.testing.assert_array_equal(
            getattr(one, field.name), getattr(other, field.name), err_msg=field.name
        )


def test_policies_along_training_are_cloned_once(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second call reads them and needs neither data nor training.

    Policies of different checkpoints differ.
    """
    run = copied(trained, tmp_path)
    first = policies_over_training(run, trained_config(run))
    monkeypatch.setattr(history_module, "Training", None)
    monkeypatch.setattr(history_module, "read_same_data", None)
    second = policies_over_training(run, trained_config(run))
    assert [outer for outer, _ in first] == [outer for outer, _ in second] == list(CHECKPOINTS)
    for (_, one), (_, other) in zip(first, second, strict=True):
        assert_same_policy(one, other)
        assert one.num_skills == SKILLS
    assert (first[0][1].skill != first[1][1].skill).any()


def test_the_last_policy_along_training_is_the_runs_own(trained: Path, tmp_path: Path) -> None:
    """It is cloned with the random numbers with which the run continued."""
    run = copied(trained, tmp_path)
    (_, last) = policies_over_training(run, trained_config(run))[-1]
    assert_same_policy(last, SkillPolicy.read(run / "policy.h5"))


def test_policies_outlive_their_checkpoints(trained: Path, tmp_path: Path) -> None:
    """Checkpoints are large and not needed once policies are cloned from them."""
    run = copied(trained, tmp_path)
    before = policies_over_training(run, trained_config(run))
    for state in (run / "checkpoints").glob("*.pt"):
        state.unlink()
    assert [outer for outer, _ in policies_over_training(run, trained_config(run))] == [
        outer for outer, _ in before
    ]


def test_a_policy_that_is_lost_is_cloned_to_the_same_weights(trained: Path, tmp_path: Path) -> None:
    """Other policies are not written again."""
    run = copied(trained, tmp_path)
    before = policies_over_training(run, trained_config(run))
    lost, kept = sorted((run / "checkpoints").glob("*.policy.h5"))
    lost.unlink()
    written = kept.stat().st_mtime_ns
    after = policies_over_training(run, trained_config(run))
    assert_same_policy(before[0][1], after[0][1])
    assert kept.stat().st_mtime_ns == written


def test_a_policy_trained_in_the_loop_is_taken_as_it_was(train_tiny: Train, tmp_path: Path) -> None:
    """At the last checkpoint it equals the run's own policy."""
    run = train_tiny(tmp_path / "run", "--policy.in-loop", "True")
    _, last = policies_over_training(run, trained_config(run))[-1]
    assert_same_policy(last, SkillPolicy.read(run / "policy.h5"))


def test_returns_along_training_are_those_of_the_policies(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, roll_outs: RollOuts
) -> None:
    """The skills of each checkpoint and the expert are rolled out, without films."""
    policies = [(2, MadeUpPolicy(0.0, 0.1)), (4, MadeUpPolicy(0.0, 0.1))]
    monkeypatch.setattr(history_module, "policies_over_training", lambda run, trained: policies)
    rows = returns_over_training(trained, trained_config(trained), MadeUpPolicy(0.0), FEW)
    assert [row["outer"] for row in rows] == [2, 4]
    assert rows[0]["height_std"] == pytest.approx(0.015, abs=0.001)  # skills stand 30 mm apart
    assert len(roll_outs.asked) == 2 * 3
    assert all(robots == FEW.episodes for *_, robots in roll_outs.asked)


@pytest.mark.parametrize("objective", ["smodice", "clusters"])
def test_objectives_without_outer_steps_keep_no_checkpoints(
    objective: str, train_tiny: Train, tmp_path: Path
) -> None:
    """The error names both objectives."""
    run = train_tiny(tmp_path / "run", "--objective", objective)
    with pytest.raises(SoloError, match="or more; smodice and clusters keep none"):
        checkpoint_steps_of_run(run)
