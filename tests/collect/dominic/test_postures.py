"""Diversity in units of features, counted from the middle between skills."""

from __future__ import annotations

from pathlib import Path

import torch

from collect.dominic.learner import Learner
from collect.dominic.pretrain_config import DiversityConfig, PretrainConfig
from solo_doi.tasks.features import POSTURE
from tests.bits import differing

from .runs import tiny, trained


def config(**changes: object) -> PretrainConfig:
    """A tiny run with the features of postures."""
    return tiny(diversity=DiversityConfig(burn_in=0, features="posture", **changes))  # type: ignore[arg-type]


def test_one_unit_of_each_feature_is_a_distance_of_one() -> None:
    """Features are counted from their running mean, here 0."""
    learner = Learner(config(), torch.Generator().manual_seed(0))
    units = torch.tensor(POSTURE.units)
    torch.testing.assert_close(learner.scaled(units), torch.ones(len(units)))
    torch.testing.assert_close(learner.scaled(-2 * units), torch.full((len(units),), -2.0))


def test_features_without_units_are_scaled_by_their_deviation() -> None:
    """The normaliser starts with a deviation of 1, and a floor of 0.01."""
    learner = Learner(tiny(), torch.Generator().manual_seed(0))
    torch.testing.assert_close(learner.scaled(torch.ones(7)), torch.full((7,), 1 / 1.01))


def test_a_centred_reward_trains_other_policies(tmp_path: Path) -> None:
    """All else is equal."""
    one = trained(tmp_path / "one", config(centred=True))
    other = trained(tmp_path / "other", config())
    assert differing(one.learner.policy.state_dict(), other.learner.policy.state_dict())
