"""Pre-training of navigation: warm start from the walking expert, mirror images, exact resume."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from collect.cli.pretrain import read_config
from collect.dominic.mirror_loss import MirrorLoss
from collect.dominic.pretrain_config import DiversityConfig, PretrainConfig, for_task
from collect.dominic.trainer import Trainer
from collect.shipped_checkpoints import shipped_checkpoints
from solo_doi.common import settings
from solo_doi.common.errors import SoloError
from solo_doi.policies.dominic_checkpoint import read_policy
from solo_doi.solo12.observation import LAYOUTS
from tests.bits import differing

from .runs import TINY, state, stop_after, train, trained

EXPERT = shipped_checkpoints("locomotion") / "expert.pt"
DIVERSITY = DiversityConfig(burn_in=0, signal="timed", features="direction")


def tiny(**changes: object) -> PretrainConfig:
    """Return the configuration of a tiny run of navigation."""
    options = {**TINY, "num_skills": 3, "mirror": 1.0, "diversity": DIVERSITY, **changes}
    return for_task(PretrainConfig, "navigation")(**options)  # type: ignore[arg-type]


def test_the_expert_walks_in_the_larger_network(tmp_path: Path) -> None:
    """Actions of every skill are the expert's on the inputs that both tasks have."""
    config = tiny(policy_hidden=(140, 70))
    trainer = Trainer(config, tmp_path / "run")
    trainer.start_from(EXPERT)
    seen = np.random.default_rng(0).normal(size=(3, 171)).astype(np.float32)
    expert = read_policy(EXPERT)
    same = np.zeros((3, 48), dtype=np.float32)
    before, after = LAYOUTS["locomotion"].slices, LAYOUTS["navigation"].slices
    for name in before:
        if name in after:
            same[:, before[name]] = seen[:, after[name]]
    same[:, before["command"]] = expert.mean[before["command"]]
    np.testing.assert_allclose(
        trainer.policy().mean_action(seen, np.arange(3)),
        expert.mean_action(same, 0),
        rtol=1e-3,
        atol=1e-4,
    )
    np.testing.assert_allclose(np.exp(trainer.policy().log_std), config.action_std, rtol=1e-6)


def test_a_network_that_is_too_small_for_the_expert_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        SoloError, match=r"expert.pt: a policy with 1 skills and \(128, 64\) hidden"
    ):
        Trainer(tiny(), tmp_path / "run").start_from(EXPERT)


def test_a_resumed_run_ends_with_the_same_weights(tmp_path: Path) -> None:
    """Walls, averages and ground continue where the run was stopped."""
    config = tiny(iterations=4, save_every=2)
    whole = trained(tmp_path / "whole", config)
    part = Trainer(config, tmp_path / "part")
    stop_after(part, 3)
    again = Trainer(config, tmp_path / "part")
    again.resume()
    train(again)
    assert differing(state(tmp_path / "whole"), state(tmp_path / "part")) == []
    assert whole.learner.timed is not None
    assert whole.learner.timed.seen.any()


def test_the_mirror_loss_falls_and_pairs_skills(tmp_path: Path) -> None:
    """Skill 0 is its own image, skills 1 and 2 are each other's."""
    trainer = Trainer(tiny(), tmp_path / "run")
    loss = MirrorLoss(LAYOUTS["navigation"], 3, pairs=True)
    assert loss.partner.tolist() == [0, 2, 1]
    learner = trainer.learner
    seen = torch.randn(64, 171, generator=torch.Generator().manual_seed(0))
    skill = torch.arange(64) % 3
    optimiser = torch.optim.Adam(learner.policy.parameters(), lr=1e-2)
    first = loss(learner.policy, learner.normaliser, seen, skill)
    for _ in range(50):
        optimiser.zero_grad()
        last = loss(learner.policy, learner.normaliser, seen, skill)
        last.backward()
        optimiser.step()
    assert 0 < last.item() < 0.2 * first.item()


def test_every_skill_may_be_its_own_mirror_image() -> None:
    """Symmetric walks go straight."""
    assert MirrorLoss(LAYOUTS["locomotion"], 5, pairs=False).partner.tolist() == [0, 1, 2, 3, 4]


def test_the_configuration_of_a_run_has_the_settings_of_its_task(tmp_path: Path) -> None:
    """Files name the task; its own episode settings are read with it."""
    config = tiny()
    path = tmp_path / "config.yaml"
    settings.write(config, path)
    assert read_config(path) == config
    with pytest.raises(SoloError, match="expects a NavigationConfig"):
        PretrainConfig(task="navigation").check()
