"""Ratios over all of the data, in chunks, and what they say."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from . import equations
from .networks import SkillNetwork
from .train_config import TrainConfig
from .training_data import Problem

CHUNK = 1024
"""Rows per pass: what lies between layers of more rows leaves the processor's cache."""


@torch.no_grad()
def in_chunks(
    work: Callable[[slice], Tensor], rows: int, skills: int, device: torch.device
) -> Tensor:
    """Results (Z, rows) of `work`, piece by piece, in memory that is there before.

    Kept one by one, they would lie in the much larger blocks of memory that `work` frees, which then fit nothing.
    """
    found = torch.empty(skills, rows, device=device)
    for first in range(0, rows, CHUNK):
        chunk = slice(first, min(first + CHUNK, rows))
        found[:, chunk] = work(chunk)
    return found


def state_values(states: Tensor, network: SkillNetwork) -> Tensor:
    """Values (Z, M) of many states (M, inputs)."""
    return in_chunks(
        lambda chunk: network(states[chunk])[..., 0], len(states), len(network.skill), states.device
    )


def normalised(delta: Tensor, config: TrainConfig) -> Tensor:
    """Log weights from temporal differences: capped at a quantile, then summing to one, in double precision."""
    log_eta = equations.chi_square_log_ratios(delta) if config.divergence == "chi2" else delta
    if config.truncation < 1:
        log_eta = equations.truncated(log_eta, config.truncation)
    return equations.log_weights(log_eta)


def minibatch_ratios(delta: Tensor, config: TrainConfig) -> Tensor:
    """Ratios (Z, B) from the temporal differences of a minibatch: with mean one, or, under chi-square, as they are.

    Most of those may be nothing: made to have mean one, a minibatch without any would count in full.
    """
    log_eta = (
        equations.chi_square_log_ratios(delta)
        if config.divergence == "chi2"
        else equations.log_ratios(delta)
    )
    return log_eta.exp()


def per_trajectory(w: Tensor, problem: Problem) -> Tensor:
    """Weight of whole trajectories (Z, trajectories), from weights (Z, N)."""
    total = torch.zeros(len(w), len(problem.first), dtype=w.dtype, device=w.device)
    return total.index_add_(1, problem.trajectory, w)


def describe(
    log_w: Tensor, log_w_expert: Tensor, problem: Problem
) -> dict[str, list[float] | float]:
    """phi and effective samples per skill and over all; distances between skills by sample and by trajectory."""
    phi = equations.kl_estimate(log_w, log_w_expert)
    samples = equations.effective_samples(log_w)
    measures: dict[str, list[float] | float] = {
        "phi": phi.tolist(),
        "phi_mean": float(phi.mean()),
        "effective_samples": samples.tolist(),
        "effective_share": (samples / log_w.shape[-1]).tolist(),
        "effective_share_mean": float(samples.mean() / log_w.shape[-1]),
    }
    if len(log_w) == 1:
        return measures  # nothing to differ from
    trajectory = per_trajectory(log_w.exp(), problem).clamp(min=equations.SMALLEST_RATIO).log()
    return measures | {
        "ratio_l1": float(equations.ratio_distance(log_w)),
        "ratio_l1_per_skill": equations.ratio_distances(log_w).mean(1).tolist(),
        "ratio_l1_trajectory": float(equations.ratio_distance(trajectory)),
        "ratio_l1_trajectory_per_skill": equations.ratio_distances(trajectory).mean(1).tolist(),
    }
