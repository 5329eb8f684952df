"""Two counts of skills that a person can distinguish: visibly and clearly different ones."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .intervals import interval
from .walk import GAIT_AVERAGES, Walk

SLOWEST_WALK = 0.8
"""Smallest mean velocity of a skill that walks [m/s]."""
LARGEST_FALL_SHARE = 0.1
"""Share of falls at and above which a skill does not count as walking."""


@dataclass(frozen=True)
class Rule:
    """Differences of two skills that count, by measure of their walks."""

    visible: Mapping[str, float]
    """Smallest visible difference of each measure, in its unit."""
    deviations: float = 0.0
    """Smallest difference, in deviations between rollouts of one skill."""


VISIBLY = Rule({"height_mean": 0.015, "clearance": 0.015, "pair_phase": 0.15})
"""The first rule: height [m], clearance [m] and phase [cycles]. Imitations of one expert differ far
less."""
CLEARLY = Rule({**VISIBLY.visible, "frequency": 0.5, "pitch": 4.0, "duty": 0.08}, deviations=2.0)
"""Adds cadence [Hz], pitch [degrees] and duty factor.

Skills that spread widely are mixtures. Differences below two deviations do not count, since single
rollouts of such skills look alike.
"""
RESOLUTION = {"frequency": 0.25}
"""Steps in which a measure is found, in its unit: the frequency bin of 200 control steps [Hz]."""
MAD_TO_DEVIATION = 1.4826
"""Deviation of a normal distribution, in median absolute deviations from the median."""


def walking(walks: list[Walk]) -> list[int]:
    """Return the skills that walk: fast enough in rollouts without a fall, and with few falls."""
    able = []
    for skill, walk in enumerate(walks):
        upright = walk.vx[walk.counted].mean()
        if upright >= SLOWEST_WALK and walk.fallen.mean() < LARGEST_FALL_SHARE:
            able.append(skill)
    return able


def different_pairs(walks: list[Walk], rule: Rule) -> list[tuple[int, int]]:
    """Return the pairs of walking skills that differ by a rule."""
    pairs = []
    for a, b in itertools.combinations(walking(walks), 2):
        if differ(walks[a], walks[b], rule):
            pairs.append((a, b))
    return pairs


def largest_group(walks: list[Walk], pairs: list[tuple[int, int]]) -> list[int]:
    """Return the largest group of walking skills of which every two are a pair."""
    able = walking(walks)
    different = set(pairs)
    for size in range(len(able), 1, -1):
        for group in itertools.combinations(able, size):
            if different.issuperset(itertools.combinations(group, 2)):
                return list(group)
    return able[:1]


def differ(a: Walk, b: Walk, rule: Rule) -> bool:
    """Return True if two skills differ in one of the rule's measures.

    The difference must be visible, and 95 % intervals must not overlap. Rollouts that fell are left
    out.
    """
    for name, visible in rule.visible.items():
        values_a = getattr(a, name)[a.counted]
        values_b = getattr(b, name)[b.counted]
        average = GAIT_AVERAGES[name]
        difference = abs(average(values_a) - average(values_b))
        if difference < max(visible, rule.deviations * deviation_within(name, values_a, values_b)):
            continue
        low, high = sorted((interval(values_a, average), interval(values_b, average)))
        if low[1] < high[0]:
            return True
    return False


def deviation_within(name: str, *groups: np.ndarray) -> float:
    """Return the deviation of a measure between rollouts of one skill, pooled over skills.

    For measures with a median as average, it is computed from median absolute deviations, so that
    one stumbling robot does not hide a difference. It is then at least the resolution, since values
    within one step may have no deviation at all.
    """
    if GAIT_AVERAGES[name] is not np.median:
        return pooled_deviation(*groups)
    squares = 0.0
    for values in groups:
        spread = MAD_TO_DEVIATION * float(np.median(np.abs(values - np.median(values))))
        squares += len(values) * spread**2
    pooled = float(np.sqrt(squares / sum(map(len, groups))))
    return max(pooled, RESOLUTION.get(name, 0.0))


def pooled_deviation(*groups: np.ndarray) -> float:
    """Return the standard deviation within groups of values, around each group's own mean."""
    squares = sum(float(np.square(values - values.mean()).sum()) for values in groups)
    freedom = sum(map(len, groups)) - len(groups)
    return float(np.sqrt(squares / max(freedom, 1)))


def spread(walks: list[Walk]) -> dict[str, float]:
    """Return the largest difference between two skills in every measure of the rules."""
    spreads = {}
    for name in CLEARLY.visible:
        average = GAIT_AVERAGES[name]
        averages = [average(getattr(walk, name)[walk.counted]) for walk in walks]
        spreads[name] = float(np.ptp(averages))
    return spreads
