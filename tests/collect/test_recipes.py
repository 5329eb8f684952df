"""Recipes: the number of trajectories of each checkpoint and skill."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from collect.recipes import OFFLINE_MIXTURE, CollectConfig, SourceConfig, make_plan
from solo_doi.common import settings
from solo_doi.common.errors import SoloError

PAPER = CollectConfig()
FIVE_SKILLS = dict.fromkeys(OFFLINE_MIXTURE, 5)


def test_the_offline_mixture_is_the_papers() -> None:
    """The checkpoints have 2000, 1000, 500, 250, 125 and 125 of 4000 trajectories.

    Each of five skills has a fifth of these: 400, 200, 100, 50, 25 and 25.
    """
    plan = make_plan(PAPER.offline, PAPER.offline.trajectories, FIVE_SKILLS)
    assert np.bincount(plan.checkpoint).tolist() == [2000, 1000, 500, 250, 125, 125]
    for number, count in enumerate([400, 200, 100, 50, 25, 25]):
        assert np.bincount(plan.skill[plan.checkpoint == number]).tolist() == [count] * 5


def test_sizes_are_the_papers() -> None:
    """4000 x 250 steps each, a deterministic expert at 1 m/s, 1/160 of it in the coverage set."""
    assert (PAPER.expert.trajectories, PAPER.expert.steps, PAPER.expert.stochastic) == (
        4000,
        250,
        False,
    )
    assert (PAPER.offline.trajectories, PAPER.offline.steps, PAPER.offline.stochastic) == (
        4000,
        250,
        True,
    )
    assert PAPER.command == (1.0, 0.0, 0.0)
    assert PAPER.coverage_expert == 4000 / 160 == 25
    assert PAPER.demonstrations == 50
    assert list(PAPER.expert.mixture.values()) == [1.0]


def test_checkpoints_come_one_after_another_and_skills_take_turns() -> None:
    """Eight trajectories are divided in halves, with two and three skills."""
    source = SourceConfig(mixture={"a.pt": 0.5, "b.pt": 0.5})
    plan = make_plan(source, 8, {"a.pt": 2, "b.pt": 3})
    assert plan.checkpoint.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert plan.skill.tolist() == [0, 1, 0, 1, 0, 1, 2, 0]
    assert len(plan) == 8


@given(
    weights=st.lists(st.integers(1, 50), min_size=1, max_size=8),
    trajectories=st.integers(1, 5000),
    skills=st.integers(1, 9),
)
def test_any_size_keeps_the_total_and_the_proportions(
    weights: list[int], trajectories: int, skills: int
) -> None:
    """Counts are less than one trajectory off their shares; skills differ by one at most."""
    mixture = {f"{number}.pt": weight / sum(weights) for number, weight in enumerate(weights)}
    plan = make_plan(SourceConfig(mixture=mixture), trajectories, dict.fromkeys(mixture, skills))
    counts = np.bincount(plan.checkpoint, minlength=len(weights))
    assert counts.sum() == len(plan) == trajectories
    assert (abs(counts - np.array(list(mixture.values())) * trajectories) < 1 + 1e-6).all()
    for number in range(len(weights)):
        turns = np.bincount(plan.skill[plan.checkpoint == number], minlength=skills)
        assert turns.max() - turns.min() <= 1


@given(
    share=st.sampled_from([0.001, 0.01, 0.1, 0.5, 1.0, 2.0]) | st.floats(0.001, 3.0),
    count=st.integers(1, 5000),
)
def test_scale_is_a_factor_that_leaves_at_least_one(share: float, count: int) -> None:
    scaled = replace(PAPER, scale=share).scaled(count)
    assert scaled == 1 or abs(scaled - share * count) <= 0.5
    assert scaled >= 1


def test_zero_stays_zero_at_any_scale() -> None:
    """A coverage set may have no expert trajectories."""
    assert replace(PAPER, scale=0.01).scaled(0) == 0


@pytest.mark.parametrize("skills", [1, 4, 5, 8])
def test_a_quarter_of_every_skill_starts_standing(skills: int) -> None:
    """The number of skills may be a multiple of four, as in the official checkpoints."""
    plan = make_plan(
        PAPER.offline, 4000, dict.fromkeys(OFFLINE_MIXTURE, skills), PAPER.standing_every
    )
    assert plan.standing.mean() == pytest.approx(0.25, abs=0.005)
    for number in range(3):
        for skill in range(skills):
            chosen = plan.standing[(plan.checkpoint == number) & (plan.skill == skill)]
            assert abs(chosen.sum() - len(chosen) / 4) <= 1


@pytest.mark.parametrize(
    "mixture", [{}, {"a.pt": 0.5}, {"a.pt": 1.5, "b.pt": -0.5}, {"a.pt": 1.0, "b.pt": 0.0}]
)
def test_invalid_shares_are_refused(mixture: dict[str, float]) -> None:
    """Shares must be above zero and sum to one."""
    with pytest.raises(SoloError, match="Shares of a mixture must be above 0 and sum to 1, found"):
        SourceConfig(mixture=mixture)


@pytest.mark.parametrize("changes", [{"trajectories": 0}, {"steps": 1}])
def test_an_empty_source_is_refused(changes: dict[str, int]) -> None:
    """A velocity needs two steps."""
    with pytest.raises(SoloError, match="Expected at least one trajectory of two steps"):
        SourceConfig(**changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scale", 0.0),
        ("scale", float("nan")),
        ("seed", -1),
        ("standing_every", 0),
        ("shard_trajectories", 0),
        ("demonstrations", 0),
        ("coverage_expert", -1),
    ],
)
def test_settings_without_meaning_are_refused(name: str, value: float) -> None:
    """The error comes before the simulation."""
    with pytest.raises(SoloError, match=rf"(?i){name}.*found"):
        replace(PAPER, **{name: value})


def test_another_recipe_is_a_file(tmp_path: Path) -> None:
    """Ten checkpoints in equal shares, 2000 x 500 steps, need no change of code."""
    files = [
        f"model_{iteration}.pt" for iteration in (0, 50, 100, 150, 200, 250, 500, 1000, 1500, 2000)
    ]
    source = {"trajectories": 2000, "steps": 500, "mixture": dict.fromkeys(files, 0.1)}
    (tmp_path / "recipe.yaml").write_text(
        yaml.safe_dump({"offline": source, "coverage_expert": 13})
    )
    config = settings.read(CollectConfig, tmp_path / "recipe.yaml")
    plan = make_plan(
        config.offline, config.scaled(config.offline.trajectories), dict.fromkeys(files, 8)
    )
    assert np.bincount(plan.checkpoint).tolist() == [200] * 10
    assert np.bincount(plan.skill).tolist() == [250] * 8
    assert config.offline.steps == 500
