"""The shipped checkpoints of navigation reach the target by different routes.

Their card describes their quality. Each policy has eight robots, on the box that data are collected
with.
"""

from __future__ import annotations

import numpy as np
import pytest

from collect.shipped_checkpoints import shipped_checkpoints
from solo_doi.evaluate.episodes.episode_rollouts import EpisodeSettings, roll_out_scene
from solo_doi.policies.dominic_checkpoint import read_policy
from solo_doi.tasks.navigation import CHECKPOINTS, NavigationTask
from solo_doi.tasks.navigation_measures import ROUTES, reached, route

FOLDER = shipped_checkpoints("navigation")
LEAST = 6
"""Robots of eight that must take the route and reach the target."""


@pytest.mark.parametrize("file", CHECKPOINTS)
def test_default_recipe_of_navigation_finds_its_checkpoints(file: str) -> None:
    """`solo-collect --task navigation` reads these files by default."""
    policy = read_policy(FOLDER / file)
    assert policy.observation_size == NavigationTask.layout.size
    assert policy.num_skills == 5


@pytest.mark.parametrize(("skill", "taken"), [(0, "over"), (3, "left"), (4, "right")])
def test_skills_of_the_last_checkpoint_take_different_routes(skill: int, taken: str) -> None:
    """DOI finds routes only if the data have them."""
    policy = read_policy(FOLDER / CHECKPOINTS[-1])
    settings = EpisodeSettings(
        sim="mujoco",
        randomisation="paper",
        episodes=8,
        steps=NavigationTask.evaluation.steps,
        seed=5,
    )
    found = roll_out_scene(
        NavigationTask,
        lambda seen: policy.mean_action(seen, skill),
        {"box_height": 0.2},
        settings,
    )
    assert np.sum(route(found.episodes) == ROUTES.index(taken)) >= LEAST
    assert np.sum(reached(found.episodes)) >= LEAST
