"""Visibly and clearly different skills: both counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solo_doi.evaluate.metrics import visible_difference as visible
from solo_doi.evaluate.metrics.visible_difference import CLEARLY, VISIBLY, Rule
from solo_doi.evaluate.metrics.walk import Walk
from tests.evaluate.walks import made_up_walk

RULES = {"visibly": VISIBLY, "clearly": CLEARLY}
both_rules = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def group(walks: list[Walk], rule: Rule) -> list[int]:
    """Return the largest group of different skills."""
    return visible.largest_group(walks, visible.different_pairs(walks, rule))


# --- Measures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "name"), [(rule, name) for rule in RULES.values() for name in rule.visible]
)
@pytest.mark.parametrize(("part", "expected"), [(0.99, [0]), (1.01, [0, 1])])
def test_every_measure_of_a_rule_sets_skills_apart_from_its_amount_on(
    rule: Rule, name: str, part: float, expected: list[int]
) -> None:
    """Each measure is tested alone, without noise."""
    first = made_up_walk(spread=0.0)
    changed = getattr(first, name) - part * rule.visible[name]
    assert group([first, replace(first, **{name: changed})], rule) == expected


def test_the_amounts_are_those_of_the_definition() -> None:
    """The first rule has 15 mm and 0.15 cycles.

    The second adds 0.5 Hz, 4 degrees, a duty of 0.08 and two deviations.
    """
    first = {"height_mean": 0.015, "clearance": 0.015, "pair_phase": 0.15}
    assert Rule(first, 0.0) == VISIBLY
    assert Rule({**first, "frequency": 0.5, "pitch": 4.0, "duty": 0.08}, 2.0) == CLEARLY


def test_the_first_rule_does_not_look_at_cadence_pitch_and_duty() -> None:
    """Neither rule uses power, speed or drift."""
    usual = made_up_walk()
    other = made_up_walk(frequency=4.0, pitch=10.0, duty=0.7)
    assert group([usual, other], VISIBLY) == [0]
    assert group([usual, other], CLEARLY) == [0, 1]
    assert group([usual, made_up_walk(power=90.0, vx=1.3, drift=2.0)], CLEARLY) == [0]


@both_rules
def test_one_odd_phase_sets_no_skill_apart(rule: Rule) -> None:
    """The phases of a stumbling robot are outliers, so the median is compared."""
    walks = [made_up_walk(spread=0.0), made_up_walk(spread=0.0)]
    walks[1].pair_phase[0] += 100.0
    assert group(walks, rule) == [0]
    assert visible.spread(walks)["pair_phase"] == 0


# --- Noise ---------------------------------------------------------------------------------------


@both_rules
@pytest.mark.parametrize(("spread", "expected"), [(0.001, [0, 1]), (0.05, [0])])
def test_differences_within_the_noise_do_not_count(
    spread: float, expected: list[int], rule: Rule
) -> None:
    """Means are 20 mm apart; with a spread of 50 mm over eight robots that may be chance."""
    walks = [made_up_walk(spread=0.0), made_up_walk(spread=0.0)]
    noise = np.linspace(-spread, spread, 8)
    walks[0].height_mean[:], walks[1].height_mean[:] = 0.25 + noise, 0.27 + noise
    assert group(walks, rule) == expected


@pytest.mark.parametrize(("deviation", "expected"), [(0.009, [0, 1]), (0.011, [0])])
def test_clear_differences_are_two_deviations_within_the_skills(
    deviation: float, expected: list[int]
) -> None:
    """Means are 20 mm apart, certain from 200 rollouts, but single rollouts may overlap.

    One skill has twice the pooled variance, the other none.
    """
    steady = made_up_walk(200, spread=0.0, height_mean=0.23)
    wide = made_up_walk(200, spread=0.0, height_mean=0.25)
    wide.height_mean[::2] += np.sqrt(2) * deviation
    wide.height_mean[1::2] -= np.sqrt(2) * deviation
    assert group([steady, wide], VISIBLY) == [0, 1]
    assert group([steady, wide], CLEARLY) == expected


def test_the_pooled_deviation_by_hand() -> None:
    """Squares around own means are 2 and 8; five values in two groups have 3 degrees of freedom."""
    found = visible.pooled_deviation(np.array([1.0, 3.0]), np.array([10.0, 12.0, 14.0]))
    assert found == pytest.approx(np.sqrt((2 + 8) / 3))
    assert visible.pooled_deviation(np.array([1.0]), np.array([7.0])) == 0.0


def test_medians_are_compared_with_a_robust_deviation() -> None:
    """Cadences are 0.75 Hz apart; one robot in 20 stumbles at 8 Hz."""
    walks = [made_up_walk(20, frequency=3.0), made_up_walk(20, frequency=3.75)]
    walks[0].frequency[0] = 8.0
    assert visible.pooled_deviation(walks[0].frequency, walks[1].frequency) > 0.75
    assert visible.different_pairs(walks, CLEARLY) == [(0, 1)]
    values = np.array([3.0, 2.0, 4.0, 3.0, 9.0])
    found = visible.deviation_within("frequency", values, np.full(5, 3.0))
    assert found == pytest.approx(1.4826 / np.sqrt(2))  # MADs of 1 and 0


def test_the_deviation_of_a_frequency_is_at_least_its_step() -> None:
    """Values in one bin of 0.25 Hz have no deviation of their own; heights may have none."""
    same = np.full(10, 3.0)
    assert visible.deviation_within("frequency", same, same) == 0.25
    assert visible.deviation_within("pair_phase", same, same) == 0.0
    assert visible.deviation_within("height_mean", same, same) == 0.0


# --- Groups and pairs ----------------------------------------------------------------------------


@both_rules
def test_the_largest_group_is_found(rule: Rule) -> None:
    """Skill 0 is 10 mm from both others, which are 20 mm apart; the group excludes it."""
    walks = [made_up_walk(height_mean=height) for height in (0.26, 0.25, 0.27)]
    assert visible.different_pairs(walks, rule) == [(1, 2)]
    assert group(walks, rule) == [1, 2]


def test_skills_may_differ_in_different_measures() -> None:
    """Each pair of three skills differs in another measure."""
    walks = [made_up_walk(), made_up_walk(height_mean=0.28), made_up_walk(frequency=4.0)]
    assert visible.different_pairs(walks, CLEARLY) == [(0, 1), (0, 2), (1, 2)]
    assert group(walks, CLEARLY) == [0, 1, 2]
    assert visible.different_pairs(walks, VISIBLY) == [(0, 1), (1, 2)]
    assert group(walks, VISIBLY) == [0, 1]


# --- Skills that walk ----------------------------------------------------------------------------


@both_rules
def test_a_skill_with_few_falls_counts(rule: Rule) -> None:
    """9 falls in 100 rollouts are accepted, 10 are not; slow skills do not count."""
    walks = [
        made_up_walk(100, height_mean=0.20, fallen=np.arange(100) < 9),
        made_up_walk(100, height_mean=0.23, fallen=np.arange(100) < 10),
        made_up_walk(100, height_mean=0.26, vx=0.79),
        made_up_walk(100, height_mean=0.30, vx=0.81),
    ]
    assert visible.walking(walks) == [0, 3]
    assert group(walks, rule) == [0, 3]
    assert group(walks[1:3], rule) == []
    assert group(walks[:1], rule) == [0]


@both_rules
def test_rollouts_that_fell_count_neither_for_speed_nor_for_differences(rule: Rule) -> None:
    """Only upright robots enter the mean velocity and height."""
    fallen = np.arange(20) == 3
    walks = [made_up_walk(20, vx=0.82), made_up_walk(20, vx=0.82, fallen=fallen)]
    walks[1].vx[fallen], walks[1].height_mean[fallen] = 0.0, -10.0
    assert visible.walking(walks) == [0, 1]
    assert visible.different_pairs(walks, rule) == []


def test_the_spread_is_that_of_robots_on_their_feet() -> None:
    """The spread is the largest difference of all pairs.

    A robot on the ground is left out.
    """
    walks = [made_up_walk(spread=0.0, height_mean=height) for height in (0.25, 0.27, 0.26)]
    walks[2].fallen[0], walks[2].height_mean[0] = True, 0.05
    assert visible.spread(walks) == pytest.approx(
        {name: 0.02 if name == "height_mean" else 0.0 for name in CLEARLY.visible}
    )
