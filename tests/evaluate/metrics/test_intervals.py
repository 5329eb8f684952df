"""Intervals of averages and of shares."""

from __future__ import annotations

import numpy as np
import pytest

from solo_doi.evaluate.metrics.intervals import interval, wilson


def test_an_interval_is_that_of_a_mean() -> None:
    """It contains the mean and extends 1.96 standard errors to either side."""
    values = np.random.default_rng(0).normal(2.0, 0.5, 400)
    low, high = interval(values)
    assert low < values.mean() < high
    assert high - low == pytest.approx(2 * 1.96 * values.std() / np.sqrt(400), rel=0.1)


def test_an_interval_is_the_same_for_the_same_seed() -> None:
    """Another seed gives almost the same interval."""
    values = np.random.default_rng(0).normal(size=30)
    assert interval(values, seed=3) == interval(values, seed=3)
    assert interval(values, seed=3) != interval(values, seed=4)
    np.testing.assert_allclose(interval(values, seed=3), interval(values, seed=4), atol=0.05)


def test_more_robots_narrow_an_interval() -> None:
    """A hundred times as many robots give a tenth of the width."""
    values = np.random.default_rng(0).normal(size=2000)
    widths = [float(np.diff(interval(values[:count]))[0]) for count in (20, 2000)]
    assert widths[1] == pytest.approx(widths[0] / 10, rel=0.5)


def test_without_spread_there_is_no_interval() -> None:
    """Both ends equal the value itself."""
    assert interval(np.full(5, 0.25)) == (0.25, 0.25)


@pytest.mark.parametrize(
    ("found", "count", "expected"),
    [
        (0, 100, (0.0, 0.0370)),
        (1, 10, (0.0179, 0.4042)),
        (5, 10, (0.2366, 0.7634)),
        (10, 10, (0.7225, 1.0)),
    ],
)
def test_the_interval_of_a_share_is_wilsons(
    found: int, count: int, expected: tuple[float, float]
) -> None:
    """The ends solve (p - share)^2 = 1.96^2 p (1 - p) / count.

    For 0 of n the upper end is 1.96^2 / (n + 1.96^2).
    """
    assert wilson(found, count) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("found", "count"), [(1, 30), (7, 500), (250, 500)])
def test_both_ends_solve_the_equation_of_the_score_test(found: int, count: int) -> None:
    """The share is 1.96 standard errors from either end, with the standard error of that end."""
    for end in wilson(found, count):
        error = np.sqrt(end * (1 - end) / count)
        assert abs(found / count - end) == pytest.approx(1.959964 * error)
