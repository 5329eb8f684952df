"""Coherence: skills that walk with one gait in some rollouts and another gait in others."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .modes import has_several_modes
from .visible_difference import CLEARLY, RESOLUTION, pooled_deviation
from .walk import Walk

LEAST_ROLLOUTS = 100
"""Upright rollouts below which nothing is stated about a skill's gaits."""
LEAST_SHARE = 0.1
"""Smallest share of the rollouts in the rarer gait."""


def two_gaits(walk: Walk) -> list[str] | None:
    """Return the measures in which a skill has two gaits or more.

    None if fewer than `LEAST_ROLLOUTS` rollouts did not fall; the others are left out.
    """
    return _flagged(walk, has_two_gaits)


def two_gaits_plain(walk: Walk) -> list[str] | None:
    """Return the measures with a clearly different best split, as `two_gaits` does.

    One gait with a wide spread is also flagged.
    """
    return _flagged(walk, lambda values, name: splits_clearly(values, CLEARLY.visible[name]))


def _flagged(walk: Walk, test: Callable[[np.ndarray, str], bool]) -> list[str] | None:
    upright = ~walk.fallen
    if upright.sum() < LEAST_ROLLOUTS:
        return None
    return [name for name in CLEARLY.visible if test(getattr(walk, name)[upright], name)]


def has_two_gaits(values: np.ndarray, name: str) -> bool:
    """Return True if values of a measure split clearly, and into separate modes.

    The best split of one wide spread has distant means, too: 2.65 deviations within its parts for a
    normal, 3.5 for a uniform distribution. Only several modes leave a valley between them.
    """
    return splits_clearly(values, CLEARLY.visible[name]) and has_several_modes(
        values, LEAST_SHARE, RESOLUTION.get(name, 0.0)
    )


def splits_clearly(values: np.ndarray, visible: float) -> bool:
    """Return True if the best split of values has two large and clearly different parts."""
    low, high = best_split(values)
    difference = high.mean() - low.mean()
    if difference < max(visible, CLEARLY.deviations * pooled_deviation(low, high)):
        return False
    # Count values by the nearer mean: `best_split` fills a part of few outliers with usual values.
    share = np.mean(values < (low.mean() + high.mean()) / 2)
    return bool(min(share, 1 - share) >= LEAST_SHARE)


def best_split(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split values at the threshold with the smallest variance within both parts (Otsu).

    Each part has at least `LEAST_SHARE` of the values.
    """
    ordered = np.sort(values)
    fewest = math.ceil(LEAST_SHARE * len(ordered))
    sizes = np.arange(fewest, len(ordered) - fewest + 1)
    sums = np.cumsum(ordered)
    # The variance within is smallest where the variance between the parts is largest.
    below = sums[sizes - 1] / sizes
    above = (sums[-1] - sums[sizes - 1]) / (len(ordered) - sizes)
    between = sizes * (len(ordered) - sizes) * np.square(above - below)
    size = sizes[between.argmax()]
    return ordered[:size], ordered[size:]
