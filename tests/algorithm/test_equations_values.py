"""Values, ratios and weights against hand-computed numbers, and their general properties."""

from __future__ import annotations

from math import log

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from solo_doi.algorithm import equations

from .arithmetic import close, gradient, log_of, numbers, tame, tensor
from .small import seeded

# --- Values and ratios ---------------------------------------------------------------------------


def test_log_mean_exp_by_hand() -> None:
    """The mean of 1 and 3 is 2; with probabilities 1/4 and 3/4 it is 2.5."""
    x = log_of(1, 3)
    close(equations.log_mean_exp(x), tensor(log(2))[0])
    close(equations.log_mean_exp(x, log_of(0.25, 0.75)), tensor(log(2.5))[0])


def test_log_mean_exp_is_over_the_last_axis() -> None:
    """The input has axes (skills, samples); the result is log 2 and log 5, one number per skill."""
    close(equations.log_mean_exp(torch.stack([log_of(1, 3), log_of(2, 8)])), log_of(2, 5))


def test_td_error_by_hand() -> None:
    """1 + 0.5 x 20 - 7 = 4."""
    close(equations.td_error(tensor(1), tensor(7), tensor(20), 0.5), tensor(4))


def test_dual_loss_by_hand() -> None:
    """Half of the mean of 2 and 4, and log((1 + 3) / 2): 1.5 + log 2."""
    loss = equations.dual_loss(tensor(2, 4), log_of(1, 3), 0.5)
    close(loss, tensor(1.5 + log(2))[0])


def test_dual_loss_with_exact_expectations_by_hand() -> None:
    """Initial states with 1/4 and 3/4: half of 3.5; ratios with the same: log 2.5."""
    probability = log_of(0.25, 0.75)
    loss = equations.dual_loss(tensor(2, 4), log_of(1, 3), 0.5, probability, probability)
    close(loss, tensor(1.75 + log(2.5))[0])


def test_dual_losses_of_skills_do_not_mix() -> None:
    """Losses of shape (Z, N) give (Z,); each equals the loss of that skill alone."""
    initial, delta = torch.randn(3, 4, generator=seeded(1)), torch.randn(3, 5, generator=seeded(2))
    together = equations.dual_loss(initial, delta, 0.9)
    close(together, torch.stack([equations.dual_loss(initial[z], delta[z], 0.9) for z in range(3)]))


def test_gradient_of_the_dual_loss_is_the_flow_that_is_missing() -> None:
    """One state leads to itself: the gradient (1 - gamma) + (gamma - 1) is zero for any reward."""

    def loss(value: Tensor) -> Tensor:
        return equations.dual_loss(value, equations.td_error(tensor(3.0), value, value, 0.9), 0.9)

    close(gradient(loss, tensor(5.0)), tensor(0.0))


def test_log_ratios_by_hand() -> None:
    """The ratios are 1 and 3 over their mean 2; with probabilities 1/4 and 3/4 over 2.5."""
    close(equations.log_ratios(log_of(1, 3)), log_of(0.5, 1.5))
    close(equations.log_ratios(log_of(1, 3), log_of(0.25, 0.75)), log_of(0.4, 1.2))


def test_log_weights_by_hand() -> None:
    """The weights are 1 and 3 over their sum 4, in double precision for any input type."""
    close(
        equations.log_weights(torch.tensor([1.0, 3.0]).log()), log_of(0.25, 0.75), rtol=1e-6, atol=0
    )
    assert equations.log_weights(torch.zeros(2)).dtype == torch.float64


@given(numbers)
def test_large_numbers_do_not_overflow(delta: list[float]) -> None:
    """Temporal differences of +-10,000 give finite losses, ratios, divergences and gradients."""
    x = torch.tensor([delta, delta[::-1]], requires_grad=True)
    loss = equations.dual_loss(torch.zeros(2, 3), x, 0.99).sum()
    (slope,) = torch.autograd.grad(loss, x)
    log_w = equations.log_weights(x.detach())
    results = (
        loss, slope, equations.log_ratios(x), log_w, equations.kl_estimate(log_w, log_w.flip(0)),
        equations.effective_samples(log_w), equations.ratio_distance(log_w),
    )  # fmt: skip
    assert all(torch.isfinite(result).all() for result in results)


@given(tame)
def test_ratios_have_mean_one_and_weights_sum_one(delta: list[float]) -> None:
    """Ratios are densities with respect to the data."""
    x = tensor(*delta)
    close(equations.log_ratios(x).exp().mean(), tensor(1)[0])
    close(equations.log_weights(equations.log_ratios(x)).exp().sum(), tensor(1)[0])


@given(tame, st.floats(-1e3, 1e3))
def test_a_constant_reward_changes_no_ratio(delta: list[float], shift: float) -> None:
    """A constant reward shifts the loss by itself; ratios and weights stay the same."""
    x = tensor(*delta)
    close(equations.log_ratios(x + shift), equations.log_ratios(x), rtol=0, atol=1e-9)
    close(equations.log_weights(x + shift), equations.log_weights(x), rtol=0, atol=1e-9)
    close(equations.log_mean_exp(x + shift), equations.log_mean_exp(x) + shift, rtol=0, atol=1e-9)


@given(tame)
def test_ratios_maximise_the_primal_objective(reward: list[float]) -> None:
    """The maximum over d of E_d[R] - KL(d || d_O) is log E_dO[exp R] (Fenchel's equality).

    The ratios reach it.
    """
    x = tensor(*reward)
    log_eta = equations.log_ratios(x)
    weights = log_eta.exp() / len(x)
    reached = (weights * (x - log_eta)).sum()
    close(reached, equations.log_mean_exp(x), rtol=1e-9, atol=1e-9)
    other = torch.full_like(x, 1 / len(x))  # the data themselves
    assert (other * x).sum() <= reached + 1e-9


# --- Weights -------------------------------------------------------------------------------------


def test_effective_samples_by_hand() -> None:
    """Even weights count all rows.

    Weights 1/2, 1/4, 1/4 give 1 / (1/4 + 1/8); one row alone gives 1.
    """
    close(equations.effective_samples(log_of(0.25, 0.25, 0.25, 0.25)), tensor(4)[0])
    close(equations.effective_samples(log_of(0.5, 0.25, 0.25)), tensor(8 / 3)[0])
    close(equations.effective_samples(tensor(0, -1000, -1000)), tensor(1)[0])


@given(numbers)
def test_effective_samples_lie_between_one_and_all(delta: list[float]) -> None:
    """The bounds hold for weights of any concentration."""
    found = equations.effective_samples(equations.log_weights(torch.tensor(delta)))
    assert 1 - 1e-9 <= found <= len(delta) + 1e-9


def test_truncated_by_hand() -> None:
    """Of the shuffled numbers 1 to 10, those above the quantile 0.7 become 7; the others stay."""
    x = tensor(10, 1, 9, 2, 8, 3, 7, 4, 6, 5)
    close(equations.truncated(x, 0.7), tensor(7, 1, 7, 2, 7, 3, 7, 4, 6, 5))
    close(equations.truncated(x, 1.0), x, rtol=0, atol=0)
    close(equations.truncated(x, 0.0), torch.ones_like(x))


def test_truncation_is_of_each_skill_by_itself() -> None:
    """Large ratios of one skill do not change the cap of another."""
    x = torch.stack([tensor(1, 2, 3, 4), tensor(100, 200, 300, 400)])
    close(
        equations.truncated(x, 0.5), torch.stack([tensor(1, 2, 2, 2), tensor(100, 200, 200, 200)])
    )


# --- Chi-square ----------------------------------------------------------------------------------


@given(st.floats(-5, 5))
def test_conjugate_is_the_largest_gap_below_the_divergence(y: float) -> None:
    """f*(y) = max over x >= 0 of x y - (x - 1)^2 / 2, on a fine grid.

    The maximum is at y + 1, or at 0 for y below -1.
    """
    x = torch.linspace(0, 10, 10_001, dtype=torch.float64)
    gap = x * y - 0.5 * (x - 1).square()
    close(equations.chi_square_conjugate(tensor(y))[0], gap.max(), rtol=0, atol=1e-6)
    assert abs(float(x[gap.argmax()]) - max(0.0, y + 1)) <= 1e-3


def test_chi_square_loss_by_hand() -> None:
    """Half of the mean of 2 and 4 is added to the mean of f*(1) = 1.5 and f*(-1) = -0.5.

    f*(-9) is -0.5, too.
    """
    close(equations.chi_square_loss(tensor(2, 4), tensor(1, -1), 0.5), tensor(2)[0])
    close(equations.chi_square_loss(tensor(2, 4), tensor(1, -9), 0.5), tensor(2)[0])


def test_chi_square_loss_with_exact_expectations_by_hand() -> None:
    """Initial states with probabilities 1/4 and 3/4 give half of 3.5.

    f* of 1 and -1 gives 0.375 - 0.375.
    """
    probability = log_of(0.25, 0.75)
    close(
        equations.chi_square_loss(tensor(2, 4), tensor(1, -1), 0.5, probability, probability),
        tensor(1.75)[0],
    )


def test_chi_square_ratios_by_hand() -> None:
    """The ratio is the slope of f*, delta + 1: 2, 1/2, and the smallest ratio below -1."""
    found = equations.chi_square_log_ratios(torch.tensor([1.0, -0.5, -3.0, -1e4, 1e4]))
    expected = log_of(2, 0.5, equations.SMALLEST_RATIO, equations.SMALLEST_RATIO, 10_001)
    close(found, expected.float())
