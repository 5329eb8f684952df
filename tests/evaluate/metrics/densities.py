"""Densities of independent states, in the numbers of an evaluation."""

from __future__ import annotations

import numpy as np

from solo_doi.evaluate.metrics.mixture import States
from solo_doi.evaluate.metrics.state_divergence import StateDensity

POLICY_STATES = 900
"""States of 100 rollouts of a policy, as in an evaluation."""
EXPERT_STATES = 4000


def density(values: np.ndarray, weights: np.ndarray | None = None) -> StateDensity:
    """Return the density of independent states."""
    count = len(values)
    return StateDensity(
        States(values, np.ones(count) if weights is None else weights, np.arange(count))
    )


def expert_weights(rng: np.random.Generator) -> np.ndarray:
    """Return weights that do not depend on the state; two thirds of the states are effective."""
    return rng.gamma(2.0, size=EXPERT_STATES)
