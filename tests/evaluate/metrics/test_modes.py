"""Modes of a sample: likelihoods by hand, and rates of correct and wrong detection."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from solo_doi.evaluate.metrics.modes import (
    broad_mode,
    has_several_modes,
    normal_modes,
    valley,
)

SHARE = 0.1
DRAWN = 200


def standardised(values: np.ndarray) -> np.ndarray:
    """Return sorted values with mean 0 and deviation 1."""
    return np.sort((values - values.mean()) / values.std())


def share_of_several(draw: Callable[[np.random.Generator], np.ndarray]) -> float:
    """Return the share of samples that have several modes."""
    rng = np.random.default_rng(0)
    return float(np.mean([has_several_modes(draw(rng), SHARE) for _ in range(DRAWN)]))


def separate(rng: np.random.Generator, modes: int, apart: float) -> np.ndarray:
    """Return 100 values of equal normal modes, some deviations apart."""
    return rng.normal(size=100) + apart * (np.arange(100) % modes)


# --- Parts ---------------------------------------------------------------------------------------


def test_the_valley_by_hand() -> None:
    """Kernels of width 1 at 0 and 4, 50 values each: 2 e^-2 in the middle, 1 + e^-8 on top."""
    values = np.repeat([0.0, 4.0], 50)
    expected = 2 * math.exp(-2) / (1 + math.exp(-8))
    assert valley(values, 1.0, SHARE) == pytest.approx(expected, rel=0.01)
    assert valley(np.repeat([0.0, 4.0], [95, 5]), 1.0, SHARE) == 1.0  # too few on one side


@pytest.mark.parametrize(
    ("draw", "density"),
    [
        (lambda rng: rng.normal(size=2000), lambda x: -0.5 * x**2 - 0.5 * math.log(2 * math.pi)),
        (lambda rng: rng.exponential(size=2000), lambda x: -x),
        (lambda rng: rng.uniform(size=2000), lambda x: 0 * x),
        (lambda rng: rng.laplace(size=2000), lambda x: -np.abs(x) - math.log(2)),
    ],
    ids=["normal", "exponential", "uniform", "Laplace"],
)
def test_one_broad_mode_has_the_likelihood_of_known_shapes(
    draw: Callable[[np.random.Generator], np.ndarray], density: Callable[[np.ndarray], np.ndarray]
) -> None:
    """The likelihood is within 0.02 nats per value of that of the true density."""
    values = draw(np.random.default_rng(0))
    found = broad_mode(standardised(values)) / 2000 - math.log(values.std())
    assert found == pytest.approx(density(values).mean(), abs=0.02)


def test_normal_modes_have_the_likelihood_of_their_mixture() -> None:
    """Three equal modes are six deviations apart; their deviation is found."""
    values = np.sort(np.random.default_rng(0).normal(size=900) + 6.0 * (np.arange(900) % 3))
    likelihood, deviation = normal_modes(values, 3)
    joint = -0.5 * (values[:, None] - [0.0, 6.0, 12.0]) ** 2 - math.log(3)
    expected = np.logaddexp.reduce(joint, axis=1).mean() - 0.5 * math.log(2 * math.pi)
    assert deviation == pytest.approx(1.0, abs=0.05)
    assert likelihood / 900 == pytest.approx(expected, abs=0.01)


# --- Simulations ---------------------------------------------------------------------------------

ONE: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "normal": lambda rng: rng.normal(size=100),
    "uniform": lambda rng: rng.uniform(size=100),
    "exponential": lambda rng: rng.exponential(size=100),
    "gamma": lambda rng: rng.gamma(2.0, size=100),
    "log-normal": lambda rng: np.exp(0.7 * rng.normal(size=100)),
    "Laplace": lambda rng: rng.laplace(size=100),
    "heavy": lambda rng: rng.standard_t(3, size=100),
}


@pytest.mark.parametrize("kind", ONE)
def test_one_mode_is_rarely_called_several(kind: str) -> None:
    """This happens in at most 2 % of samples of 100 values."""
    assert share_of_several(ONE[kind]) <= 0.02


def test_a_plateau_with_blunt_edges_is_the_hardest() -> None:
    """Two modes four deviations apart differ little from it: 8 % are called several."""
    assert share_of_several(lambda rng: rng.uniform(size=100) + 0.1 * rng.normal(size=100)) <= 0.1


@pytest.mark.parametrize(
    ("modes", "apart", "least"),
    [
        (2, 4.0, 0.95),
        (2, 5.0, 0.99),
        (3, 4.0, 0.85),
        (3, 5.0, 0.99),
        (3, 14.0, 1.0),
        (4, 5.0, 0.97),
    ],
)
def test_several_modes_are_found(modes: int, apart: float, least: float) -> None:
    """The samples have 100 values; the rate depends on the distance in deviations."""
    assert share_of_several(lambda rng: separate(rng, modes, apart)) >= least


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_unit_does_not_matter(scale: float) -> None:
    """Scaling and shifting the values does not change the result."""
    values = 7.0 + scale * separate(np.random.default_rng(0), 2, 6.0)
    assert has_several_modes(values, SHARE)
    assert not has_several_modes(7.0 + scale * np.linspace(0, 1, 100), SHARE)


def test_steps_of_a_measurement_are_no_modes() -> None:
    """Values on six neighbouring steps are one mode.

    Values on two steps with empty steps in between are two modes.
    """
    even = np.repeat(np.arange(6), 20) * 0.25
    assert not has_several_modes(even, SHARE, 0.25)
    assert has_several_modes(np.repeat([2.75, 3.25], 50), SHARE, 0.25)
