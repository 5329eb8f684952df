"""Ratios over all of the data, in chunks, and statistics of them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from . import equations
from .numerics.networks import SkillNetwork
from .train_config import TrainConfig
from .training_data import Problem

RATIO_CHUNK = 1024
"""Rows per pass; activations of more rows would not fit into the processor's cache."""


@torch.no_grad()
def in_chunks(
    work: Callable[[slice], Tensor], rows: int, skills: int, device: torch.device
) -> Tensor:
    """Compute results (Z, rows) of `work` chunk by chunk, into memory allocated beforehand.

    Small results allocated one by one would fragment the larger blocks that `work` frees.
    """
    found = torch.empty(skills, rows, device=device)
    for first in range(0, rows, RATIO_CHUNK):
        chunk = slice(first, min(first + RATIO_CHUNK, rows))
        found[:, chunk] = work(chunk)
    return found


def state_values(states: Tensor, network: SkillNetwork) -> Tensor:
    """Values (Z, M) of many states (M, inputs)."""

    def values(chunk: slice) -> Tensor:
        return network(states[chunk])[..., 0]

    return in_chunks(values, len(states), len(network.skill), states.device)


def normalised(delta: Tensor, config: TrainConfig) -> Tensor:
    """Log weights from temporal differences: clipped at a quantile, normalised to sum to one."""
    log_eta = delta
    if config.divergence == "chi2":
        log_eta = equations.chi_square_log_ratios(delta)
    if config.truncation < 1:
        log_eta = equations.truncated(log_eta, config.truncation)
    return equations.log_weights(log_eta)


def minibatch_ratios(delta: Tensor, config: TrainConfig) -> Tensor:
    """Ratios (Z, B) from the temporal differences of a minibatch, with mean one.

    Chi-square ratios are not normalised: most may be zero, and a minibatch of zeros would otherwise
    count in full.
    """
    if config.divergence == "chi2":
        return equations.chi_square_log_ratios(delta).exp()
    return equations.log_ratios(delta).exp()


def per_trajectory(w: Tensor, problem: Problem) -> Tensor:
    """Return weights of whole trajectories (Z, trajectories), from weights (Z, N)."""
    total = torch.zeros(len(w), len(problem.first), dtype=w.dtype, device=w.device)
    return total.index_add_(1, problem.trajectory, w)


def averaged_by_trajectory(w: Tensor, trajectory: Tensor, length: Tensor) -> Tensor:
    """Give every row the mean weight of its trajectory, (Z, N).

    Args:
        w: Weights (Z, N).
        trajectory: Number of each row's trajectory, (N,).
        length: Rows of every trajectory, (trajectories,).
    """
    total = torch.zeros(len(w), len(length), dtype=w.dtype, device=w.device)
    return (total.index_add_(1, trajectory, w) / length)[:, trajectory]


def rejected_share(log_w: Tensor, problem: Problem) -> float:
    """Return the part of the weight (N,) on trajectories with a mean ratio below 1.

    The classifier finds such trajectories less like the expert than the data are on average.
    """
    total = per_trajectory(log_w.exp()[None], problem)[0]
    rejected = total * problem.num_rows < problem.length
    return float(total[rejected].sum() / total.sum())


def trajectory_mean(log_w: Tensor, problem: Problem, power: float) -> Tensor:
    """Give every row (N,) of a trajectory the power mean of its weights; sums to one again."""
    largest = log_w.max()
    sums = per_trajectory((power * (log_w - largest)).exp()[None], problem)[0]
    mean = (sums / problem.length).clamp(min=equations.SMALLEST_RATIO).log() / power
    return equations.log_weights(mean[problem.trajectory])


def describe(
    log_w: Tensor, log_w_expert: Tensor, problem: Problem
) -> dict[str, list[float] | float]:
    """Return statistics of log weights (Z, N): phi, effective samples, distances between skills."""
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
        return measures  # a single skill has no distance to others
    trajectory = per_trajectory(log_w.exp(), problem).clamp(min=equations.SMALLEST_RATIO).log()
    return measures | {
        "ratio_l1": float(equations.ratio_distance(log_w)),
        "ratio_l1_per_skill": equations.ratio_distances(log_w).mean(1).tolist(),
        "ratio_l1_trajectory": float(equations.ratio_distance(trajectory)),
        "ratio_l1_trajectory_per_skill": equations.ratio_distances(trajectory).mean(1).tolist(),
    }
