"""Successor features of the data's trajectories, the background of the UMAP figure."""

from __future__ import annotations

import numpy as np

from solo_doi.data.transitions import Transitions
from solo_doi.solo12.constants import CONTROL_SETUPS

from .metrics.walk import FEATURE_TERMS, discounted_mean
from .source import TASK
from .source_data import MissingDataError

MOST_TRAJECTORIES = 400
"""Largest number of trajectories in the figure."""


def trajectory_features(data: Transitions, seed: int = 0) -> np.ndarray:
    """Return successor features of a sample of trajectories, (trajectories, 33).

    Features as in `walk.successor_features`, but from observations: with sensor noise, which
    averages out, and with constant sensor errors, which do not.

    Raises:
        MissingDataError: The data do not name the terms of the features.
    """
    absent = [name for name in FEATURE_TERMS if name not in data.terms]
    if absent:
        raise MissingDataError(f"the data do not name the observation terms {', '.join(absent)}")
    count = len(data.starts)
    chosen = np.arange(count)
    if count > MOST_TRAJECTORIES:
        rng = np.random.default_rng(seed)
        chosen = np.sort(rng.choice(count, MOST_TRAJECTORIES, replace=False))
    ends = np.append(data.starts[1:], len(data))
    features = [_discounted(data, data.starts[number], ends[number]) for number in chosen]
    return np.stack(features)


def _discounted(data: Transitions, start: int, end: int) -> np.ndarray:
    parts = []
    for name in FEATURE_TERMS:
        part = data.observations[start:end, data.terms[name]]
        if name == "joint_position":  # observed relative to the default pose
            part = part + CONTROL_SETUPS[TASK].default_pose
        parts.append(part)
    return discounted_mean(np.concatenate(parts, axis=1))
