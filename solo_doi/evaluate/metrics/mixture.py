"""Gaussian mixtures of weighted states.

Cross-validation over trajectories chooses the number of components and how far they share a
covariance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Self

import numpy as np

RIDGE = 1e-6
"""Added to every variance; states are in units of the data's deviation."""
MOST_COMPONENTS = 12
"""Largest number of components."""
POOLINGS = (5.0, 30.0, 200.0)
"""Choices of `Shape.pooling`: little, some, nearly one covariance for all components."""
LEAST_GAIN = 0.01
"""Increase of the mean log density that makes further components worth their noise [nats]."""
MOST_TRIES_WITHOUT_GAIN = 2
"""Numbers of components without an improvement after which the search ends."""
CHOICE_FOLDS = 3
"""Parts of the trajectories that the number of components is cross-validated on."""
CHOICE_STATES = 2000
"""Largest number of states that are used for this choice."""
MOST_PASSES = 15
"""Largest number of passes of expectation maximisation."""
CONVERGED = 1e-3
"""Increase of the mean log density at which expectation maximisation ends [nats]."""
WORST_LOG_DENSITY = -1e3
"""Lower bound in cross-validation, so that one state far off does not decide [nats]."""
SHARE_FLOOR = 1e-12
"""Added to shares of components, so that an empty one has a finite logarithm."""


@dataclass(frozen=True)
class States:
    """N weighted states of trajectories."""

    values: np.ndarray
    """Numbers of every state, (N, D)."""
    weights: np.ndarray
    """Weights, (N,); any sum."""
    trajectory: np.ndarray
    """Number of each state's trajectory, (N,); states of one trajectory depend on each other."""

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self.values)

    def chosen(self, rows: np.ndarray | slice) -> Self:
        """Return some of the states."""
        return type(self)(self.values[rows], self.weights[rows], self.trajectory[rows])

    def folds(self, count: int) -> np.ndarray:
        """Return the fold of every state, (N,). All states of a trajectory share one.

        Folds have nearly equal weight: every trajectory, heaviest first, goes to the lightest fold.
        """
        _, order = np.unique(self.trajectory, return_inverse=True)
        weights = np.bincount(order, self.weights)
        fold = np.empty(len(weights), dtype=np.int64)
        filled = np.zeros(count)
        for trajectory in np.argsort(-weights, kind="stable"):
            fold[trajectory] = filled.argmin()
            filled[fold[trajectory]] += weights[trajectory]
        return fold[order]

    @property
    def effective_trajectories(self) -> float:
        """Number of evenly weighted trajectories with the same variance of a mean (Kish)."""
        return effective_trajectories(self.trajectory, self.weights)


def effective_trajectories(trajectory: np.ndarray, weights: np.ndarray) -> float:
    """Return (sum w)^2 / sum w^2 over the weights w of whole trajectories; 0 if there are none."""
    total = np.bincount(trajectory, weights)
    if not total.any():
        return 0.0
    return float(total.sum() ** 2 / np.square(total).sum())


class Mixture(NamedTuple):
    """Gaussian mixture with K components."""

    share: np.ndarray  # (K,)
    mean: np.ndarray  # (K, D)
    covariance: np.ndarray  # (K, D, D)

    def joint_log_density(self, values: np.ndarray) -> np.ndarray:
        """Return log of share times density of every component at states (N, D), (N, K)."""
        columns = []
        for share, mean, covariance in zip(*self, strict=True):
            factor = np.linalg.cholesky(covariance)
            # One inverse and a product: several times faster than to solve for every state.
            distance = np.square((values - mean) @ np.linalg.inv(factor).T).sum(1)
            scale = np.log(np.diag(factor)).sum() + 0.5 * len(mean) * np.log(2 * np.pi)
            columns.append(np.log(share + SHARE_FLOOR) - scale - 0.5 * distance)
        return np.stack(columns, axis=1)

    def log_density(self, values: np.ndarray) -> np.ndarray:
        """Return the log density at states (N, D), (N,)."""
        return np.asarray(np.logaddexp.reduce(self.joint_log_density(values), axis=1))


class Shape(NamedTuple):
    """Kind of a mixture."""

    components: int
    """Number of components."""
    pooling: float
    """Number of trajectories that the mean covariance of all components counts as, in each of them.
    Walks of few trajectories in many dimensions need it."""


def mixture(states: States, responsibility: np.ndarray, pooling: float) -> Mixture:
    """Return the mixture of states that belong to components by given shares (N, K)."""
    values = states.values
    of_components = (responsibility * states.weights[:, None]).T + SHARE_FLOOR
    total = of_components.sum(1)
    share = total / total.sum()
    means = of_components @ values / total[:, None]
    covariances = []
    for weights, mean, size in zip(of_components, means, total, strict=True):
        offset = values - mean
        covariance = (offset * weights[:, None]).T @ offset / size
        covariances.append(covariance + RIDGE * np.eye(len(mean)))
    own = np.stack(covariances)
    count = [effective_trajectories(states.trajectory, weights) for weights in of_components]
    kept = (np.array(count) / (np.array(count) + pooling))[:, None, None]
    return Mixture(share, means, kept * own + (1 - kept) * np.tensordot(share, own, axes=1))


def first_labels(states: States, components: int, seed: int = 0) -> np.ndarray:
    """Return the component that each state starts in, (N,), by k-means."""
    from sklearn.cluster import KMeans

    start = KMeans(components, n_init=5, random_state=seed)
    return np.asarray(start.fit(states.values, sample_weight=states.weights).labels_)


def responsibilities(states: States, shape: Shape, first: np.ndarray | None = None) -> np.ndarray:
    """Fit a mixture by expectation maximisation; return shares of components (N, K).

    Args:
        states: States to fit.
        shape: Kind of the mixture.
        first: Component that each state starts in, (N,); found by k-means if absent.
    """
    if shape.components == 1:
        return np.ones((len(states), 1))
    if first is None:
        first = first_labels(states, shape.components)
    found = np.eye(shape.components)[first]
    last = -np.inf
    for _ in range(MOST_PASSES):
        joint = mixture(states, found, shape.pooling).joint_log_density(states.values)
        density = np.logaddexp.reduce(joint, axis=1)
        found = np.exp(joint - density[:, None])
        mean = float(np.average(density, weights=states.weights))
        if mean - last < CONVERGED:
            break
        last = mean
    return found


def choose_shape(states: States) -> Shape:
    """Return the kind of mixture with the best log density on trajectories left out.

    The search for each pooling ends after `MOST_TRIES_WITHOUT_GAIN` numbers of components that are
    no better.
    """
    if len(states) > CHOICE_STATES:
        rows = np.random.default_rng(0).choice(len(states), CHOICE_STATES, replace=False)
        states = states.chosen(np.sort(rows))
    score_of = _left_out_density(states)
    best = Shape(1, 0.0)
    best_score = score_of(best)
    for pooling in POOLINGS:
        last_gain = 1
        score_of_pooling = -np.inf
        for components in range(2, MOST_COMPONENTS + 1):
            score = score_of(Shape(components, pooling))
            if score > score_of_pooling + LEAST_GAIN:
                score_of_pooling = score
                last_gain = components
            if score > best_score + LEAST_GAIN:
                best = Shape(components, pooling)
                best_score = score
            if components - last_gain == MOST_TRIES_WITHOUT_GAIN:
                break
    return best


def _left_out_density(states: States) -> Callable[[Shape], float]:
    """Return the score of a kind: mean log density in fits that leave out trajectories [nats]."""
    fold = states.folds(CHOICE_FOLDS)
    parts = [
        (states.chosen(fold != number), states.chosen(fold == number))
        for number in range(CHOICE_FOLDS)
    ]

    @cache  # k-means takes longest, and does not depend on the pooling
    def first(number: int, components: int) -> np.ndarray | None:
        return first_labels(parts[number][0], components) if components > 1 else None

    def score(shape: Shape) -> float:
        total = 0.0
        for number, (kept, left_out) in enumerate(parts):
            if len(kept) <= shape.components or not len(left_out):
                return -np.inf
            belongs = responsibilities(kept, shape, first(number, shape.components))
            density = mixture(kept, belongs, shape.pooling).log_density(left_out.values)
            total += float(left_out.weights @ np.maximum(density, WORST_LOG_DENSITY))
        return total / float(states.weights.sum())

    return score
