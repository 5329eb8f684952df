"""Densities of policies against hand-computed numbers and torch's distributions."""

from __future__ import annotations

from math import exp, log, pi

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.distributions import Normal, TanhTransform, TransformedDistribution

from solo_doi.algorithm import equations

from .arithmetic import close, log_of, tensor
from .small import seeded

HALF_LOG_TWO_PI = 0.5 * log(2 * pi)


def test_gaussian_log_prob_by_hand() -> None:
    """Errors of one and two deviations give -1/2 - log 2 and -2, each minus log(2 pi) / 2."""
    found = equations.gaussian_log_prob(tensor(1, 0), log_of(2, 1), tensor(3, -2))
    close(found, tensor(-0.5 - log(2) - 2 - 2 * HALF_LOG_TWO_PI)[0])


@pytest.mark.parametrize("squashed", [False, True])
def test_variance_power_weights_every_action_by_hand(squashed: bool) -> None:
    """Deviations 2 and 1, errors 2 and -2 [before the tanh].

    The gradient of the mean is error / variance^(1 - b): 2 / 4 and -2 for the likelihood, 2 / 2 and
    -2 for b = 1/2, and the errors themselves for b = 1. The deviation's is (error^2 / variance - 1)
    times variance^b: 0 and 3 for every b, since its weight is 1 where the deviation is.
    """
    density = equations.gaussian_log_prob
    action = tensor(1.5, -1.5)
    mean = tensor(-0.5, 0.5)
    if squashed:
        density = equations.tanh_gaussian_log_prob
        action = action.tanh()
    for power, slope in ((0.0, tensor(0.5, -2)), (0.5, tensor(1, -2)), (1.0, tensor(2, -2))):
        parameters = mean.clone().requires_grad_(), log_of(2, 1).requires_grad_()
        found = density(*parameters, action, power)
        of_mean, of_deviation = torch.autograd.grad(found, parameters)
        close(of_mean, slope)
        close(of_deviation, tensor(0, 3), rtol=0, atol=1e-9)
    plain = density(mean, log_of(2, 1), action)
    close(density(mean, log_of(2, 1), action, 0.0), plain)


def test_tanh_gaussian_log_prob_by_hand() -> None:
    """At zero, tanh has slope one, so the density is the Gaussian's.

    At action tanh 1 with mean 1, the log density is smaller by log(1 - tanh^2 1).
    """
    zero = tensor(0.0)
    close(equations.tanh_gaussian_log_prob(zero, zero, zero), tensor(-HALF_LOG_TWO_PI)[0])
    tanh = (exp(2) - 1) / (exp(2) + 1)
    found = equations.tanh_gaussian_log_prob(tensor(1), zero, tensor(tanh))
    close(found, tensor(-HALF_LOG_TWO_PI - log(1 - tanh**2))[0])


@pytest.mark.parametrize(("mean", "log_std"), [(0.0, 0.0), (0.3, -0.5), (-1.5, -2.0), (2.0, -1.0)])
def test_tanh_gaussian_integrates_to_one(mean: float, log_std: float) -> None:
    """The density over (-1, 1) integrates to one."""
    action = torch.linspace(-1, 1, 400_001, dtype=torch.float64)[1:-1, None]
    density = equations.tanh_gaussian_log_prob(tensor(mean), tensor(log_std), action).exp()
    close(density.sum() * 2 / 400_000, tensor(1)[0], rtol=0, atol=1e-4)


def test_tanh_gaussian_agrees_with_the_library() -> None:
    """The reference is torch's transformed distribution, summed over three actions.

    The samples include values with 1 - tanh^2 as small as 1e-9.
    """
    mean, log_std = (
        torch.randn(50, 3, generator=seeded(seed), dtype=torch.float64) for seed in (0, 1)
    )
    before = 4 * torch.randn(50, 3, generator=seeded(2), dtype=torch.float64).clamp(-2.5, 2.5)
    transform = TanhTransform(cache_size=1)  # type: ignore[no-untyped-call]
    action = transform(before)
    library = TransformedDistribution(Normal(mean, log_std.exp()), [transform])
    found = equations.tanh_gaussian_log_prob(mean, log_std, action)
    close(found, library.log_prob(action).sum(-1), rtol=1e-6, atol=1e-6)


def test_surprise_is_minus_the_log_density_of_the_action_drawn() -> None:
    """Both the value and the gradients with respect to mean and deviation agree."""
    mean, log_std = (
        torch.randn(50, 3, generator=seeded(seed), dtype=torch.float64) for seed in (0, 1)
    )
    noise = torch.randn(50, 3, generator=seeded(2), dtype=torch.float64)
    parameters = mean.requires_grad_(), log_std.requires_grad_()
    found = equations.tanh_gaussian_surprise(mean, log_std, noise)
    drawn = torch.tanh(mean + log_std.exp() * noise)
    expected = -equations.tanh_gaussian_log_prob(mean, log_std, drawn)
    close(found, expected, rtol=1e-6, atol=1e-6)
    slopes = (torch.autograd.grad(each.sum(), parameters) for each in (found, expected))
    for ours, theirs in zip(*slopes, strict=True):
        close(ours, theirs, rtol=1e-5, atol=1e-5)


@given(st.floats(-0.999, 0.999), st.floats(-7.24, 7.24), st.floats(-5, 2))
def test_policy_densities_are_finite_in_single_precision(
    action: float, mean: float, log_std: float
) -> None:
    """All actions of the data and all outputs of the policy have finite densities and gradients."""
    parameters = torch.tensor([mean, log_std], requires_grad=True)
    for density in (equations.tanh_gaussian_log_prob, equations.gaussian_log_prob):
        found = density(parameters[:1], parameters[1:], torch.tensor([action]))
        (slope,) = torch.autograd.grad(found, parameters)
        assert torch.isfinite(found)
        assert torch.isfinite(slope).all()
