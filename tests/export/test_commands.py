"""Range of velocity commands in bundles."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from solo_doi.common.errors import SoloError
from solo_doi.export.contract_builder import make_contract
from solo_doi.export.export_bundle import export_bundle
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.solo12.observation import LAYOUTS
from tests.policies.bundles import masked_policy, skill_policy

EXPERT = Path(__file__).parents[2] / "collect" / "checkpoints" / "locomotion" / "expert.pt"


def with_commands(mean: tuple[float, ...], std: tuple[float, ...]) -> SkillPolicy:
    """Return a policy that was trained on commands with these statistics."""
    policy = skill_policy()
    means, stds = policy.state_mean.copy(), policy.state_std.copy()
    means[-3:], stds[-3:] = mean, std
    return replace(policy, state_mean=means, state_std=stds)


@pytest.mark.parametrize("std", [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (1e-4, 0.0, 1.0)])
def test_skills_of_one_command_have_a_range_without_width(std: tuple[float, ...]) -> None:
    """The deviation is 0, or exactly 1, which training stores instead of 0."""
    contract = make_contract(with_commands((1.0, 0.0, 0.25), std), "locomotion", {}, ())
    assert (
        contract.command_range["low"]
        == contract.command_range["high"]
        == contract.command
        == (1.0, 0.0, 0.25)
    )


def test_steerable_skills_have_the_range_that_training_drew_from() -> None:
    """The deviation of a uniform distribution is half its width over the square root of three."""
    std = tuple((np.array([1.5, 0.5, 1.0]) / np.sqrt(3)).astype(np.float32).tolist())
    contract = make_contract(with_commands((0.5, 0.0, -0.25), std), "locomotion", {}, ())
    np.testing.assert_allclose(contract.command_range["low"], [-1.0, -0.5, -1.25], atol=1e-6)
    np.testing.assert_allclose(contract.command_range["high"], [2.0, 0.5, 0.75], atol=1e-6)
    np.testing.assert_allclose(contract.command, [0.5, 0.0, -0.25], atol=1e-6)


def test_each_command_is_steerable_or_not_by_itself() -> None:
    """Here only the forward velocity is steerable."""
    contract = make_contract(with_commands((0.5, 0.0, 0.0), (0.5, 0.0, 1.0)), "locomotion", {}, ())
    width = np.subtract(contract.command_range["high"], contract.command_range["low"])
    np.testing.assert_allclose(width, [np.sqrt(3.0), 0, 0], rtol=1e-6)


def run_of(folder: Path, episode: str) -> Path:
    """Return a checkpoint in a run of solo-pretrain with these settings."""
    path = folder / "checkpoints" / "model_0.pt"
    path.parent.mkdir(parents=True)
    (folder / "config.yaml").write_text(f"task: locomotion\nepisode:\n{episode}")
    shutil.copy(EXPERT, path)
    return path


def test_a_checkpoint_in_its_run_has_the_range_that_the_run_drew_from(tmp_path: Path) -> None:
    """The configuration has priority over the statistics, since commands grow during training."""
    episode = (
        "  forward_share: 0.15\n  command_vx: [0.0, 1.0]\n"
        "  command_vy: [0.0, 0.0]\n  command_yaw: [-0.8, 0.8]\n"
    )
    source = run_of(tmp_path / "steer", episode)
    contract = export_bundle(source).contract
    assert contract.command_range == {"low": (0.0, 0.0, -0.8), "high": (1.0, 0.0, 0.8)}
    assert contract.command == (0.5, 0.0, 0.0)


def test_a_run_that_went_straight_ahead_has_one_command(tmp_path: Path) -> None:
    """The unused ranges of the configuration have no effect."""
    contract = export_bundle(run_of(tmp_path, "  forward_share: 1.0\n")).contract
    assert contract.command_range["low"] == contract.command_range["high"] == (1.0, 0.0, 0.0)


def test_a_run_whose_settings_are_damaged_is_refused(tmp_path: Path) -> None:
    """A guess could give the range of another robot."""
    with pytest.raises(SoloError, match=r"config\.yaml: episode: .*command_wx"):
        export_bundle(run_of(tmp_path, "  command_wx: [0.0, 1.0]\n"))


def test_navigation_has_no_velocity_command() -> None:
    """The observation has a target instead."""
    contract = make_contract(masked_policy(size=LAYOUTS["navigation"].size), "navigation", {}, ())
    assert contract.command_range == {"low": (0.0, 0.0, 0.0), "high": (0.0, 0.0, 0.0)}
