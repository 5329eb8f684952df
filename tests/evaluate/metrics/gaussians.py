"""Gaussian states of a policy with a known divergence from the expert's, N(0, I)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

POLICIES = {"equal": (0.0, 1.0), "near": (1.0, 0.7), "far": (1.9, 0.4)}
"""Shift and width of a policy: 0, 0.8 and 3.3 nats from the expert."""


class Gaussian(NamedTuple):
    """States of a policy, independent in all directions; those of the expert are N(0, I)."""

    mean: np.ndarray
    deviation: np.ndarray

    @property
    def divergence(self) -> float:
        """KL(policy || expert) [nats]."""
        variance = self.deviation**2
        return float(0.5 * np.sum(variance + self.mean**2 - 1 - np.log(variance)))

    def noise(self, own: np.ndarray, expert: np.ndarray, weights: np.ndarray) -> float:
        """Return the part of an estimate's error that is linear in the samples [nats].

        Its expectation is zero, so without it fewer draws show the bias.
        """
        inside = np.square((own - self.mean) / self.deviation) + 2 * np.log(self.deviation)
        ratio = 0.5 * np.sum(np.square(own) - inside, axis=1).mean() - self.divergence
        second = self.deviation**2 + self.mean**2 - 1
        # Products of two directions drop out: the mean differs in one of them at most.
        of_moments = expert * self.mean + 0.5 * second * (np.square(expert) - 1)
        return float(ratio - np.average(of_moments.sum(1), weights=weights))


def policy(size: int, shift: float, narrow: float) -> Gaussian:
    """Return a policy that is shifted in one direction and narrower in three."""
    mean, deviation = np.zeros(size), np.ones(size)
    mean[-1], deviation[:3] = shift, narrow
    return Gaussian(mean, deviation)
