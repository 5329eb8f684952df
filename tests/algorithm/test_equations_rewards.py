"""Divergence, multipliers and rewards against hand-computed numbers, and a skill's objective."""

from __future__ import annotations

from math import log

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from solo_doi.algorithm import equations

from .arithmetic import close, gradient, log_of, tensor
from .small import seeded

# --- Divergence and multipliers ------------------------------------------------------------------


def test_kl_estimate_by_hand() -> None:
    """Weights 1/4, 3/4 against 1/2, 1/2: log(1/2) / 4 + 3 log(3/2) / 4."""
    found = equations.kl_estimate(log_of(0.25, 0.75), log_of(0.5, 0.5))
    close(found, tensor(0.25 * log(0.5) + 0.75 * log(1.5))[0])


def test_kl_estimate_of_a_single_row_is_what_it_costs_the_expert() -> None:
    """All weight is on the second row, where the expert has 1/8: the estimate is log 8.

    The logarithms of the other rows are very small but finite.
    """
    skill = equations.log_weights(tensor(-1000, 0, -1000))
    close(equations.kl_estimate(skill, log_of(0.5, 0.125, 0.375)), tensor(log(8))[0])


@given(st.integers(2, 12), st.integers(0, 10_000))
def test_kl_estimate_is_never_negative_and_zero_for_equal_weights(rows: int, seed: int) -> None:
    """Gibbs' inequality, for weights over many orders of magnitude."""
    log_w = equations.log_weights(10 * torch.randn(2, rows, generator=seeded(seed)))
    assert equations.kl_estimate(log_w[0], log_w[1]) > 0
    assert equations.kl_estimate(log_w[0], log_w[0]) == 0


def test_multiplier_loss_by_hand() -> None:
    """sigma(0) = 1/2 and sigma(log 3) = 3/4: (2 - 3) / 2 + 3 (2 - 1) / 4 = 0.25."""
    close(equations.multiplier_loss(tensor(0, log(3)), tensor(3, 1), 2.0), tensor(0.25)[0])


def test_a_violated_constraint_raises_its_multiplier() -> None:
    """The gradient is sigma (1 - sigma) (eps - phi).

    With eps 2 it is -1/4 for phi 3 and 1/4 for phi 1, so descent raises the first multiplier.
    """
    slope = gradient(lambda mu: equations.multiplier_loss(mu, tensor(3, 1), 2.0), tensor(0, 0))
    close(slope, tensor(-0.25, 0.25))


# --- Rewards -------------------------------------------------------------------------------------


def test_diversity_term_by_hand() -> None:
    """q of 1/2 among four skills gives log(2) / 4; chance level gives 0.

    Log q of -100 counts as the floor, -20.
    """
    found = equations.diversity_term(tensor(log(0.5), log(0.25), -100.0), 4)
    close(found, tensor(log(2) / 4, 0.0, (-20 + log(4)) / 4))
    close(equations.diversity_term(tensor(-100.0), 4, floor=-5.0), tensor((-5 + log(4)) / 4))


def test_skill_reward_is_the_printed_combination() -> None:
    """sigma 1/4: 3/4 x 0.4 + 1/4 x (-2) = -0.2; sigma 1/2: 1/2 x 0.6 + 1/2 x (-2) = -0.7."""
    found = equations.skill_reward(tensor(0.4, 0.6)[:, None], tensor(-2), tensor(0.25, 0.5))
    close(found, tensor(-0.2, -0.7)[:, None])


def test_skill_reward_without_the_datas_pull_is_the_lagrangian() -> None:
    """Weight 3, sigma 1/4: 3 x 0.4 x (3/4) / (1/4) - 2 = 1.6."""
    close(
        equations.skill_reward(tensor(0.4)[None], tensor(-2), tensor(0.25), 3.0, 0.0),
        tensor(1.6)[None],
    )


def test_skill_reward_between_the_two() -> None:
    """Weight 2, pull 1/2, sigma 1/4: (2 x 3/4 x 0.4 - 2/4) / (1/4 + 3/8) = 0.1 / 0.625."""
    close(
        equations.skill_reward(tensor(0.4)[None], tensor(-2), tensor(0.25), 2.0, 0.5),
        tensor(0.16)[None],
    )


@pytest.mark.parametrize("pull", [0.0, 0.3, 1.0])
def test_full_multiplier_is_imitation_alone(pull: float) -> None:
    """sigma of 1 gives log eta_E for any weight of diversity."""
    log_eta = torch.randn(6, generator=seeded(0))
    found = equations.skill_reward(
        torch.randn(2, 6, generator=seeded(1)), log_eta, torch.ones(2), 25.0, pull
    )
    close(found, log_eta.expand(2, 6))


def test_terms_shared_by_all_skills_are_spread_over_them() -> None:
    """A term of shape (N,) has the same effect as (Z, N) with equal rows."""
    diversity, log_eta = torch.randn(5, generator=seeded(0)), torch.randn(5, generator=seeded(1))
    sigma = torch.tensor([0.2, 0.9])
    close(
        equations.skill_reward(diversity, log_eta, sigma, 3.0, 0.5),
        equations.skill_reward(diversity.expand(2, 5), log_eta.expand(2, 5), sigma, 3.0, 0.5),
    )


@given(st.integers(0, 10_000), st.floats(0.05, 1), st.floats(0, 1), st.floats(0.1, 30))
def test_the_objective_of_a_skill(seed: int, sigma: float, pull: float, weight: float) -> None:
    """The temperature times E[R] - KL(d || d_O) is the sum that the function's docstring states."""
    skill, expert, data = torch.softmax(
        torch.randn(3, 7, generator=seeded(seed), dtype=torch.float64), dim=1
    )
    diversity = torch.randn(7, generator=seeded(seed + 1), dtype=torch.float64)

    def divergence(one: Tensor, other: Tensor) -> Tensor:
        return (one * (one / other).log()).sum()

    reward = equations.skill_reward(diversity, (expert / data).log(), tensor(sigma), weight, pull)[
        0
    ]
    maximised = (skill * reward).sum() - divergence(skill, data)
    expected = (
        weight * (1 - sigma) * (skill * diversity).sum()
        - sigma * divergence(skill, expert)
        - pull * (1 - sigma) * divergence(skill, data)
    )
    close((sigma + pull * (1 - sigma)) * maximised, expected, rtol=1e-9, atol=1e-9)


def test_separation_exponent_by_hand() -> None:
    """Five skills, weight 10, sigma 1/5: 10 x 0.8 / 5 = 1.6.

    Without pull it is divided by 1/5 and gives 8; with half of the pull it is divided by 0.6.
    """
    sigma = tensor(0.2)
    close(equations.separation_exponent(sigma, 5, 10.0, 1.0), tensor(1.6))
    close(equations.separation_exponent(sigma, 5, 10.0, 0.0), tensor(8.0))
    close(equations.separation_exponent(sigma, 5, 10.0, 0.5), tensor(8 / 3))


@pytest.mark.parametrize(("weight", "pull"), [(1.0, 1.0), (10.0, 1.0), (5.0, 0.3)])
def test_separation_exponent_is_what_a_round_does_to_log_odds(weight: float, pull: float) -> None:
    """One round consists of reward, ratios without values, and the best discriminator.

    It multiplies the log-odds between states by the exponent.
    """
    sigma = torch.full((3,), 0.4, dtype=torch.float64)
    log_q = torch.log_softmax(torch.randn(3, 6, generator=seeded(0), dtype=torch.float64), dim=0)
    log_eta_expert = equations.log_ratios(torch.randn(6, generator=seeded(1), dtype=torch.float64))
    reward = equations.skill_reward(
        equations.diversity_term(log_q, 3), log_eta_expert, sigma, weight, pull
    )
    after = torch.log_softmax(equations.log_ratios(reward), dim=0)  # eta_z over the sum of all

    def odds(log_q: Tensor) -> Tensor:
        """Return the odds of skill 0 against the others, relative to the first state."""
        log_odds = log_q[0] - log_q[1:]
        return log_odds - log_odds[:, :1]

    exponent = equations.separation_exponent(sigma, 3, weight, pull)[0]
    close(odds(after), exponent * odds(log_q))


def test_unconstrained_reward_by_hand() -> None:
    close(equations.unconstrained_reward(tensor(0.4), tensor(2), 0.5), tensor(2.2))
