"""Equations of DOMiNiC, one pure function each; leading dimensions are (time, robots)."""

from __future__ import annotations

import torch
from torch import Tensor


def advantages(
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    ended: Tensor,
    gamma: float,
    lam: float,
) -> Tensor:
    """Generalised advantage estimates of rewards (T, N, G).

    `next_value` is the value of the state after each step, before any reset: a time-out keeps its
    bootstrap, a fall does not. `ended` stops the trace at the border between two episodes.
    """
    # delta_t = r_t + gamma (1 - fallen_t) V(s'_t) - V(s_t)
    # A_t = delta_t + gamma lambda (1 - ended_t) A_{t+1}
    delta = reward + gamma * (1 - terminated)[..., None] * next_value - value
    decay = gamma * lam * (1 - ended)[..., None]
    result = torch.empty_like(delta)
    running = torch.zeros_like(delta[0])
    for t in range(len(delta) - 1, -1, -1):
        running = delta[t] + decay[t] * running
        result[t] = running
    return result


def standardised(advantage: Tensor) -> Tensor:
    """Zero mean, unit deviation over all samples, per reward group in the last dimension."""
    flat = advantage.flatten(0, -2)
    return (advantage - flat.mean(0)) / (flat.std(0) + 1e-8)


def combined_advantage(
    regular: Tensor, task: Tensor, intrinsic: Tensor, multiplier: Tensor, regular_weight: float
) -> Tensor:
    """W A_regular + l A_task + (1 - l) A_intrinsic, where l in [0, 1] is the skill's multiplier."""
    return regular_weight * regular + multiplier * task + (1 - multiplier) * intrinsic


def successor_target(
    features: Tensor, next_successor: Tensor, ended: Tensor, gamma: float
) -> Tensor:
    """TD(0) target of successor features, scaled by (1 - gamma): an average of future features."""
    return (1 - gamma) * features + gamma * (1 - ended)[..., None] * next_successor


def nearest_skill(successor: Tensor, skill: Tensor) -> tuple[Tensor, Tensor]:
    """Return difference to, and distance from, the nearest other skill's successor features.

    `successor` (B, Z, F) holds all skills' features at each state; `skill` (B,) is the one acting.
    """
    own = successor.gather(1, skill[:, None, None].expand(-1, 1, successor.shape[-1]))
    difference = own - successor
    distance = difference.norm(dim=-1).scatter(1, skill[:, None], torch.inf)
    smallest, index = distance.min(dim=1)
    nearest = difference.gather(1, index[:, None, None].expand(-1, 1, successor.shape[-1]))
    return nearest[:, 0], smallest


def from_midpoint(features: Tensor, successor: Tensor, difference: Tensor) -> Tensor:
    """phi - (psi_z + psi_z*) / 2: features seen from the middle between two skills."""
    return features - successor + difference / 2


def diversity_reward(
    features: Tensor, difference: Tensor, strength: Tensor | float = 1.0
) -> Tensor:
    """C <phi, psi_z - psi_z*> / F: reward features that lead away from the nearest other skill."""
    return strength * (features * difference).mean(-1)


def van_der_waals(
    distance: Tensor, length: float, attraction: float, attract_power: float, repel_power: float
) -> Tensor:
    """C = (1 - a) (d / l)^p_rep - a (d / l)^p_att: repulsion that turns into attraction."""
    ratio = distance / length
    return (1 - attraction) * ratio**repel_power - attraction * ratio**attract_power


def multiplier_loss(raw: Tensor, value: Tensor, threshold: Tensor) -> Tensor:
    """sum_z mu_z (v_z - alpha v_target): a skill worse than its threshold raises its multiplier."""
    return (raw * (value - threshold)).sum()


def clipped_surrogate(
    log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip: float
) -> Tensor:
    """PPO's policy loss, to be minimised."""
    ratio = torch.exp(log_prob - old_log_prob)
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()
