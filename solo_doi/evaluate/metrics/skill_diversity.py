"""Diversity of skills, measured on their rollouts."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from .walk import Walk

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

LEAST_GUESSING = 0.01
"""Smallest share of guesses mixed into a classifier's answers.

Dozens of rollouts cannot show that it errs less often. One outlier in 75 rollouts then costs at
most log(5 / 0.01) / 75 = 0.08 nats; five skills that are always recognised lose 0.008 nats.
"""


class Recognition(NamedTuple):
    """Result of recognising skills by their rollouts."""

    accuracy: float
    """Share of test rollouts assigned to the right skill."""
    information: float
    """Lower bound of the mutual information between skill and rollout [nats]."""


class HasFeatures(Protocol):
    """Rollouts of one skill with their successor features."""

    @property
    def successor(self) -> np.ndarray:
        """Successor features, (N, features)."""


def successor_distance(walks: Sequence[HasFeatures], scale: np.ndarray | float = 1.0) -> float:
    """Return the mean l2 distance between mean successor features of two skills, over `scale`."""
    means = [walk.successor.mean(0) / scale for walk in walks]
    return float(np.mean([np.linalg.norm(a - b) for a, b in itertools.combinations(means, 2)]))


def recognise_skills(walks: Sequence[HasFeatures], scale: np.ndarray, seed: int = 0) -> Recognition:
    """Recognise skills by the successor features of rollouts that a classifier was not trained on.

    Logistic regression on standardised features, trained on every other robot of each skill and
    tested on the rest, which are in other domains. The information is log |Z| minus the cross
    entropy of its answers, mixed with guesses. It is a lower bound in expectation for any mixture,
    since the mixture is chosen on the training rollouts alone.
    """
    from sklearn.linear_model import LogisticRegression

    features = np.stack([walk.successor / scale for walk in walks])  # (Z, N, F)
    skills = np.repeat(np.arange(len(walks)), features.shape[1]).reshape(features.shape[:2])
    centre = features[:, ::2].mean((0, 1))
    size = features.shape[-1]
    train_features = (features[:, ::2] - centre).reshape(-1, size)
    test_features = (features[:, 1::2] - centre).reshape(-1, size)
    train_skills = skills[:, ::2].ravel()
    test_skills = skills[:, 1::2].ravel()
    model = LogisticRegression(C=1.0, max_iter=2000, random_state=seed)
    guessing = _share_of_guessing(model, train_features, train_skills, len(walks))
    answers = model.fit(train_features, train_skills).predict_proba(test_features)
    information = math.log(len(walks)) + _mixed_log(answers, test_skills, guessing).mean()
    accuracy = (answers.argmax(1) == test_skills).mean()
    return Recognition(float(accuracy), float(information))


def _share_of_guessing(
    model: LogisticRegression, features: np.ndarray, truth: np.ndarray, skills: int
) -> float:
    """Return the share of guesses that fits best in a cross-validation over training robots.

    A regression on dozens of rollouts is overconfident. Without guesses, one robot that stumbles, a
    hundred deviations away from the others, would outweigh all other rollouts.
    """
    from sklearn.model_selection import GroupKFold, cross_val_predict

    robots = np.tile(np.arange(len(truth) // skills), skills)
    folds = GroupKFold(min(5, len(truth) // skills))
    answers = cross_val_predict(
        model, features, truth, groups=robots, cv=folds, method="predict_proba"
    )
    shares = np.geomspace(LEAST_GUESSING, 1.0, 20)
    scores = [_mixed_log(answers, truth, share).mean() for share in shares]
    return float(shares[np.argmax(scores)])


def _mixed_log(answers: np.ndarray, truth: np.ndarray, guessing: float) -> np.ndarray:
    """Return the log probability of the true skill if a share of the answers is guessed."""
    answered = answers[np.arange(len(truth)), truth]
    return np.log((1 - guessing) * answered + guessing / answers.shape[1])


def embed(
    expert: np.ndarray, others: list[np.ndarray], scale: np.ndarray, seed: int = 0
) -> list[np.ndarray]:
    """Fit a UMAP on successor features (N, 33) of the expert.

    Return points (N, 2) of the expert, then the others.
    """
    from umap import UMAP

    with warnings.catch_warnings():
        # UMAP warns that a seed implies one thread, and about a small number of points.
        warnings.simplefilter("ignore")
        model = UMAP(n_neighbors=min(15, len(expert) - 1), random_state=seed, n_jobs=1)
        model.fit(expert / scale)
        return [np.asarray(model.transform(features / scale)) for features in (expert, *others)]


def silhouette(walks: list[Walk], scale: np.ndarray) -> float:
    """Return the mean silhouette of the skills' scaled successor features, in [-1, 1].

    Above 0, rollouts are nearest to their own skill.
    """
    from sklearn.metrics import silhouette_score

    labels = np.repeat(np.arange(len(walks)), list(map(len, walks)))
    features = np.concatenate([walk.successor for walk in walks]) / scale
    return float(silhouette_score(features, labels))
