"""Gaussian mixtures of weighted states."""

from __future__ import annotations

import numpy as np
import pytest

from solo_doi.evaluate.metrics import mixture as module
from solo_doi.evaluate.metrics.mixture import (
    Mixture,
    Shape,
    States,
    choose_shape,
    mixture,
    responsibilities,
)


def even(values: np.ndarray) -> States:
    """Return states of equal weight, each a trajectory of its own."""
    return States(values, np.ones(len(values)), np.arange(len(values)))


def test_log_density_by_hand() -> None:
    """Half N(0, 1) and half N(0, 4) at 2: log(0.5 (e^-2 + e^-0.5 / 2) / sqrt(2 pi))."""
    found = Mixture(
        np.array([0.5, 0.5]), np.zeros((2, 1)), np.array([[[1.0]], [[4.0]]])
    ).log_density(np.array([[2.0]]))
    expected = np.log(0.5 * (np.exp(-2) + np.exp(-0.5) / 2) / np.sqrt(2 * np.pi))
    np.testing.assert_allclose(found, [expected], rtol=1e-9)


def test_moments_are_weighted() -> None:
    """0 with weight 3 and 4 with weight 1: mean 1, variance 3."""
    states = States(np.array([[0.0], [4.0]]), np.array([3.0, 1.0]), np.arange(2))
    found = mixture(states, np.ones((2, 1)), 0.0)
    np.testing.assert_allclose(found.mean, [[1.0]])
    np.testing.assert_allclose(found.covariance, [[[3.0]]], atol=1e-5)


def test_a_state_of_weight_two_counts_as_two_states() -> None:
    """This holds for shares, means and covariances of both components."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 2))
    shares = rng.dirichlet([1.0, 1.0], 40)
    twice = np.where(np.arange(40) < 10, 2.0, 1.0)
    weighted = mixture(States(values, twice, np.arange(40)), shares, 0.0)
    rows = np.repeat(np.arange(40), twice.astype(int))
    for one, other in zip(weighted, mixture(even(values[rows]), shares[rows], 0.0), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_separate_groups_are_found() -> None:
    """Three groups are found with their shares by weight; one group stays one component."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 600)
    values = 10.0 * np.eye(3)[label] + rng.normal(size=(600, 3))
    states = States(values, np.where(label == 0, 4.0, 1.0), np.arange(600))
    assert choose_shape(states).components == 3
    found = mixture(states, responsibilities(states, Shape(3, 5.0)), 5.0)
    expected = np.sort(np.bincount(label, states.weights) / states.weights.sum())
    np.testing.assert_allclose(np.sort(found.share), expected, atol=0.01)
    assert choose_shape(even(rng.normal(size=(600, 3)))).components == 1


def test_trajectories_are_no_components() -> None:
    """States of one trajectory are close together; six trajectories are still one distribution."""
    rng = np.random.default_rng(0)
    trajectory = np.repeat(np.arange(100), 10)
    values = rng.normal(size=(100, 3))[trajectory] + 0.05 * rng.normal(size=(1000, 3))
    assert choose_shape(States(values, np.ones(1000), trajectory)).components == 1


def test_folds_keep_trajectories_whole() -> None:
    """This holds for any numbering of the trajectories."""
    states = States(np.zeros((6, 1)), np.ones(6), np.array([7, 7, 9, 30, 30, 31]))
    assert states.folds(3).tolist() == [0, 0, 2, 1, 1, 2]


def test_folds_have_equal_weight() -> None:
    """A trajectory with half of the weight is one fold; the others form the second."""
    trajectory = np.repeat(np.arange(11), 2)
    weights = np.where(trajectory == 4, 10.0, 1.0)
    fold = States(np.zeros((22, 1)), weights, trajectory).folds(2)
    np.testing.assert_allclose(np.bincount(fold, weights), [20.0, 20.0])
    rng = np.random.default_rng(0)
    many = rng.gamma(0.2, size=800)
    fold = States(np.zeros((800, 1)), many, np.arange(800)).folds(8)
    np.testing.assert_allclose(np.bincount(fold, many), many.sum() / 8, rtol=1e-3)


def test_the_choice_fits_k_means_once_per_fold_and_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """k-means is not repeated for every pooling."""
    asked: list[tuple[float, int]] = []

    def labels(states: States, components: int) -> np.ndarray:
        asked.append((round(float(states.values[:, 0].sum()), 9), components))
        return np.arange(len(states)) % components

    monkeypatch.setattr(module, "first_labels", labels)
    choose_shape(even(np.random.default_rng(0).normal(size=(90, 2))))
    assert len(asked) == len(set(asked)) >= 6


@pytest.mark.parametrize(
    ("weights", "expected"), [([1, 1, 1, 1], 4), ([1, 0, 0, 0], 1), ([3, 1], 1.6)]
)
def test_the_effective_number_of_trajectories(weights: list[float], expected: float) -> None:
    """(sum w)^2 / sum w^2 of whole trajectories, each of two states with half the weight."""
    halves = np.repeat(np.array(weights) / 2, 2)
    trajectory = np.repeat(np.arange(len(weights)), 2)
    states = States(np.zeros((len(halves), 1)), halves, trajectory)
    assert states.effective_trajectories == pytest.approx(expected)


def test_pooling_counts_as_trajectories_of_the_mean_covariance() -> None:
    """Two components of two trajectories each have variances 1 and 9, with mean 5.

    A pooling of 2 gives (1 + 5) / 2 and (9 + 5) / 2.
    """
    values = np.array([[-1.0], [1.0], [97.0], [103.0]])
    found = mixture(even(values), np.eye(2)[[0, 0, 1, 1]], 2.0)
    np.testing.assert_allclose(found.covariance.ravel(), [3.0, 7.0], atol=1e-5)
