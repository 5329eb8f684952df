"""95 % intervals: bootstrap over robots for averages, Wilson's for shares."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

QUANTILE = 1.959964
"""Quantile 0.975 of the standard normal distribution."""
LEAST_TRIALS = 300
"""Rollouts below which a share of falls is marked: 0 falls in 300 still allow a share of 1.3 %."""


def interval(
    values: np.ndarray,
    average: Callable[..., np.ndarray] = np.mean,
    seed: int = 0,
    resamples: int = 2000,
) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a mean, or another average, over robots."""
    return middle(average(values[resampled(len(values), seed, resamples)], axis=1))


@lru_cache(maxsize=8)  # an evaluation needs the same numbers hundreds of times
def resampled(count: int, seed: int = 0, resamples: int = 2000) -> np.ndarray:
    """Return indices of robots, drawn with replacement, (resamples, count); not to be changed."""
    indices = np.random.default_rng(seed).integers(0, count, (resamples, count))
    indices.flags.writeable = False
    return indices


def middle(values: np.ndarray) -> tuple[float, float]:
    """Return the lower and upper end of the middle 95 % of values."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


def wilson(found: int, count: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share, from `found` of `count` trials.

    Unlike a bootstrap, it is valid for few or no events: 0 of 100 gives 0 to 3.7 %.
    """
    share = found / count
    squared = QUANTILE**2
    centre = (share + squared / (2 * count)) / (1 + squared / count)
    spread = math.sqrt(share * (1 - share) / count + squared / (4 * count**2))
    width = QUANTILE * spread / (1 + squared / count)
    return max(0.0, centre - width), min(1.0, centre + width)
