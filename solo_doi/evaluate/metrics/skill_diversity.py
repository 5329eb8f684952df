"""How different skills are from each other, by their rollouts."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from .walk import AVERAGES, Walk, interval

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

SEEN = {"height_mean": 0.015, "clearance": 0.015, "pair_phase": 0.15}
"""Differences [m, m, cycles] that an eye can see; skills that are all the expert differ far less (solo_doi/docs/results.md)."""
LEAST_GUESSING = 0.01
"""Least share of guesses among a classifier's answers: dozens of rollouts cannot show that it errs less often.

One odd rollout of 75 costs log(5 / 0.01) / 75 = 0.08 nats at most, five skills that are named every time 0.008 nats.
"""


def successor_distance(walks: list[Walk], scale: np.ndarray | float = 1.0) -> float:
    """Mean over pairs of skills of the l2 distance of mean successor features, divided by `scale`."""
    means = [walk.successor.mean(0) / scale for walk in walks]
    return float(np.mean([np.linalg.norm(a - b) for a, b in itertools.combinations(means, 2)]))


def told_apart(walks: list[Walk], scale: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """Accuracy and mutual information [nats] of a classifier on rollouts it was not trained on.

    Logistic regression on standardised successor features, trained on every other robot of each skill and tested on
    the rest, whose domains it never saw. The information is log |Z| - cross entropy of its answers, mixed with some
    guessing: a lower bound in expectation whatever the mixture is, as nothing of it is chosen on the tested rollouts.
    """
    from sklearn.linear_model import LogisticRegression

    features = np.stack([walk.successor / scale for walk in walks])  # (Z, N, F)
    skills = np.repeat(np.arange(len(walks)), features.shape[1]).reshape(features.shape[:2])
    centre = features[:, ::2].mean((0, 1))
    seen, unseen = (
        (features[:, half::2] - centre).reshape(-1, features.shape[-1]) for half in (0, 1)
    )
    known, truth = skills[:, ::2].ravel(), skills[:, 1::2].ravel()
    model = LogisticRegression(C=1.0, max_iter=2000, random_state=seed)
    guessing = _share_of_guessing(model, seen, known, len(walks))
    answers = model.fit(seen, known).predict_proba(unseen)
    information = math.log(len(walks)) + _mixed_log(answers, truth, guessing).mean()
    return float((answers.argmax(1) == truth).mean()), float(information)


def _share_of_guessing(
    model: LogisticRegression, seen: np.ndarray, known: np.ndarray, skills: int
) -> float:
    """Return the share that suits rollouts of training best, each answered by a model that did not see its robot.

    A regression on some dozens of rollouts is too sure of itself: one robot that stumbled, a hundred deviations from
    the others, would cost more than all the rest tells, and skills that are alike would tell less than nothing.
    """
    from sklearn.model_selection import GroupKFold, cross_val_predict

    robots = np.tile(np.arange(len(known) // skills), skills)
    folds = GroupKFold(min(5, len(known) // skills))
    answers = cross_val_predict(model, seen, known, groups=robots, cv=folds, method="predict_proba")
    shares = np.geomspace(LEAST_GUESSING, 1.0, 20)
    return float(shares[np.argmax([_mixed_log(answers, known, share).mean() for share in shares])])


def _mixed_log(answers: np.ndarray, truth: np.ndarray, guessing: float) -> np.ndarray:
    """Logarithm of the probability given to the truth, if a share of answers is a guess."""
    return np.log(
        (1 - guessing) * answers[np.arange(len(truth)), truth] + guessing / answers.shape[1]
    )


def embed(expert: Walk, others: list[Walk], scale: np.ndarray, seed: int = 0) -> list[np.ndarray]:
    """UMAP fitted on the expert's successor features alone, applied to the expert and then the others; (N, 2) each."""
    from umap import UMAP

    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # it tells that a seed means one thread, and that few points are few
        model = UMAP(n_neighbors=min(15, len(expert) - 1), random_state=seed, n_jobs=1)
        model.fit(expert.successor / scale)
        return [np.asarray(model.transform(walk.successor / scale)) for walk in (expert, *others)]


def silhouette(points: list[np.ndarray]) -> float:
    """Mean silhouette of the skills' points, in [-1, 1]: above 0, points are nearer to their own skill."""
    from sklearn.metrics import silhouette_score

    labels = np.repeat(np.arange(len(points)), [len(group) for group in points])
    return float(silhouette_score(np.concatenate(points), labels))


def spread(walks: list[Walk]) -> dict[str, float]:
    """Largest difference of any two skills in height, clearance [m] and phase [cycles], of robots on their feet."""
    return {
        name: float(np.ptp([AVERAGES[name](getattr(walk, name)[walk.counted]) for walk in walks]))
        for name in SEEN
    }


def visibly_different(walks: list[Walk], slowest: float = 0.8) -> list[int]:
    """Return the largest group of skills that walk, do not fall, and differ pairwise to the eye.

    Two differ if height, clearance or phase between diagonal pairs are as far apart as an eye can see, and the 95 %
    intervals of that measure do not meet.
    """
    able = [
        skill
        for skill, walk in enumerate(walks)
        if walk.vx.mean() >= slowest and not walk.fallen.any()
    ]
    different = {(a, b) for a, b in itertools.combinations(able, 2) if _differ(walks[a], walks[b])}
    for size in range(len(able), 1, -1):
        for group in itertools.combinations(able, size):
            if different.issuperset(itertools.combinations(group, 2)):
                return list(group)
    return able[:1]


def _differ(a: Walk, b: Walk) -> bool:
    for name, least in SEEN.items():
        one, two, average = getattr(a, name), getattr(b, name), AVERAGES[name]
        low, high = sorted((interval(one, average), interval(two, average)))
        if abs(average(one) - average(two)) >= least and low[1] < high[0]:
            return True
    return False
