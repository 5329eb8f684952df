"""The shipped checkpoints are complete and walk.

Their card describes their quality.
"""

from __future__ import annotations

import numpy as np
import pytest

from collect.recipes import CollectConfig
from collect.shipped_checkpoints import shipped_checkpoints
from solo_doi.common.errors import UnknownNameError
from solo_doi.evaluate.metrics.gait import describe_gait
from solo_doi.evaluate.rollouts.recording import Recording, evaluation_task, record
from solo_doi.policies.dominic_checkpoint import read_policy

FOLDER = shipped_checkpoints("locomotion")
SETTLED = 50


def walk(file: str, skill: int, command: tuple[float, float, float] = (1.0, 0.0, 0.0)) -> Recording:
    policy = read_policy(FOLDER / file)
    task = evaluation_task("mujoco", 4, "none", seed=0, command=command)
    return record(task, lambda observation: policy.mean_action(observation, skill), 150)


@pytest.mark.parametrize(
    "file", [*CollectConfig().offline.mixture, *CollectConfig().expert.mixture]
)
def test_default_recipe_finds_its_checkpoints(file: str) -> None:
    """`solo-collect` reads these files by default."""
    assert read_policy(FOLDER / file).observation_size == 48


def test_expert_trots_at_the_commanded_velocity() -> None:
    """The datasets and all skills depend on the expert."""
    recording = walk("expert.pt", 0)
    assert not recording.ever_fallen.any()
    assert recording.linear_velocity_b[SETTLED:, :, 0].mean() == pytest.approx(1.0, abs=0.1)
    gait = describe_gait(
        recording.foot_position_w[SETTLED:][..., 2], recording.foot_contact[SETTLED:]
    )
    assert gait.diagonal_phase.max() < 0.1
    assert gait.pair_phase.min() > 0.4


def test_skills_of_the_last_checkpoint_walk_at_different_heights() -> None:
    """DOI needs diversity in the data."""
    recordings = [walk("model_2000.pt", skill) for skill in range(5)]
    heights = [recording.position_w[SETTLED:, :, 2].mean() for recording in recordings]
    assert all(recording.linear_velocity_b[SETTLED:, :, 0].mean() > 0.8 for recording in recordings)
    assert max(heights) - min(heights) > 0.02


def test_first_checkpoint_stands_and_last_walks() -> None:
    """The checkpoints range from near-random to good."""
    velocities = [
        walk(file, 0).linear_velocity_b[SETTLED:, :, 0].mean()
        for file in ("model_0.pt", "model_2000.pt")
    ]
    assert abs(velocities[0]) < 0.1
    assert velocities[1] > 0.9


def test_unknown_task_lists_those_that_are_shipped() -> None:
    with pytest.raises(UnknownNameError, match="locomotion"):
        shipped_checkpoints("juggling")


def test_pictures_of_the_card_exist() -> None:
    """The card's pictures are files of this folder."""
    card = (FOLDER / "README.md").read_text()
    pictures = [word.split(")")[0] for word in card.split("](")[1:] if ".png" in word]
    assert pictures
    assert all((FOLDER / picture).is_file() for picture in pictures)


def test_checkpoints_differ_along_training() -> None:
    """Each file has other weights."""
    policies = [read_policy(FOLDER / file) for file in CollectConfig().offline.mixture]
    weights = [policy.weights[2].tobytes() for policy in policies]
    assert len(set(weights)) == len(weights)
    assert np.isfinite(policies[-1].log_std).all()
