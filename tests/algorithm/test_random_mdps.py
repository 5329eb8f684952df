"""solo-train with preset gym-exact on random stochastic MDPs, against exact quantities.

All 20 MDPs are in `python -m tests.bench.random_mdps`; these are two of them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.algorithm.mdp_runs import Measured, measure, train
from tests.algorithm.random_mdps import RandomProblem, drawn, most_information, sampled
from tests.algorithm.tabular import best_information, random_mdp


@pytest.fixture(scope="module", params=[7, 8], ids=str)
def found(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[RandomProblem, Measured]:
    """A problem and the measures of a run of the command; 7 has three skills, 8 has two."""
    problem = RandomProblem.draw(request.param)
    folder: Path = tmp_path_factory.mktemp("mdp")
    pairs = problem.write(folder)
    return problem, measure(problem, train(problem, folder, "run", ["--preset=gym-exact"]), pairs)


def test_policies_have_most_of_the_information_that_the_constraint_allows(
    found: tuple[RandomProblem, Measured],
) -> None:
    """The information of the policies' own occupancies is near the optimum.

    The optimum is found by the convex-concave procedure. The bar is that of the worst of 20 MDPs:
    the local optimum that a run finds depends on rounding.
    """
    problem, measured = found
    best = most_information(problem, problem.eps, restarts=6)
    assert best > 0.05
    assert measured.information >= 0.75 * best
    assert measured.divergence.max() <= 1.1 * problem.eps


def test_phi_is_the_divergence_of_the_policies(found: tuple[RandomProblem, Measured]) -> None:
    assert found[1].phi_error <= 0.1


def test_ratios_are_those_of_the_policies_and_of_the_exact_dual(
    found: tuple[RandomProblem, Measured],
) -> None:
    """The middle skill agrees, as the study demands of the middle of 20 MDPs.

    A skill whose constraint is inactive ends at the smallest multiplier, with an exponent above
    100. Its solution is a corner, and tiny differences of rewards choose the corner.
    """
    assert np.median(found[1].own_correlation) >= 0.95
    assert np.median(found[1].dual_correlation) >= 0.95


def test_two_independent_optimisers_agree() -> None:
    """Sequential quadratic programming and the convex-concave procedure agree within 1 %."""
    problem = RandomProblem.draw(7)
    log_eta = np.log(problem.expert / problem.mdp.data).ravel()
    other = best_information(problem.mdp, log_eta, problem.skills, problem.eps, restarts=8)
    assert most_information(problem, problem.eps, restarts=6) == pytest.approx(other, rel=0.01)


def test_rows_follow_the_occupancy() -> None:
    """Shares of pairs are those of the discounted occupancy, by its definition."""
    mdp = random_mdp(5, 2, 0.9, seed=1)
    data, pairs = sampled(mdp, mdp.data / mdp.data.sum(1, keepdims=True), 40_000, seed=0)
    shares = np.bincount(pairs, minlength=10) / len(pairs)
    np.testing.assert_allclose(shares, mdp.data.ravel(), atol=0.01)
    assert len(data) == 40_000
    assert data.timeouts.sum() == len(data.starts)


def test_columns_are_drawn_by_their_probabilities() -> None:
    probability = np.tile([0.2, 0.0, 0.8], (20_000, 1))
    counts = np.bincount(drawn(probability, np.random.default_rng(0)), minlength=3)
    np.testing.assert_allclose(counts / 20_000, [0.2, 0.0, 0.8], atol=0.02)
