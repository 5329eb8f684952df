"""Errors for data, settings and devices that cannot be used for training."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from solo_doi.algorithm.diagnostics import TrainingError
from solo_doi.algorithm.numerics.device import pick_device
from solo_doi.algorithm.part_configs import DiscriminatorConfig
from solo_doi.algorithm.training import Training
from solo_doi.common.errors import SoloError
from solo_doi.data.dataset import read_transitions
from solo_doi.runs.run_store import RunStore

from .runs import EXPERT_TERMS, Data, changed, tiny, train, write_made_up


def test_data_that_do_not_fit_are_refused(data: Data, tmp_path: Path) -> None:
    """The error comes before any file is written."""
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


def test_training_that_diverges_ends_with_advice(data: Data, tmp_path: Path) -> None:
    """NaN in values, rewards or policies ends the run, in the loop or after it.

    No policy with NaN is written.
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


def test_training_keeps_a_single_trajectory(tmp_path: Path, data: Data) -> None:
    """With one trajectory and a share of 0.5, no trajectory is held out, for any seed."""
    one = read_transitions(write_made_up(tmp_path / "one", lengths=((60,),)))
    for seed in range(4):
        config = tiny(
            seed=seed,
            outer=1,
            checkpoints=0,
            discriminator=DiscriminatorConfig(held_out=0.5, updates=1, swing_terms=()),
        )
        assert not Training(config, one, data[1], RunStore(tmp_path)).problem.held_out.any()


@pytest.mark.parametrize("name", ["gpu", "mps", "meta", "", "cuda:x"])
def test_an_unknown_device_is_refused(name: str) -> None:
    """The error lists the valid devices."""
    with pytest.raises(SoloError, match="expected cpu, cuda or auto"):
        pick_device(name)


def test_a_missing_gpu_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error suggests `--device cpu`; `auto` chooses an available device."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SoloError, match=r"no CUDA device here\. Use --device cpu"):
        pick_device("cuda")
    assert pick_device("auto") == pick_device("cpu") == torch.device("cpu")


def test_a_checkpoint_of_other_data_is_refused(data: Data, run: Path, tmp_path: Path) -> None:
    """The stored weights belong to other rows."""
    other = read_transitions(write_made_up(tmp_path / "other", lengths=((30, 20),)))
    with pytest.raises(SoloError, match="made from 300 transitions, the data have 50"):
        Training(tiny(), other, data[1], RunStore(run)).load(RunStore(run).read_checkpoint(2))
