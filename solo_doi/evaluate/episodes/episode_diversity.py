"""Differences between skills in recorded episodes, by successor features of observations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from solo_doi.evaluate.metrics.skill_diversity import recognise_skills, successor_distance
from solo_doi.evaluate.metrics.walk import GAMMA
from solo_doi.evaluate.rollouts.recording import Recording

DIVERSITY_MEANINGS = {
    "sf_l2": "mean over pairs of skills of the l2 distance between their mean successor features "
    f"(discount {GAMMA}, weights gamma^t normalised to sum 1, until the end of an episode); the "
    "features are all numbers of the observation, each divided by its deviation over the data",
    "told_apart": "accuracy of a logistic regression that recognises the skill by the successor "
    "features of an episode that it was not trained on",
    "ratio_l1": "mean over pairs of skills of the l1 distance between their ratios to the data, "
    "by transition, from 0 to 2; ratio_l1_trajectory: between their sums over trajectories",
}
"""Definitions of the measures of differences, by name."""


@dataclass(frozen=True)
class EpisodeFeatures:
    """Successor features of one skill."""

    successor: np.ndarray  # (N, features)


def episode_features(recording: Recording) -> EpisodeFeatures:
    """Return discounted means of observations until the end of each episode."""
    steps = len(recording.observation)
    weights = np.repeat(GAMMA ** np.arange(steps)[:, None], recording.observation.shape[1], axis=1)
    if recording.over is not None:
        weights = weights * ~recording.over
    weights /= weights.sum(axis=0)
    return EpisodeFeatures(np.einsum("tn,tnf->nf", weights, recording.observation))


def describe_diversity(recordings: Mapping[str, Recording], scale: np.ndarray) -> dict[str, float]:
    """Return distances between skills, under their names in metrics.json; none for one skill."""
    if len(recordings) < 2:
        return {}
    features = list(map(episode_features, recordings.values()))
    return {
        "sf_l2": successor_distance(features, scale),
        "told_apart": recognise_skills(features, scale).accuracy,
    }
