"""Skills with two gaits are flagged, one gait with a spread is not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from solo_doi.evaluate.metrics.two_gaits import (
    best_split,
    has_two_gaits,
    splits_clearly,
    two_gaits,
    two_gaits_plain,
)
from solo_doi.evaluate.metrics.visible_difference import CLEARLY
from solo_doi.evaluate.metrics.walk import Walk
from tests.evaluate.walks import made_up_walk

VISIBLE_HEIGHT = CLEARLY.visible["height_mean"]


def with_heights(heights: np.ndarray, fallen: np.ndarray | None = None) -> Walk:
    """Return a walk of rollouts with given heights, in any order [m]."""
    walk = made_up_walk(len(heights), fallen=fallen)
    walk.height_mean[:] = np.random.default_rng(1).permutation(heights)
    return walk


def mixed(seed: int = 0, count: int = 120) -> np.ndarray:
    """Return a skill like one from training: 19 rollouts at 213 to 231 mm, 11 at 249 to 266 mm."""
    rng = np.random.default_rng(seed)
    low = round(count * 19 / 30)
    return np.concatenate([rng.uniform(0.213, 0.231, low), rng.uniform(0.249, 0.266, count - low)])


def test_the_best_split_by_hand() -> None:
    """0, 1, 2, 10, 11 in any order are split between 2 and 10.

    Each part has at least a tenth of the values.
    """
    low, high = best_split(np.array([10.0, 0.0, 2.0, 11.0, 1.0]))
    assert (low.tolist(), high.tolist()) == ([0.0, 1.0, 2.0], [10.0, 11.0])
    values = np.concatenate([np.zeros(95), np.full(5, 100.0)])
    low, high = best_split(values)
    assert (len(low), len(high)) == (90, 10)


def test_the_best_split_has_the_smallest_variance_within() -> None:
    """The reference is a search over all thresholds."""
    values = np.sort(np.random.default_rng(0).gamma(1.0, size=60))
    low, high = best_split(values)

    def within(size: int) -> float:
        return size * float(values[:size].var()) + (60 - size) * float(values[size:].var())

    assert len(low) == 6 + int(np.argmin([within(size) for size in range(6, 55)]))
    assert len(high) == 60 - len(low)


@pytest.mark.parametrize("seed", range(10))
def test_a_skill_of_two_heights_is_flagged(seed: int) -> None:
    """Height is the only measure in the list."""
    assert two_gaits(with_heights(mixed(seed))) == ["height_mean"]


@pytest.mark.parametrize("seed", range(10))
def test_a_skill_of_three_heights_is_flagged(seed: int) -> None:
    """Heights are 222, 250 and 278 mm with a deviation of 2 mm; the best split merges two."""
    rng = np.random.default_rng(seed)
    heights = 0.222 + 0.028 * (np.arange(120) % 3) + 0.002 * rng.normal(size=120)
    assert two_gaits(with_heights(heights)) == ["height_mean"]


DRAWS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "normal": lambda rng: rng.normal(size=100),
    "uniform": lambda rng: np.sqrt(12) * rng.uniform(size=100),
    "exponential": lambda rng: rng.exponential(size=100),
    "log-normal": lambda rng: np.exp(0.7 * rng.normal(size=100)),
    "heavy": lambda rng: rng.standard_t(3, size=100) / np.sqrt(3),
}


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize("deviation", [0.008, 0.02])
def test_one_gait_with_a_spread_is_not_flagged(kind: str, deviation: float) -> None:
    """At most 2 % of such skills are flagged, although their best split is visible.

    The halves of a normal spread of 20 mm have means 32 mm apart, which is 2.65 deviations.
    """
    rng = np.random.default_rng(0)
    draws = [deviation * DRAWS[kind](rng) for _ in range(200)]
    flagged = [has_two_gaits(values, "height_mean") for values in draws]
    assert np.mean(flagged) <= (0.01 if deviation == 0.008 else 0.02)
    if deviation == 0.02 and kind != "heavy":
        assert np.mean([splits_clearly(values, VISIBLE_HEIGHT) for values in draws]) > 0.7


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_two_gaits_six_deviations_apart_are_found(share: float) -> None:
    """They are found in nine of ten skills with 100 rollouts, for 30 mm and a deviation of 5 mm."""
    found = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        second = rng.random(100) < share
        found.append(has_two_gaits(0.005 * rng.normal(size=100) + 0.03 * second, "height_mean"))
    assert np.mean(found) >= 0.9


MIXES = {
    "20 mm apart": (0.5, 0.02, 0.95),
    "30 mm apart": (0.5, 0.03, 0.99),
    "30 mm apart, a fifth": (0.2, 0.03, 0.95),
}
"""Share of the second gait, distance [m], and least share of skills in which both are found."""


@pytest.mark.parametrize(("share", "distance", "least"), MIXES.values(), ids=MIXES)
def test_two_gaits_with_a_spread_are_found(share: float, distance: float, least: float) -> None:
    """A skill has 100 rollouts of two gaits with a deviation of 5 mm each."""
    found = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        second = np.arange(100) < 100 * share
        values = 0.005 * rng.normal(size=100) + distance * second
        found.append(has_two_gaits(values, "height_mean"))
    assert np.mean(found) >= least


def test_the_plain_rule_also_flags_one_wide_gait() -> None:
    """It flags a uniform spread over 40 mm; both rules flag a mixed skill."""
    wide = with_heights(np.linspace(0.23, 0.27, 100))
    assert two_gaits(wide) == []
    assert two_gaits_plain(wide) == ["height_mean"]
    assert two_gaits_plain(with_heights(mixed())) == ["height_mean"]
    assert two_gaits_plain(made_up_walk(100)) == []


def test_steps_of_the_frequency_are_no_gaits() -> None:
    """Stride frequencies are in five neighbouring bins of 0.25 Hz, in equal shares."""
    walk = made_up_walk(100)
    walk.frequency[:] = 2.5 + 0.25 * (np.arange(100) % 5)
    assert two_gaits(walk) == []
    assert two_gaits_plain(walk) == ["frequency"]


def test_gaits_that_look_alike_are_one() -> None:
    """Two heights are 14 mm apart, and two stride frequencies 0.25 Hz."""
    heights = np.where(np.arange(100) < 50, 0.25, 0.264)
    walk = with_heights(heights)
    walk.frequency[:] = np.where(np.arange(100) < 50, 2.75, 3.0)
    assert two_gaits(walk) == []
    walk.frequency[:] = np.where(np.arange(100) < 50, 2.75, 3.25)
    assert two_gaits(walk) == ["frequency"]


def test_a_few_odd_rollouts_are_no_gait() -> None:
    """Nine of 100 rollouts are outliers at any distance.

    The split has a tenth of the rollouts, with usual ones among them.
    """
    heights = 0.25 + 0.002 * np.random.default_rng(0).normal(size=100)
    heights[:9] -= 0.1
    assert two_gaits(with_heights(heights)) == []
    heights[9:12] -= 0.1
    assert two_gaits(with_heights(heights)) == ["height_mean"]


def test_too_few_upright_rollouts_say_nothing() -> None:
    """99 upright rollouts are too few, with or without further rollouts that fell.

    100 upright rollouts are enough.
    """
    heights = mixed(count=120)
    assert two_gaits(with_heights(heights[:99])) is None
    assert two_gaits(with_heights(heights, fallen=np.arange(120) < 21)) is None
    assert two_gaits_plain(with_heights(heights, fallen=np.arange(120) < 21)) is None
    assert two_gaits(with_heights(heights, fallen=np.arange(120) < 20)) == ["height_mean"]
    assert two_gaits(with_heights(heights, fallen=np.ones(120, dtype=bool))) is None


def test_rollouts_that_fell_are_no_gait() -> None:
    """Nine fallen robots, 150 mm lower, are left out.

    Eleven upright robots that are 5 mm lower are not a second gait.
    """
    walk = made_up_walk(110, fallen=np.arange(110) < 9)
    walk.height_mean[:9] = 0.1
    walk.height_mean[9:20] -= 0.005
    assert two_gaits(walk) == []
    assert two_gaits_plain(walk) == []
