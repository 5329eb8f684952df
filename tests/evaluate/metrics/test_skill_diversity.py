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
    """Skills that differ in their first successor feature; all features have noise."""
    rng = np.random.default_rng(seed)
    walks = []
    for value in values:
        successor = spread * rng.normal(size=(robots, FEATURES))
        successor[:, 0] += value
        walks.append(made_up_walk(robots, successor=successor))
    return walks


# --- Successor features --------------------------------------------------------------------------


def test_equal_skills_are_no_distance_apart() -> None:
    """Nor is a robot of one skill from another's."""
    assert diversity.successor_distance(feature(1.0, 1.0, 1.0)) == 0.0


def test_the_distance_is_the_mean_over_pairs() -> None:
    """0, 3 and 4: (3 + 4 + 1) / 3; in units of two, half of it."""
    walks = feature(0.0, 3.0, 4.0)
    assert diversity.successor_distance(walks) == pytest.approx(8 / 3)
    assert diversity.successor_distance(walks, 2 * ONES) == pytest.approx(4 / 3)


def test_the_distance_is_of_means_over_robots() -> None:
    """Robots of a skill that differ from each other do not make skills differ."""
    wide = made_up_walk(2, successor=np.stack([-5 * ONES, 5 * ONES]))
    assert diversity.successor_distance([wide, *feature(0.0)]) == 0.0


# --- Told apart ----------------------------------------------------------------------------------


def test_equal_skills_are_named_by_chance() -> None:
    """Robots drawn from one distribution: a third of them, no information."""
    accuracy, information = diversity.recognise_skills(
        feature(0.0, 0.0, 0.0, robots=200, spread=1.0), ONES
    )
    assert accuracy == pytest.approx(1 / 3, abs=0.08)
    assert information == pytest.approx(0.0, abs=0.02)


def test_identical_rollouts_carry_no_information() -> None:
    """The same numbers from every skill: any answer is right once in three times."""
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
    """Features that differ by 100 000 deviations, such as of a robot on its back."""
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
    """Four skills, in two pairs that are alike: half of them right, log 2 of log 4."""
    accuracy, information = diversity.recognise_skills(
        feature(0.0, 0.0, 30.0, 30.0, robots=400, spread=1.0), ONES
    )
    assert accuracy == pytest.approx(0.5, abs=0.08)
    assert information == pytest.approx(log(2), abs=0.08)


# --- Visibly different ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measure", "usual", "apart"),
    [
        ("height_mean", 0.25, 0.02),
        ("clearance", 0.05, 0.02),
        ("pair_phase", 0.5, -0.2),
    ],
)
def test_skills_differ_to_the_eye_in_height_clearance_or_phase(
    measure: str, usual: float, apart: float
) -> None:
    """Skills 1 and 3 do; the others are like skill 0."""
    values = [usual, usual + apart, usual, usual + 2 * apart, usual]
    walks = [made_up_walk(seed=seed, **{measure: value}) for seed, value in enumerate(values)]
    assert diversity.visibly_different(walks) == [0, 1, 3]


def test_differences_in_other_measures_are_not_seen() -> None:
    """Power, frequency and speed are not looked at."""
    assert diversity.visibly_different(
        [made_up_walk(), made_up_walk(power=90.0, frequency=2.0, vx=1.3)]
    ) == [0]


def test_the_largest_group_is_found() -> None:
    """Skill 0 is 10 mm from both others, which are 20 mm apart: the group leaves it out."""
    walks = [made_up_walk(height_mean=height) for height in (0.26, 0.25, 0.27)]
    assert diversity.visibly_different(walks) == [1, 2]


def test_skills_that_fall_or_are_slow_do_not_count() -> None:
    """However different they are; a single fall is a fall."""
    one_fell = np.arange(8) == 5
    walks = [
        made_up_walk(height_mean=0.20, fallen=one_fell),
        made_up_walk(height_mean=0.25),
        made_up_walk(height_mean=0.30, vx=0.7),
        made_up_walk(height_mean=0.35, vx=0.85),
    ]
    assert diversity.visibly_different(walks) == [1, 3]
    assert diversity.visibly_different(walks[:2]) == [1]
    assert diversity.visibly_different(walks[:1]) == []


@pytest.mark.parametrize(("spread", "expected"), [(0.001, [0, 1]), (0.05, [0])])
def test_differences_within_the_noise_do_not_count(spread: float, expected: list[int]) -> None:
    """20 mm apart in the mean: with a spread of 50 mm over eight robots that may be chance."""
    walks = [made_up_walk(spread=0.0), made_up_walk(spread=0.0)]
    noise = np.linspace(-spread, spread, 8)
    walks[0].height_mean[:], walks[1].height_mean[:] = 0.25 + noise, 0.27 + noise
    assert diversity.visibly_different(walks) == expected


@pytest.mark.parametrize(("apart", "expected"), [(0.014, [0]), (0.016, [0, 1])])
def test_certain_differences_that_are_too_small_to_see_do_not_count(
    apart: float, expected: list[int]
) -> None:
    """15 mm is where it begins, even without any noise."""
    walks = [made_up_walk(spread=0.0), made_up_walk(spread=0.0, height_mean=0.25 + apart)]
    assert diversity.visibly_different(walks) == expected


@pytest.mark.parametrize("measure", diversity.VISIBLE)
def test_every_measure_can_set_skills_apart(measure: str) -> None:
    """Each alone."""
    apart = 2 * diversity.VISIBLE[measure]
    walks = [made_up_walk(spread=0.0, **{measure: value}) for value in (0.1, 0.1 + apart)]
    assert diversity.spread(walks)[measure] == pytest.approx(apart)
    assert diversity.visibly_different(walks) == [0, 1]


def test_one_odd_phase_sets_no_skill_apart() -> None:
    """Phases of a stumbling robot are outliers: the median counts, as in all averages of phases."""
    walks = [made_up_walk(spread=0.0), made_up_walk(spread=0.0)]
    walks[1].pair_phase[0] += 100.0
    assert diversity.visibly_different(walks) == [0]
    assert diversity.spread(walks)["pair_phase"] == 0


def test_the_spread_is_that_of_robots_on_their_feet() -> None:
    """The largest difference of all pairs.

    A robot that lies on the ground has no height of a walk.
    """
    walks = [made_up_walk(spread=0.0, height_mean=height) for height in (0.25, 0.27, 0.26)]
    walks[2].fallen[0], walks[2].height_mean[0] = True, 0.05
    assert diversity.spread(walks) == pytest.approx(
        {"height_mean": 0.02, "clearance": 0.0, "pair_phase": 0.0}
    )


# --- Maps ----------------------------------------------------------------------------------------


def test_the_silhouette_is_positive_if_skills_lie_apart() -> None:
    """Nearly one for tight, distant groups; below zero for groups inside each other."""
    rng = np.random.default_rng(0)
    tight = [place + 0.1 * rng.normal(size=(10, 2)) for place in (0.0, 10.0, 20.0)]
    assert diversity.silhouette(tight) > 0.9
    mixed = [np.array([[0.0, 0.0], [10.0, 0.0]]), np.array([[0.1, 0.0], [10.1, 0.0]])]
    assert diversity.silhouette(mixed) < -0.4


def test_the_map_is_that_of_the_expert_alone() -> None:
    """Skills are placed on it and do not move it, and it is the same every time.

    The expert's twin lies on it.
    """
    rng = np.random.default_rng(0)
    expert = made_up_walk(24, successor=rng.normal(size=(24, FEATURES)))
    twin = made_up_walk(24, successor=expert.successor.copy())
    far = made_up_walk(6, successor=50 + rng.normal(size=(6, FEATURES)))
    scale = expert.successor.std(0)
    alone = diversity.embed(expert, [], scale)
    both = diversity.embed(expert, [twin, far], scale)
    assert [points.shape for points in both] == [(24, 2), (24, 2), (6, 2)]
    np.testing.assert_array_equal(alone[0], both[0])
    np.testing.assert_array_equal(both[0], both[1])
    assert np.isfinite(both[2]).all()
    other = diversity.embed(expert, [far], 2 * scale)
    np.testing.assert_array_equal(diversity.embed(expert, [far], 2 * scale)[1], other[1])
