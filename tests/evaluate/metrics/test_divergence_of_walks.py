"""KL divergence of states that are mixtures, or that depend on each other."""

from __future__ import annotations

import numpy as np
import pytest

from solo_doi.evaluate.metrics.mixture import States
from solo_doi.evaluate.metrics.state_divergence import StateDensity, kl_divergence

from .densities import EXPERT_STATES, POLICY_STATES, density, expert_weights


@pytest.mark.parametrize("size", [3, 21])
@pytest.mark.parametrize("walk", [0, 4])
def test_a_policy_that_is_one_of_five_walks(size: int, walk: int) -> None:
    """The expert is a mixture of five separate Gaussians.

    The divergence is minus the log of the walk's share: 0.92 and 2.53 nats.
    """
    shares = np.array([0.4, 0.25, 0.15, 0.12, 0.08])
    found = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        centres = rng.normal(size=(5, size))
        centres *= 10 / np.linalg.norm(centres, axis=1)[:, None]
        labels = rng.choice(5, EXPERT_STATES, p=shares)
        values = centres[labels] + rng.normal(size=(EXPERT_STATES, size))
        policy = density(centres[walk] + rng.normal(size=(POLICY_STATES, size)))
        found.append(kl_divergence(policy, density(values, expert_weights(rng))).value)
    assert np.mean(found) == pytest.approx(-np.log(shares[walk]), abs=0.2)


def test_weights_make_the_expert() -> None:
    """The data have two walks in equal shares, one of them with weight zero.

    The other walk has divergence 0.
    """
    rng = np.random.default_rng(0)
    labels = np.arange(2000) % 2
    expert = density(8.0 * labels[:, None] + rng.normal(size=(2000, 3)), 1e-9 + (labels == 0))
    policy = density(rng.normal(size=(POLICY_STATES, 3)))
    assert kl_divergence(policy, expert).value == pytest.approx(0.0, abs=0.05)


def test_dependent_states_count_as_dependent() -> None:
    """100 trajectories have nine states each that share most of their offset, in 12 dimensions.

    An estimate that treats them as independent would be half a nat too high.
    """
    found = {"whole": 0.0, "ignored": 0.0}
    for seed in range(2):
        rng = np.random.default_rng(seed)

        def draw(count: int, rng: np.random.Generator = rng) -> tuple[np.ndarray, np.ndarray]:
            trajectory = np.repeat(np.arange(count), 9)
            offsets = rng.normal(size=(count, 12))[trajectory]
            return 0.95 * offsets + 0.3 * rng.normal(size=(9 * count, 12)), trajectory

        values, trajectory = draw(600)
        expert = StateDensity(States(values, np.ones(len(values)), trajectory))
        values, trajectory = draw(100)
        for name, numbers in (("whole", trajectory), ("ignored", np.arange(900))):
            policy = StateDensity(States(values, np.ones(900), numbers))
            found[name] += kl_divergence(policy, expert).value / 2
    assert found["whole"] == pytest.approx(0.0, abs=0.15)
    assert found["ignored"] > 0.25
