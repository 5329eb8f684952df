"""Settings of an evaluation."""

from __future__ import annotations

import pytest

from solo_doi.common.errors import SoloError
from solo_doi.evaluate.eval_config import EvalConfig


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 99}, "99 steps are too short to measure a gait: expected at least 100"),
        ({"episodes": 3}, "3 episodes are too few to compare skills: expected at least 4"),
        ({"seed": -1}, "Seed -1: expected 0 or more"),
        ({"estimator_episodes": 0}, "0 rollouts with the estimator: expected 1 or more"),
        ({"transfer_episodes": 0}, "0 rollouts of the transfer table: expected 1 or more"),
    ],
)
def test_what_cannot_be_measured_is_refused(changes: dict[str, int], message: str) -> None:
    """The error states the smallest sufficient value."""
    with pytest.raises(SoloError, match=message):
        EvalConfig(**changes).check()  # type: ignore[arg-type]
    EvalConfig(steps=100, episodes=4, seed=0).check()
