"""The paper's equations, one pure function each; docs/method.md maps them to the paper.

Sample axes come last: skills x samples is (Z, N). Ratios are kept as logarithms, `log_eta` with mean of exp equal to
one and `log_w` with sum equal to one; nothing is exponentiated before it is normalised.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

SMALLEST_RATIO = 1e-24
"""Ratios below this are no different from none; it keeps logarithms finite."""


def log_mean_exp(x: Tensor, log_probability: Tensor | None = None) -> Tensor:
    """log E[exp x] over the last axis; with `log_probability` (N,), an exact expectation instead of a sample mean."""
    if log_probability is None:
        return torch.logsumexp(x, dim=-1) - math.log(x.shape[-1])
    return torch.logsumexp(x + log_probability, dim=-1)


def expectation(x: Tensor, log_probability: Tensor | None = None) -> Tensor:
    """E[x] over the last axis; with `log_probability` (N,), exact instead of a sample mean."""
    return x.mean(-1) if log_probability is None else (x * log_probability.exp()).sum(-1)


def td_error(reward: Tensor, value: Tensor, next_value: Tensor, gamma: float) -> Tensor:
    """delta(s, a) = R(s, a) + gamma V(s') - V(s)."""
    return reward + gamma * next_value - value


def dual_loss(
    initial_value: Tensor, delta: Tensor, gamma: float,
    log_initial: Tensor | None = None, log_probability: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """(1 - gamma) E_rho0[V] + log E_dO[exp delta], to be minimised over V; (Z,) if the arguments are (Z, N)."""
    return (1 - gamma) * expectation(initial_value, log_initial) + log_mean_exp(
        delta, log_probability
    )


def log_ratios(delta: Tensor, log_probability: Tensor | None = None) -> Tensor:
    """log eta(s, a) = delta - log E_dO[exp delta]: occupancy of the optimal policy over that of the data."""
    return delta - log_mean_exp(delta, log_probability)[..., None]


def log_weights(log_eta: Tensor) -> Tensor:
    """log w = log softmax over the dataset, in double precision: eta over the number of samples."""
    return torch.log_softmax(log_eta.double(), dim=-1)


def kl_estimate(log_w_skill: Tensor, log_w_expert: Tensor) -> Tensor:
    """phi_z = sum_i w_z (log w_z - log w_E), never negative: divergence of a skill from the recovered expert."""
    return (log_w_skill.exp() * (log_w_skill - log_w_expert)).sum(-1)


def multiplier_loss(mu: Tensor, phi: Tensor, epsilon: float) -> Tensor:
    """sum_z sigma(mu_z) (epsilon - phi_z), to be minimised over mu: a violated constraint raises mu."""
    return (torch.sigmoid(mu) * (epsilon - phi)).sum()


def diversity_term(log_q: Tensor, num_skills: int, floor: float = -20.0) -> Tensor:
    """log(q(z|s) |Z|) / |Z|: how much better than chance a state tells the skill; log q is no less than `floor`."""
    return (log_q.clamp(min=floor) + math.log(num_skills)) / num_skills


def skill_reward(
    diversity: Tensor,
    log_eta_expert: Tensor,
    sigma: Tensor,
    weight: float = 1.0,
    data_pull: float = 1.0,
) -> Tensor:
    """R = (weight (1 - sigma) diversity + sigma log eta_E) / temperature, for terms (Z, N) or (N,) and sigma (Z,).

    With the divergence from the data that the dual adds, a skill maximises
    weight (1 - sigma) E[diversity] - sigma KL(d_z || d_E) - data_pull (1 - sigma) KL(d_z || d_O). A pull of 1 is the
    paper's convex combination; 0 is the Lagrangian it starts from, with multiplier sigma / (weight (1 - sigma)).
    """
    temperature = sigma + data_pull * (1 - sigma)
    return (weight * (1 - sigma) / temperature)[:, None] * diversity + (sigma / temperature)[
        :, None
    ] * log_eta_expert


def separation_exponent(sigma: Tensor, num_skills: int, weight: float, data_pull: float) -> Tensor:
    """Factor by which a round of values and discriminator multiplies the log-odds between skills, flow aside.

    Below one, differences between skills die out whatever they were.
    """
    return weight * (1 - sigma) / (num_skills * (sigma + data_pull * (1 - sigma)))


def unconstrained_reward(diversity: Tensor, logit: Tensor, alpha: float) -> Tensor:
    """R = log(d_E / d_O) + alpha log(q |Z|) / |Z|: the formulation without constraint, of the supplement."""
    return logit + alpha * diversity


def classifier_loss(expert_logit: Tensor, offline_logit: Tensor) -> Tensor:
    """Binary cross-entropy with the expert labelled one; its optimum is the logit log(d_E / d_O)."""
    return functional.softplus(-expert_logit).mean() + functional.softplus(offline_logit).mean()


def gradient_penalty(gradient: Tensor) -> Tensor:
    """E[(|grad| - 1)^2] of the logit at mixtures of expert and offline states, (B, features)."""
    return (gradient.norm(dim=-1) - 1).square().mean()


def discriminator_loss(log_q: Tensor, eta: Tensor) -> Tensor:
    """-E_p(z) E_dO[eta_z log q(z|s)] of an ensemble: `log_q` (K, Z, B), `eta` (Z, B); mean over members."""
    return -(eta * log_q).mean(dim=(1, 2)).mean()


def ensemble_log_prob(log_q: Tensor) -> Tensor:
    """Log of the members' mean probability: (K, Z, B) to (Z, B)."""
    return torch.logsumexp(log_q, dim=0) - math.log(len(log_q))


def disdain_bonus(log_q: Tensor) -> Tensor:
    """H(mean of members) - mean of H(member), in [0, log Z]: what the ensemble does not agree on, (B,)."""
    return entropy(ensemble_log_prob(log_q)) - entropy(log_q).mean(dim=0)


def entropy(log_q: Tensor) -> Tensor:
    """Entropy over the skills' axis, (..., Z, B) to (..., B)."""
    return -(log_q.exp() * log_q).sum(dim=-2)


def ratio_distances(log_w: Tensor) -> Tensor:
    """sum_i |w_z - w_z'| of every skill (Z,) from each of the others (Z - 1), in [0, 2]; `log_w` is (Z, N)."""
    w = log_w.exp()
    others = [[other for other in range(len(w)) if other != skill] for skill in range(len(w))]
    return torch.stack([
        torch.stack([(w[skill] - w[other]).abs().sum() for other in row]) for skill, row in enumerate(others)
    ])  # fmt: skip


def ratio_distance(log_w: Tensor) -> Tensor:
    """Mean of `ratio_distances` over pairs of skills."""
    return ratio_distances(log_w).mean()


def successor_reward(features: Tensor, expected: Tensor, strength: Tensor) -> Tensor:
    """phi(s) . (psi_z - psi_nearest) / |...|, scaled by `strength` (Z,): away from the nearest skill.

    `features` (N, F), `expected` (Z, F): the mean features psi_z of every skill.
    """
    difference, _ = nearest(expected)
    direction = difference / difference.norm(dim=-1, keepdim=True).clamp(min=1e-8)
    return strength[:, None] * (direction @ features.T)


def nearest(expected: Tensor) -> tuple[Tensor, Tensor]:
    """Difference (Z, F) to the nearest other skill's mean features, and its length (Z,)."""
    gaps = torch.cdist(expected, expected) + torch.diag(
        expected.new_full((len(expected),), math.inf)
    )
    other = gaps.argmin(dim=1)
    return expected - expected[other], gaps.gather(1, other[:, None])[:, 0]


def van_der_waals(distance: Tensor, reach: float) -> Tensor:
    """1 - (distance / reach)^3: skills repel each other up to a distance of `reach` and attract beyond."""
    return 1 - (distance / reach).pow(3)


def effective_samples(log_w: Tensor) -> Tensor:
    """1 / sum_i w_i^2: how many samples carry the weight, between 1 and N."""
    return torch.exp(-torch.logsumexp(2 * log_w, dim=-1))


def truncated(log_eta: Tensor, quantile: float) -> Tensor:
    """Cap log ratios at a quantile of their own: rows no minibatch ever saw would else carry all the weight."""
    rank = max(
        1, math.ceil(quantile * log_eta.shape[-1])
    )  # kthvalue: torch.quantile refuses more than 16 M values
    return torch.minimum(log_eta, log_eta.kthvalue(rank, dim=-1, keepdim=True).values)


def chi_square_conjugate(y: Tensor) -> Tensor:
    """f*(y) = max(0, y + 1)^2 / 2 - 1/2, conjugate of f(x) = (x - 1)^2 / 2 where x, a ratio, is never negative."""
    return 0.5 * functional.relu(y + 1).square() - 0.5


def chi_square_loss(
    initial_value: Tensor, delta: Tensor, gamma: float,
    log_initial: Tensor | None = None, log_probability: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """(1 - gamma) E_rho0[V] + E_dO[f*(delta)]: the dual under a chi-square divergence, used by SMODICE."""
    return (1 - gamma) * expectation(initial_value, log_initial) + expectation(
        chi_square_conjugate(delta), log_probability
    )


def chi_square_log_ratios(delta: Tensor) -> Tensor:
    """log max(0, delta + 1), not normalised: ratios under a chi-square divergence may be nothing at all."""
    return functional.relu(delta + 1).clamp(min=SMALLEST_RATIO).log()


def tanh_gaussian_log_prob(mean: Tensor, log_std: Tensor, action: Tensor) -> Tensor:
    """Log density of actions in (-1, 1) under tanh of a diagonal Gaussian, summed over the last axis."""
    before = torch.atanh(action)
    return (_log_normal(before, mean, log_std) - _log_slope(before)).sum(-1)


def tanh_gaussian_surprise(mean: Tensor, log_std: Tensor, noise: Tensor) -> Tensor:
    """-log density of actions tanh(mean + std noise), whose mean is the entropy, summed over the last axis."""
    slope = _log_slope(mean + log_std.exp() * noise)
    return (0.5 * noise.square() + log_std + 0.5 * math.log(2 * math.pi) + slope).sum(-1)


def gaussian_log_prob(mean: Tensor, log_std: Tensor, action: Tensor) -> Tensor:
    """Log density of actions under a diagonal Gaussian, summed over the last axis."""
    return _log_normal(action, mean, log_std).sum(-1)


def _log_slope(x: Tensor) -> Tensor:
    """log(1 - tanh(x)^2), without cancellation."""
    return 2 * (math.log(2) - x - functional.softplus(-2 * x))


def _log_normal(x: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    return (
        -0.5 * ((x - mean) * torch.exp(-log_std)).square() - log_std - 0.5 * math.log(2 * math.pi)
    )
