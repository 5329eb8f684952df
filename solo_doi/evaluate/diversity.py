"""How different skills are from each other, by their rollouts."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np

from .walk import Walk, interval

MIN_HEIGHT, MIN_CLEARANCE, MIN_PHASE = 0.015, 0.015, 0.15
"""Differences [m, m, cycles] that an eye can see."""


def successor_distance(walks: list[Walk], scale: np.ndarray | float = 1.0) -> float:
    """Mean over pairs of skills of the l2 distance of mean successor features, divided by `scale`."""
    means = [walk.successor.mean(0) / scale for walk in walks]
    return float(np.mean([np.linalg.norm(a - b) for a, b in itertools.combinations(means, 2)]))


def told_apart(walks: list[Walk], scale: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """Accuracy and mutual information [nats] of a classifier on rollouts it was not trained on.

    Logistic regression on standardised successor features, trained on every other robot of each skill and tested on
    the rest, whose domains it never saw. The information is the bound log |Z| - cross entropy, no less than 0.
    """
    from sklearn.linear_model import LogisticRegression

    features = np.stack([walk.successor / scale for walk in walks])  # (Z, N, F)
    skills = np.repeat(np.arange(len(walks)), features.shape[1]).reshape(features.shape[:2])
    centre = features[:, ::2].mean((0, 1))
    model = LogisticRegression(C=1.0, max_iter=2000, random_state=seed)
    model.fit((features[:, ::2] - centre).reshape(-1, features.shape[-1]), skills[:, ::2].ravel())
    log_prob = model.predict_log_proba((features[:, 1::2] - centre).reshape(-1, features.shape[-1]))
    truth = skills[:, 1::2].ravel()
    information = math.log(len(walks)) + log_prob[np.arange(len(truth)), truth].mean()
    return float((log_prob.argmax(1) == truth).mean()), max(0.0, float(information))


def embed(expert: Walk, others: list[Walk], scale: np.ndarray, seed: int = 0) -> list[np.ndarray]:
    """UMAP fitted on the expert's successor features alone, applied to the expert and then the others; (N, 2) each."""
    from umap import UMAP

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells that a seed means one thread, and that few points are few
        model = UMAP(n_neighbors=min(15, len(expert) - 1), random_state=seed, n_jobs=1)
        model.fit(expert.successor / scale)
        return [np.asarray(model.transform(walk.successor / scale)) for walk in (expert, *others)]


def silhouette(points: list[np.ndarray]) -> float:
    """Mean silhouette of the skills' points, in [-1, 1]: above 0, points are nearer to their own skill."""
    from sklearn.metrics import silhouette_score

    labels = np.repeat(np.arange(len(points)), [len(group) for group in points])
    return float(silhouette_score(np.concatenate(points), labels))


def visibly_different(walks: list[Walk], slowest: float = 0.8) -> list[int]:
    """Return the largest group of skills that walk, do not fall, and differ pairwise to the eye.

    Two differ if mean height or clearance is 15 mm apart, or the phase between diagonal pairs 0.15 cycles, and the
    95 % intervals of that measure do not meet.
    """
    able = [skill for skill, walk in enumerate(walks) if walk.vx.mean() >= slowest and not walk.fallen.any()]
    different = {(a, b) for a, b in itertools.combinations(able, 2) if _differ(walks[a], walks[b])}
    for size in range(len(able), 1, -1):
        for group in itertools.combinations(able, size):
            if different.issuperset(itertools.combinations(group, 2)):
                return list(group)
    return able[:1]


def _differ(a: Walk, b: Walk) -> bool:
    limits = {"height_mean": MIN_HEIGHT, "clearance": MIN_CLEARANCE, "pair_phase": MIN_PHASE}
    for name, least in limits.items():
        one, two = getattr(a, name), getattr(b, name)
        low, high = sorted((interval(one), interval(two)))
        if abs(one.mean() - two.mean()) >= least and low[1] < high[0]:
            return True
    return False
