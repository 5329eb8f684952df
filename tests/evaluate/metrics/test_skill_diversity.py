"""Diversity measures, on walks with known differences."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from solo_doi.evaluate.metrics import skill_diversity as diversity
from solo_doi.evaluate.metrics.walk import Walk
from tests.evaluate.walks import FEATURES, made_up_walk

ONES = np.ones(FEATURES)


def feature(*values: float, robots: int = 8, spread: float = 0.0, seed: int = 0) -> list[Walk]:
    """Return skills that differ in their first successor feature; all features have noise."""
    rng = np.random.default_rng(seed)
    walks = []
    for value in values:
        successor = spread * rng.normal(size=(robots, FEATURES))
        successor[:, 0] += value
        walks.append(made_up_walk(robots, successor=successor))
    return walks


# --- Successor features --------------------------------------------------------------------------


def test_equal_skills_are_no_distance_apart() -> None:
    """The distance between equal skills is zero."""
    assert diversity.successor_distance(feature(1.0, 1.0, 1.0)) == 0.0


def test_the_distance_is_the_mean_over_pairs() -> None:
    """Features 0, 3 and 4 give (3 + 4 + 1) / 3; with a scale of two, half of it."""
    walks = feature(0.0, 3.0, 4.0)
    assert diversity.successor_distance(walks) == pytest.approx(8 / 3)
    assert diversity.successor_distance(walks, 2 * ONES) == pytest.approx(4 / 3)


def test_the_distance_is_of_means_over_robots() -> None:
    """Differences between robots of one skill do not add to the distance between skills."""
    wide = made_up_walk(2, successor=np.stack([-5 * ONES, 5 * ONES]))
    assert diversity.successor_distance([wide, *feature(0.0)]) == 0.0


# --- Recognition of skills -----------------------------------------------------------------------


def test_equal_skills_are_named_by_chance() -> None:
    """Robots of one distribution are recognised in a third of all cases, with no information."""
    accuracy, information = diversity.recognise_skills(
        feature(0.0, 0.0, 0.0, robots=200, spread=1.0), ONES
    )
    assert accuracy == pytest.approx(1 / 3, abs=0.08)
    assert information == pytest.approx(0.0, abs=0.02)


def test_identical_rollouts_carry_no_information() -> None:
    """All skills have the same numbers, so any answer is right in a third of all cases."""
    walk = feature(0.0, spread=1.0)[0]
    accuracy, information = diversity.recognise_skills([walk, walk, walk], ONES)
    assert accuracy == pytest.approx(1 / 3)
    assert information == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("skills", [2, 4])
def test_separate_skills_are_named_every_time(skills: int) -> None:
    """The information is almost the largest possible."""
    walks = feature(*(20.0 * skill for skill in range(skills)), robots=20, spread=1.0)
    accuracy, information = diversity.recognise_skills(walks, ONES)
    assert accuracy == 1.0
    assert information == pytest.approx(log(skills), rel=0.05)
    assert information <= log(skills)


def test_skills_beyond_all_measure_are_no_trouble() -> None:
    """Features differ by 100,000 deviations, as for a robot on its back."""
    accuracy, information = diversity.recognise_skills(
        feature(0.0, 1e5, -1e5, robots=20, spread=1.0), ONES
    )
    assert accuracy == 1.0
    assert information == pytest.approx(log(3), rel=0.01)


@pytest.mark.parametrize("robot", [2, 3])
def test_one_odd_rollout_hardly_matters(robot: int) -> None:
    """An outlier of 150 deviations, in training or test, costs at most a tenth of a nat."""
    values = (0.0, 20.0, 40.0, 60.0, 80.0)
    usual = diversity.recognise_skills(feature(*values, robots=30, spread=1.0), ONES)
    walks = feature(*values, robots=30, spread=1.0)
    walks[1].successor[robot] += 150.0
    accuracy, information = diversity.recognise_skills(walks, ONES)
    assert accuracy >= usual[0] - 1.5 / 75
    assert information == pytest.approx(usual[1], abs=0.1)
    assert information > 1.4


def test_information_is_a_lower_bound_in_expectation() -> None:
    """Equal skills have no information: the mean over draws is not above zero."""
    found = [
        diversity.recognise_skills(feature(0.0, 0.0, 0.0, robots=20, spread=1.0, seed=seed), ONES)[
            1
        ]
        for seed in range(20)
    ]
    assert np.mean(found) <= 0.0
    assert np.mean(found) > -0.1


def test_skills_are_told_apart_in_domains_that_were_not_trained_on() -> None:
    """If only the training robots differ by skill, the classifier does not recognise the others."""
    walks = feature(0.0, 20.0, robots=400, spread=1.0)
    walks[1].successor[1::2, 0] -= 20.0
    accuracy, information = diversity.recognise_skills(walks, ONES)
    assert accuracy == pytest.approx(0.5, abs=0.02)
    assert information <= 0.0


def test_half_apart_is_half_the_information() -> None:
    """Four skills form two pairs of equal skills: accuracy 1/2, log 2 of log 4 nats."""
    accuracy, information = diversity.recognise_skills(
        feature(0.0, 0.0, 30.0, 30.0, robots=400, spread=1.0), ONES
    )
    assert accuracy == pytest.approx(0.5, abs=0.08)
    assert information == pytest.approx(log(2), abs=0.08)


# --- Maps ----------------------------------------------------------------------------------------


def test_the_silhouette_is_positive_if_skills_lie_apart() -> None:
    """It is nearly one for compact, distant groups and about zero for overlapping groups."""
    assert diversity.silhouette(feature(0.0, 10.0, 20.0, robots=10, spread=0.1), ONES) > 0.9
    mixed = feature(0.0, 0.0, robots=200, spread=1.0)
    assert diversity.silhouette(mixed, ONES) == pytest.approx(0.0, abs=0.05)


def test_the_silhouette_is_of_scaled_features() -> None:
    """A common factor has no effect; a large scale of the differing feature hides it."""
    walks = feature(0.0, 10.0, robots=50, spread=0.5)
    apart = diversity.silhouette(walks, ONES)
    assert diversity.silhouette(walks, 3.0 * ONES) == pytest.approx(apart)
    hidden = ONES.copy()
    hidden[0] = 1000.0
    assert diversity.silhouette(walks, hidden) < 0.1 < apart


@pytest.mark.usefixtures("umap")
def test_the_map_is_that_of_the_expert_alone() -> None:
    """Skills do not change the map, and the map is repeatable.

    A copy of the expert has the expert's points.
    """
    rng = np.random.default_rng(0)
    expert = rng.normal(size=(24, FEATURES))
    twin = expert.copy()
    far = 50 + rng.normal(size=(6, FEATURES))
    scale = expert.std(0)
    alone = diversity.embed(expert, [], scale)
    both = diversity.embed(expert, [twin, far], scale)
    assert [points.shape for points in both] == [(24, 2), (24, 2), (6, 2)]
    np.testing.assert_array_equal(alone[0], both[0])
    np.testing.assert_array_equal(both[0], both[1])
    assert np.isfinite(both[2]).all()
    other = diversity.embed(expert, [far], 2 * scale)
    np.testing.assert_array_equal(diversity.embed(expert, [far], 2 * scale)[1], other[1])
