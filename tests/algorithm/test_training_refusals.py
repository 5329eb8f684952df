"""What cannot be trained on, or with, is refused by name."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from solo_doi.algorithm.device import pick_device
from solo_doi.algorithm.diagnostics import TrainingError
from solo_doi.algorithm.part_configs import DiscriminatorConfig
from solo_doi.algorithm.training import Training
from solo_doi.common.errors import SoloError
from solo_doi.data.dataset import read_transitions
from solo_doi.runs.run_store import RunStore

from .runs import EXPERT_TERMS, Data, changed, tiny, train, write_made_up


def test_data_that_do_not_fit_are_refused(data: Data, tmp_path: Path) -> None:
    """Before anything is written."""
    coverage, expert = data
    fewer = read_transitions(
        write_made_up(tmp_path / "thin", terms=EXPERT_TERMS | {"linear_velocity": 2}, actions=False)
    )
    for config, one, other, message in (
        (tiny(), expert, expert, "coverage data have no actions"),
        (tiny(projection=("linear_velocty",)), coverage, expert, "Did you mean 'linear_velocity'"),
        (
            tiny(projection=("gravity",)),
            coverage,
            expert,
            "term of the expert data 'gravity'. Known: angular",
        ),
        (
            tiny(projection=("linear_velocity.w",)),
            coverage,
            expert,
            "has 3 numbers; expected one of them",
        ),
        (
            tiny(projection=("linear_velocity",)),
            coverage,
            fewer,
            "3 numbers in the coverage data, 2 in the expert",
        ),
    ):
        with pytest.raises(SoloError, match=message):
            Training(config, one, other, RunStore(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_training_that_diverges_ends_with_what_to_change(data: Data, tmp_path: Path) -> None:
    """NaN does not spread into a policy, nor come from its own training.

    In the loop or after it.
    """
    for name, part, changes, found in (
        (
            "value",
            "value",
            {"lr": 1e30},
            r"loss/expert_value became nan in update 2\. Lower value\.lr",
        ),
        (
            "logit",
            "classifier",
            {"reward_scale": math.nan},
            r"became nan.* Lower .*classifier\.reward_scale",
        ),
        (
            "policy",
            "policy",
            {"lr": 1e30},
            r"loss/policy became (nan|inf) in update . of cloning\. Lower policy\.lr",
        ),
        (
            "loop",
            "policy",
            {"lr": 1e30, "in_loop": True},
            r"loss/policy became .* in outer step 1\. Lower policy\.lr",
        ),
    ):
        path = tmp_path / name
        with pytest.raises(TrainingError, match=found):
            train(changed(tiny(), part, **changes), *data, path)
        assert not (path / "policy.h5").exists()
    with pytest.raises(TrainingError, match="loss/value became nan in outer step 1"):
        train(tiny(diversity_weight=math.nan), *data, tmp_path / "diversity")


def test_something_remains_to_learn_from_if_all_would_be_held_out(
    tmp_path: Path, data: Data
) -> None:
    """One trajectory, of which half is to be held out: it is not, whatever the seed."""
    one = read_transitions(write_made_up(tmp_path / "one", lengths=((60,),)))
    for seed in range(4):
        config = tiny(
            seed=seed,
            outer=1,
            checkpoints=0,
            discriminator=DiscriminatorConfig(held_out=0.5, updates=1),
        )
        assert not Training(config, one, data[1], RunStore(tmp_path)).problem.held_out.any()


@pytest.mark.parametrize("name", ["gpu", "mps", "meta", "", "cuda:x"])
def test_a_device_that_is_none_is_refused(name: str) -> None:
    """With those that are."""
    with pytest.raises(SoloError, match="expected cpu, cuda or auto"):
        pick_device(name)


def test_a_missing_gpu_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to use instead; auto takes what there is."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SoloError, match=r"no CUDA device here\. Use --device cpu"):
        pick_device("cuda")
    assert pick_device("auto") == pick_device("cpu") == torch.device("cpu")


def test_a_checkpoint_of_other_data_is_refused(data: Data, run: Path, tmp_path: Path) -> None:
    """Weights of rows that are not there mean nothing."""
    other = read_transitions(write_made_up(tmp_path / "other", lengths=((30, 20),)))
    with pytest.raises(SoloError, match="made from 300 transitions, the data have 50"):
        Training(tiny(), other, data[1], RunStore(run)).load(RunStore(run).read_checkpoint(2))
