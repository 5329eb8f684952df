"""Datasets of navigation: the task's own recipe, ground, target and fields."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from collect.recipes import CollectConfig, SourceConfig, make_plan, task_recipe
from collect.trajectory_replay import replay
from solo_doi.common.errors import SoloError, UnknownNameError
from solo_doi.data.dataset import Dataset
from solo_doi.policies.dominic_checkpoint import write_policy
from solo_doi.solo12.observation import LAYOUTS
from solo_doi.tasks.navigation import CHECKPOINTS, TARGET
from tests.policies.bundles import masked_policy

from .recipes import collect_here

SIZE = LAYOUTS["navigation"].size
RECIPE = CollectConfig(**task_recipe("navigation"))


def test_the_recipe_is_the_papers() -> None:
    """Sources have 2000 x 500 steps each; ten checkpoints have equal shares over their skills.

    The coverage set has 12 expert trajectories.
    """
    assert (RECIPE.expert.trajectories, RECIPE.expert.steps) == (2000, 500)
    assert not RECIPE.expert.stochastic
    plan = make_plan(RECIPE.offline, 2000, dict.fromkeys(CHECKPOINTS, 5))
    assert np.bincount(plan.checkpoint).tolist() == [200] * 10
    assert np.bincount(plan.skill).tolist() == [400] * 5
    assert RECIPE.coverage_expert == 12
    assert (RECIPE.scene, RECIPE.command) == ({"box_height": 0.2}, TARGET)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"command": (1.0, 0.0, 0.0)}, "expected four finite numbers"),
        ({"scene": {"height": 0.2}}, "Unknown number of a scene 'height'"),
        ({"task": "navigate"}, "Unknown task 'navigate'. Did you mean 'navigation'"),
    ],
)
def test_settings_that_the_task_does_not_have_are_refused(
    change: dict[str, object], message: str
) -> None:
    with pytest.raises((SoloError, UnknownNameError), match=message):
        replace(RECIPE, **change)  # type: ignore[arg-type]


def test_trajectories_have_target_and_box_and_repeat(tmp_path: Path) -> None:
    """Fields have the task's sizes, the scan sees the box, and a replay gives the same numbers."""
    checkpoints = tmp_path / "checkpoints"
    checkpoints.mkdir()
    for name in ("old.pt", "new.pt"):
        policy = masked_policy(size=SIZE, skills=2)
        still = replace(policy, weights=(*policy.weights[:2], 0 * policy.weights[2]))
        write_policy(
            checkpoints / name, replace(still, biases=(*still.biases[:2], 0 * still.biases[2]))
        )
    short = SourceConfig(trajectories=4, steps=4, mixture={"old.pt": 0.5, "new.pt": 0.5})
    config = replace(
        RECIPE,
        checkpoints=checkpoints,
        expert=replace(short, stochastic=False, mixture={"new.pt": 1.0}),
        offline=short,
        coverage_expert=1,
        demonstrations=2,
        scene={"box_height": 0.5},
        randomisation="none",
    )
    out = collect_here(config, tmp_path / "out")
    data = Dataset(out / "coverage")
    np.testing.assert_allclose(data.column("episodes/command"), np.tile(TARGET, (5, 1)))
    rows = data.batch(np.arange(4), ("observations", "infos/reward_groups"))
    assert rows["infos/reward_groups"].shape == (4, 3)
    observed = rows["observations"]
    assert observed.shape == (4, SIZE)
    time_left = observed[:, LAYOUTS["navigation"].slices["time_left"]][:, 0]
    np.testing.assert_allclose(time_left, [1.0, 0.75, 0.5, 0.25])
    assert not any(replay(out / "offline", 1).values())
