"""Pre-training that starts from the weights of another run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from collect.cli.pretrain import PretrainCommand, pretrain
from collect.dominic.trainer import Trainer
from solo_doi.common.errors import SoloError
from solo_doi.tasks.locomotion import LocomotionTask
from tests.bits import differing

from .runs import Stopped, state, tiny, train, trained

NETWORKS = ("policy.network", "values", "successor")


def test_a_run_can_start_from_the_weights_of_another(tmp_path: Path) -> None:
    """Networks and normalisers are copied, except for inputs that never changed.

    The other run stays unchanged.
    """
    config = tiny(num_skills=1)
    source = trained(tmp_path / "expert", config)
    untouched = state(tmp_path / "expert")
    further = Trainer(tiny(num_skills=1, seed=9, action_std=0.1), tmp_path / "further")
    further.start_from(tmp_path / "expert")
    seen = torch.as_tensor(further.task.observe())
    # The command of the expert: both must give the same action.
    seen[:, -3:] = torch.tensor([1.0, 0.0, 0.0])
    skill = torch.zeros(len(seen), dtype=torch.long)
    actions = [
        learner.policy(learner.normaliser(seen), skill).detach()
        for learner in (source.learner, further.learner)
    ]
    torch.testing.assert_close(*actions)
    neutral = {"normaliser.mean", "normaliser.var", *(f"{name}.first.weight" for name in NETWORKS)}
    changed = {
        name.lstrip(".")
        for name in differing(source.learner.state_dict(), further.learner.state_dict())
    }
    assert changed == neutral
    train(further)
    assert not differing(untouched, state(tmp_path / "expert"))


def test_inputs_that_never_changed_begin_neutral(tmp_path: Path) -> None:
    """Otherwise other commands would be tens of deviations away, with untrained weights."""
    trained(tmp_path / "expert", tiny(num_skills=1))
    further = Trainer(tiny(num_skills=1, action_std=2.0), tmp_path / "further")
    further.start_from(tmp_path / "expert")
    learner = further.learner
    seen = torch.zeros(2, LocomotionTask.layout.size)
    seen[1, -3:] = torch.tensor([-0.5, 0.3, 0.8])
    normalised = learner.normaliser(seen)
    assert normalised[:, -3:].abs().max() < 1.0
    actions = learner.policy(normalised, torch.zeros(2, dtype=torch.long))
    torch.testing.assert_close(actions[0], actions[1])  # not yet different
    assert learner.policy.log_std.exp().min() >= 2.0 - 1e-6


def test_a_run_that_started_from_another_does_so_even_if_killed_at_once(tmp_path: Path) -> None:
    """The start weights are saved before the first iteration, so a resumed run has them."""
    expert = pretrain(PretrainCommand(**vars(tiny(num_skills=1)), out=tmp_path / "expert"))
    options = vars(tiny(num_skills=1, seed=9, save_every=100))
    unbroken = pretrain(PretrainCommand(**options, out=tmp_path / "unbroken", start=expert))
    run = tmp_path / "killed"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "train", lambda *_: (_ for _ in ()).throw(Stopped))
        with pytest.raises(Stopped):
            pretrain(PretrainCommand(**options, out=run, start=expert))
    pretrain(PretrainCommand(resume=run))
    assert not differing(state(unbroken), state(run))


def test_weights_that_do_not_fit_are_refused_by_name(tmp_path: Path) -> None:
    """An expert's network has one row of masks, five skills need five."""
    trained(tmp_path / "expert", tiny(num_skills=1))
    with pytest.raises(
        SoloError, match=r"expert.*state\.pt: its weights do not fit.*as many skills"
    ):
        Trainer(tiny(num_skills=3), tmp_path / "skills").start_from(tmp_path / "expert")


def test_a_directory_without_a_saved_state_cannot_be_started_from(tmp_path: Path) -> None:
    """The error names the path."""
    with pytest.raises(SoloError, match=r"state\.pt: no such file"):
        Trainer(tiny(), tmp_path / "run").start_from(tmp_path)
