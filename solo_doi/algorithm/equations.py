"""The paper's equations, one pure function each. solo_doi/docs/method.md maps them to the paper.

Sample axes come last: skills x samples is (Z, N). Ratios are kept as logarithms: the mean of
exp(log_eta) is one, the sum of exp(log_w) is one. Logarithms are normalised before they are
exponentiated, so that nothing overflows.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

SMALLEST_RATIO = 1e-24
"""Smallest ratio, treated as zero; keeps logarithms finite."""


def log_mean_exp(x: Tensor, log_probability: Tensor | None = None) -> Tensor:
    """log E[exp x] over the last axis.

    The expectation is a sample mean, or exact if `log_probability` (N,) is given.
    """
    if log_probability is None:
        return torch.logsumexp(x, dim=-1) - math.log(x.shape[-1])
    return torch.logsumexp(x + log_probability, dim=-1)


def expectation(x: Tensor, log_probability: Tensor | None = None) -> Tensor:
    """E[x] over the last axis: a sample mean, or exact if `log_probability` (N,) is given."""
    if log_probability is None:
        return x.mean(-1)
    return (x * log_probability.exp()).sum(-1)


def td_error(reward: Tensor, value: Tensor, next_value: Tensor, gamma: float) -> Tensor:
    """delta(s, a) = R(s, a) + gamma V(s') - V(s)."""
    return reward + gamma * next_value - value


def dual_loss(
    initial_value: Tensor, delta: Tensor, gamma: float,
    log_initial: Tensor | None = None, log_probability: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """(1 - gamma) E_rho0[V] + log E_dO[exp delta], minimised over V; (Z, N) to (Z,)."""
    initial = expectation(initial_value, log_initial)
    return (1 - gamma) * initial + log_mean_exp(delta, log_probability)


def log_ratios(delta: Tensor, log_probability: Tensor | None = None) -> Tensor:
    """log eta(s, a) = delta - log E_dO[exp delta].

    eta is the occupancy of the optimal policy divided by the occupancy of the data.
    """
    return delta - log_mean_exp(delta, log_probability)[..., None]


def log_weights(log_eta: Tensor) -> Tensor:
    """log w = log softmax over the dataset, in double precision; w is eta / N."""
    return torch.log_softmax(log_eta.double(), dim=-1)


def kl_estimate(log_w_skill: Tensor, log_w_expert: Tensor) -> Tensor:
    """phi_z = sum_i w_z (log w_z - log w_E): divergence of a skill from the recovered expert."""
    return (log_w_skill.exp() * (log_w_skill - log_w_expert)).sum(-1)


def multiplier_loss(mu: Tensor, phi: Tensor, epsilon: float) -> Tensor:
    """sum_z sigma(mu_z) (epsilon - phi_z), minimised over mu: a violated constraint raises mu."""
    return (torch.sigmoid(mu) * (epsilon - phi)).sum()


def diversity_term(log_q: Tensor, num_skills: int, floor: float = -20.0) -> Tensor:
    """log(q(z|s) |Z|) / |Z|: zero at chance level; log q is clipped at `floor`."""
    return (log_q.clamp(min=floor) + math.log(num_skills)) / num_skills


def skill_reward(
    diversity: Tensor,
    log_eta_expert: Tensor,
    sigma: Tensor,
    weight: float = 1.0,
    data_pull: float = 1.0,
) -> Tensor:
    """R = (weight (1 - sigma) diversity + sigma log eta_E) / temperature.

    Terms are (Z, N) or (N,), sigma is (Z,). The dual problem adds a divergence from the data, so
    that a skill maximises weight (1 - sigma) E[diversity] - sigma KL(d_z || d_E)
    - data_pull (1 - sigma) KL(d_z || d_O). A `data_pull` of 1 is the paper's convex combination.
    0 is the Lagrangian, with multiplier sigma / (weight (1 - sigma)).
    """
    temperature = sigma + data_pull * (1 - sigma)
    diversity_factor = (weight * (1 - sigma) / temperature)[:, None]
    imitation_factor = (sigma / temperature)[:, None]
    return diversity_factor * diversity + imitation_factor * log_eta_expert


def separation_exponent(sigma: Tensor, num_skills: int, weight: float, data_pull: float) -> Tensor:
    """Growth factor of the log-odds between skills in one round of values and discriminator.

    The flow constraint is ignored. Below one, all differences between skills decay.
    """
    return weight * (1 - sigma) / (num_skills * (sigma + data_pull * (1 - sigma)))


def unconstrained_reward(diversity: Tensor, logit: Tensor, alpha: float) -> Tensor:
    """R = log(d_E / d_O) + alpha log(q |Z|) / |Z|: the unconstrained form of the supplement."""
    return logit + alpha * diversity


def classifier_loss(expert_logit: Tensor, offline_logit: Tensor) -> Tensor:
    """Binary cross-entropy with the expert labelled one; the optimal logit is log(d_E / d_O)."""
    return functional.softplus(-expert_logit).mean() + functional.softplus(offline_logit).mean()


def gradient_penalty(gradient: Tensor) -> Tensor:
    """E[(|grad| - 1)^2] of the logit at mixtures of expert and offline states, (B, features)."""
    return (gradient.norm(dim=-1) - 1).square().mean()


def discriminator_loss(log_q: Tensor, eta: Tensor) -> Tensor:
    """-E_p(z) E_dO[eta_z log q(z|s)], mean over members; `log_q` (K, Z, B), `eta` (Z, B)."""
    return -(eta * log_q).mean(dim=(1, 2)).mean()


def ensemble_log_prob(log_q: Tensor) -> Tensor:
    """Log of the members' mean probability: (K, Z, B) to (Z, B)."""
    return torch.logsumexp(log_q, dim=0) - math.log(len(log_q))


def disdain_bonus(log_q: Tensor) -> Tensor:
    """H(mean of members) - mean of H(member), in [0, log Z]: disagreement of the ensemble, (B,)."""
    return entropy(ensemble_log_prob(log_q)) - entropy(log_q).mean(dim=0)


def entropy(log_q: Tensor) -> Tensor:
    """Entropy over the skills' axis, (..., Z, B) to (..., B)."""
    return -(log_q.exp() * log_q).sum(dim=-2)


def ratio_distances(log_w: Tensor) -> Tensor:
    """sum_i |w_z - w_z'| between every skill and each other skill, (Z, Z - 1), in [0, 2]."""
    w = log_w.exp()
    rows = []
    for skill in range(len(w)):
        others = [other for other in range(len(w)) if other != skill]
        rows.append(torch.stack([(w[skill] - w[other]).abs().sum() for other in others]))
    return torch.stack(rows)


def ratio_distance(log_w: Tensor) -> Tensor:
    """Mean of `ratio_distances` over pairs of skills."""
    return ratio_distances(log_w).mean()


def successor_reward(features: Tensor, expected: Tensor, strength: Tensor) -> Tensor:
    """phi(s) . (psi_z - psi_nearest) / |...|, scaled by `strength` (Z,).

    Rewards features phi(s), `features` (N, F), that lead away from the nearest skill. `expected`
    (Z, F) are the mean features psi_z of every skill.
    """
    difference, _ = nearest(expected)
    direction = difference / difference.norm(dim=-1, keepdim=True).clamp(min=1e-8)
    return strength[:, None] * (direction @ features.T)


def nearest(expected: Tensor) -> tuple[Tensor, Tensor]:
    """Difference (Z, F) from the mean features of the nearest other skill, and its length (Z,)."""
    # Infinite on the diagonal: a skill is not its own neighbour.
    itself = torch.diag(expected.new_full((len(expected),), math.inf))
    gaps = torch.cdist(expected, expected) + itself
    other = gaps.argmin(dim=1)
    return expected - expected[other], gaps.gather(1, other[:, None])[:, 0]


def van_der_waals(distance: Tensor, reach: float) -> Tensor:
    """1 - (distance / reach)^3: skills repel below a distance of `reach` and attract above it."""
    return 1 - (distance / reach).pow(3)


def effective_samples(log_w: Tensor) -> Tensor:
    """Effective sample size 1 / sum_i w_i^2, between 1 and N."""
    return torch.exp(-torch.logsumexp(2 * log_w, dim=-1))


def truncated(log_eta: Tensor, quantile: float) -> Tensor:
    """Clip log ratios at a quantile; otherwise rows that no minibatch saw could dominate."""
    # kthvalue, because torch.quantile refuses more than 16 M values.
    rank = max(1, math.ceil(quantile * log_eta.shape[-1]))
    return torch.minimum(log_eta, log_eta.kthvalue(rank, dim=-1, keepdim=True).values)


def chi_square_conjugate(y: Tensor) -> Tensor:
    """f*(y) = max(0, y + 1)^2 / 2 - 1/2, conjugate of f(x) = (x - 1)^2 / 2 for ratios x >= 0."""
    return 0.5 * functional.relu(y + 1).square() - 0.5


def chi_square_loss(
    initial_value: Tensor, delta: Tensor, gamma: float,
    log_initial: Tensor | None = None, log_probability: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """(1 - gamma) E_rho0[V] + E_dO[f*(delta)]: SMODICE's dual under a chi-square divergence."""
    initial = expectation(initial_value, log_initial)
    conjugate = chi_square_conjugate(delta)
    return (1 - gamma) * initial + expectation(conjugate, log_probability)


def chi_square_log_ratios(delta: Tensor) -> Tensor:
    """log max(0, delta + 1), not normalised: chi-square ratios may be zero everywhere."""
    return functional.relu(delta + 1).clamp(min=SMALLEST_RATIO).log()


def tanh_gaussian_log_prob(
    mean: Tensor, log_std: Tensor, action: Tensor, variance_power: float = 0.0
) -> Tensor:
    """Log density of actions in (-1, 1) under tanh of a diagonal Gaussian, summed over actions.

    With `variance_power`, each action's share is weighted as in `gaussian_log_prob`.
    """
    before = torch.atanh(action)
    density = _log_normal(before, mean, log_std) - _log_slope(before)
    return (_variance_weight(log_std, variance_power) * density).sum(-1)


def tanh_gaussian_surprise(mean: Tensor, log_std: Tensor, noise: Tensor) -> Tensor:
    """-log density of actions tanh(mean + std noise), summed over actions; entropy is its mean."""
    slope = _log_slope(mean + log_std.exp() * noise)
    return (0.5 * noise.square() + log_std + 0.5 * math.log(2 * math.pi) + slope).sum(-1)


def gaussian_log_prob(
    mean: Tensor, log_std: Tensor, action: Tensor, variance_power: float = 0.0
) -> Tensor:
    """Log density of actions under a diagonal Gaussian, summed over the last axis.

    With `variance_power` b, each action's share is weighted by its predicted variance to the power
    b, as a constant (beta-NLL). The gradient of the mean is (action - mean) / variance^(1 - b):
    with 1 that of the squared error, so that states with a wrong prediction, and therefore a large
    predicted variance, are not neglected.
    """
    weight = _variance_weight(log_std, variance_power)
    return (weight * _log_normal(action, mean, log_std)).sum(-1)


def _variance_weight(log_std: Tensor, power: float) -> Tensor | float:
    """std^(2 power) without a gradient."""
    if not power:
        return 1.0
    return torch.exp(2 * power * log_std.detach())


def _log_slope(x: Tensor) -> Tensor:
    """log(1 - tanh(x)^2), without cancellation."""
    return 2 * (math.log(2) - x - functional.softplus(-2 * x))


def _log_normal(x: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    standardised = (x - mean) * torch.exp(-log_std)
    return -0.5 * standardised.square() - log_std - 0.5 * math.log(2 * math.pi)
