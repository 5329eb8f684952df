"""Bias of the KL divergence on Gaussians: at most 0.1 nats for states of few trajectories."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from solo_doi.evaluate.metrics.mixture import Shape, States
from solo_doi.evaluate.metrics.state_divergence import Divergence, StateDensity, kl_divergence
from solo_doi.evaluate.policy_divergence import LEAST_TRAJECTORIES

from .gaussians import POLICIES, Gaussian, policy

LARGEST_BIAS = 0.1
"""[nats]."""
PER_TRAJECTORY = 10
SHARED = 0.8
"""Share of the variance that states of one trajectory have in common."""


def trajectories(rng: np.random.Generator, count: int, size: int) -> States:
    """Return states of trajectories, normal in all, that depend on each other."""
    trajectory = np.repeat(np.arange(count), PER_TRAJECTORY)
    shared = rng.normal(size=(count, size))[trajectory]
    own = rng.normal(size=(len(trajectory), size))
    values = np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * own
    return States(values, np.ones(len(trajectory)), trajectory)


class Draw(NamedTuple):
    """An estimate from one draw of both samples."""

    estimate: Divergence
    noise: float
    """Linear part of its error [nats]."""


def draw(gaussian: Gaussian, seed: int, count: int, effective: int) -> Draw:
    """Estimate the divergence of a number of trajectories, from a weighted expert.

    Args:
        gaussian: States of the policy.
        seed: Seed of all numbers.
        count: Trajectories of the policy.
        effective: Effective number of trajectories of the expert.
    """
    size = len(gaussian.mean)
    rng = np.random.default_rng([seed, size])
    # Correlated inputs: a common linear map changes no divergence.
    mixing = np.eye(size) + 0.5 * rng.normal(size=(size, size)) / np.sqrt(size)
    own = trajectories(rng, count, size)
    values = gaussian.mean + gaussian.deviation * own.values
    expert = trajectories(rng, round(1.5 * effective), size)
    weights = rng.gamma(2.0, size=round(1.5 * effective))[expert.trajectory]
    densities = [
        StateDensity(States(values @ mixing, own.weights, own.trajectory)),
        StateDensity(States(expert.values @ mixing, weights, expert.trajectory)),
    ]
    for density in densities:
        vars(density)["shape"] = Shape(1, 0.0)  # a search takes long, and has tests of its own
    return Draw(kl_divergence(*densities), gaussian.noise(values, expert.values, weights))


USUAL_DRAWS = {3: 12, 21: 20, 33: 20}
"""Draws of the usual number of trajectories, by the numbers of a state."""
FEWEST_DRAWS = {3: 100, 21: 40, 33: 50}
"""Draws of the fewest trajectories, which differ more."""


def check(draws: list[Draw], expected: float) -> None:
    """Compare the mean with the exact value, and standard errors with the spread of estimates."""
    values = np.array([draw.estimate.value for draw in draws])
    without_noise = values - [draw.noise for draw in draws]
    assert without_noise.mean() == pytest.approx(expected, abs=LARGEST_BIAS)
    error = np.sqrt(np.mean([draw.estimate.error**2 for draw in draws]))
    assert 0.6 < error / values.std() < 2.5  # both are rough


@pytest.mark.parametrize("size", USUAL_DRAWS)
@pytest.mark.parametrize("name", ["equal", "far"])
def test_the_bias_for_100_trajectories_is_small(name: str, size: int) -> None:
    """Each trajectory has ten dependent states; the expert has 250 trajectories."""
    gaussian = policy(size, *POLICIES[name])
    draws = [draw(gaussian, seed, 100, 250) for seed in range(USUAL_DRAWS[size])]
    check(draws, gaussian.divergence)


@pytest.mark.parametrize("size", FEWEST_DRAWS)
@pytest.mark.parametrize("name", ["equal", "far"])
def test_the_bias_for_the_fewest_trajectories_is_small(name: str, size: int) -> None:
    """Policy and expert have the fewest trajectories that are accepted."""
    gaussian = policy(size, *POLICIES[name])
    least = LEAST_TRAJECTORIES * size
    draws = [draw(gaussian, seed, least, least) for seed in range(FEWEST_DRAWS[size])]
    check(draws, gaussian.divergence)
