"""Skills that settle: fixed directions in the last part of a run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from collect.dominic.pretrain_config import DiversityConfig, PretrainConfig
from collect.dominic.trainer import Trainer
from solo_doi.common.errors import SoloError
from tests.bits import differing

from .runs import state, stop_after, tiny, train, trained


def settling(**changes: object) -> PretrainConfig:
    """A tiny run of four iterations whose skills settle in the last two."""
    return tiny(iterations=4, diversity=DiversityConfig(burn_in=0, settle=0.5), **changes)


def directions(run: Path, iterations: int) -> torch.Tensor:
    """Weights of the network that gives the directions, after some iterations."""
    trainer = Trainer(settling(save_every=1), run)
    stop_after(trainer, iterations)
    assert trainer.learner.settled is not None
    return trainer.learner.settled.first.weight.detach().clone()


def test_directions_follow_the_skills_until_they_settle(tmp_path: Path) -> None:
    """They change up to the third of four iterations, and are constant in the fourth."""
    second, third, fourth = (directions(tmp_path / str(number), number) for number in (2, 3, 4))
    assert not torch.equal(second, third)
    assert torch.equal(third, fourth)


def test_a_run_that_settles_ends_with_other_policies(tmp_path: Path) -> None:
    """All else is equal."""
    one = trained(tmp_path / "one", settling())
    other = trained(tmp_path / "other", tiny(iterations=4))
    assert differing(one.learner.policy.state_dict(), other.learner.policy.state_dict())


@pytest.mark.parametrize("stop", [2, 4])
def test_a_run_stopped_before_or_while_settling_continues_to_the_same_weights(
    tmp_path: Path, stop: int
) -> None:
    """Directions, averages and the smaller step are part of the saved state."""
    trained(tmp_path / "whole", settling(save_every=1))
    stop_after(Trainer(settling(save_every=1), tmp_path / "stopped"), stop)
    resumed = Trainer(settling(save_every=1), tmp_path / "stopped")
    resumed.resume()
    train(resumed)
    assert not differing(state(tmp_path / "whole"), state(tmp_path / "stopped"))


def test_a_run_that_settles_can_start_from_one_that_did_not(tmp_path: Path) -> None:
    """The other run has no settled directions; its own are used."""
    first = trained(tmp_path / "first", tiny())
    trainer = Trainer(settling(), tmp_path / "next")
    trainer.start_from(tmp_path / "first")
    assert torch.equal(trainer.learner.values.head.weight, first.learner.values.head.weight)


def test_a_share_beyond_the_run_is_refused() -> None:
    """A share of 2 would settle before the start."""
    with pytest.raises(SoloError, match=r"diversity\.settle is 2: expected between 0 and 1"):
        tiny(diversity=DiversityConfig(settle=2)).check()
