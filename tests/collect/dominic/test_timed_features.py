"""Averages of features by skill and part of the episode."""

from __future__ import annotations

import pytest
import torch

from collect.dominic.pretrain_config import DiversityConfig
from collect.dominic.timed_features import TimedFeatures


def averages(**changes: object) -> TimedFeatures:
    """Return averages of two skills with two parts of ten steps and one feature."""
    config = DiversityConfig(**{"bins": 2, "bin_steps": 10, "rewarded_bins": 1, **changes})  # type: ignore[arg-type]
    return TimedFeatures(2, 1, config)


def observe(timed: TimedFeatures, *samples: tuple[float, int, int]) -> None:
    """Merge samples of feature, skill and age."""
    feature, skill, age = zip(*samples, strict=True)
    timed.observe(torch.tensor(feature)[:, None], torch.tensor(skill), torch.tensor(age))


def test_every_skill_and_part_has_its_own_average() -> None:
    """The first samples count fully, later ones by the decay; ages beyond the end by the last."""
    timed = averages(bin_decay=0.75)
    observe(timed, (1.0, 0, 0), (3.0, 0, 9), (5.0, 1, 10), (7.0, 1, 99))
    torch.testing.assert_close(timed.mean[..., 0], torch.tensor([[2.0, 0.0], [0.0, 6.0]]))
    observe(timed, (6.0, 0, 5))
    assert timed.mean[0, 0, 0] == pytest.approx(0.75 * 2 + 0.25 * 6)


def test_rewards_lead_away_from_the_other_skill_in_the_first_parts() -> None:
    """The difference is 2 in the first part; the second is not rewarded."""
    timed = averages()
    observe(timed, (1.0, 0, 0), (-1.0, 1, 0), (4.0, 0, 10), (4.0, 1, 10))
    reward, distance = timed.reward(
        torch.tensor([[0.5], [0.5], [0.5]]), torch.tensor([0, 1, 0]), torch.tensor([3, 3, 12])
    )
    torch.testing.assert_close(reward, torch.tensor([1.0, -1.0, 0.0]))
    assert distance == pytest.approx(2 / 2**0.5)
