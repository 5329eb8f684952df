"""KL divergence of states: bias of at most 0.1 nats against exact values."""

from __future__ import annotations

import numpy as np
import pytest

from solo_doi.evaluate.metrics.state_divergence import Jackknife, kl_divergence

from .densities import EXPERT_STATES, POLICY_STATES, density, expert_weights
from .gaussians import POLICIES, policy

LARGEST_BIAS = 0.1
"""[nats]."""


@pytest.mark.parametrize(
    ("size", "name", "draws"),
    [
        (3, "equal", 2),
        (3, "near", 2),
        (3, "far", 2),
        (21, "near", 1),
        (33, "equal", 1),
        (33, "near", 1),
        (33, "far", 1),
    ],
)
def test_the_bias_on_gaussians_is_small(size: int, name: str, draws: int) -> None:
    """States are independent; the search finds one component on both sides."""
    gaussian = policy(size, *POLICIES[name])
    found = []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        # Correlated inputs: a common linear map changes no divergence.
        mixing = np.eye(size) + 0.5 * rng.normal(size=(size, size)) / np.sqrt(size)
        values = gaussian.mean + gaussian.deviation * rng.normal(size=(POLICY_STATES, size))
        expert = rng.normal(size=(EXPERT_STATES, size))
        weights = expert_weights(rng)
        one, other = density(values @ mixing), density(expert @ mixing, weights)
        assert (one.shape.components, other.shape.components) == (1, 1)
        found.append(kl_divergence(one, other).value - gaussian.noise(values, expert, weights))
    assert np.mean(found) == pytest.approx(gaussian.divergence, abs=LARGEST_BIAS)


def test_the_jackknife_removes_two_orders_of_the_bias() -> None:
    """The number is 7 + 3 / n - 5 / n^2.

    It is computed from 10 states, from 8 of them (five times) and from 6 of them (ten times).
    """

    def biased(count: float) -> float:
        return 7 + 3 / count - 5 / count**2

    found = Jackknife(biased(10), [biased(8)] * 5, [biased(6)] * 10)
    assert found.unbiased == pytest.approx(7.0)
