"""Clusters of trajectories by behaviour: the start of the discriminator, and a baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from .numerics.k_means import distant_clusters, k_means
from .ratios import per_trajectory
from .train_config import TrainConfig
from .training_data import Problem

OUTSIDE = 600.0
"""Drop of the log weight outside of a cluster. Finite, because 0 log 0 would not be a number."""
SUMMED_ROWS = 65536
"""Rows whose features are summed at once."""
TINY = 1e-12
"""Smallest weight of a trajectory, and smallest variance of a feature, that is not zero."""


@dataclass(frozen=True)
class Behaviour:
    """Features of all trajectories, weighted like the recovered expert."""

    mean: Tensor
    """Mean discriminator input of every trajectory, (T, F)."""
    weight: Tensor
    """Share of every trajectory in the expert's weight, (T,)."""
    deviation: Tensor
    """Deviation of each feature over the expert's weight, (F,)."""
    wobble: Tensor
    """Deviation of each feature within trajectories, over the expert's weight, (F,)."""


@dataclass(frozen=True)
class Clusters:
    """One cluster of trajectories per skill."""

    label: Tensor
    """Skill of every trajectory, (T,); -1 for trajectories outside of all clusters."""
    share: Tensor
    """Share of every cluster in the expert's weight, (Z,)."""

    @property
    def cost(self) -> Tensor:
        """Divergence of a skill that has exactly this cluster from the expert [nats], (Z,)."""
        return -self.share.clamp(min=TINY).log()

    def summary(self) -> dict[str, list[float]]:
        """Return shares and costs, by which a user can choose eps."""
        return {"cluster_share": self.share.tolist(), "cluster_cost": self.cost.tolist()}

    def log_weights(self, problem: Problem, log_w_expert: Tensor) -> Tensor:
        """Return the expert's log weights inside of every cluster, each summing to one, (Z, N)."""
        label = self.label[problem.trajectory]
        inside = label == torch.arange(len(self.share), device=label.device)[:, None]
        log_w = torch.where(inside, log_w_expert, log_w_expert - OUTSIDE)
        return torch.log_softmax(log_w, dim=-1)


def describe_behaviour(problem: Problem, log_w_expert: Tensor) -> Behaviour:
    """Summarise the features of every trajectory, weighted by the expert's ratios."""
    w = log_w_expert.exp()
    weight = per_trajectory(w[None], problem)[0]
    total = w.new_zeros(len(weight), problem.discriminator_input.shape[1])
    squares = torch.zeros_like(total[0])
    # In chunks: all features in double precision would need as much memory as the data.
    for rows in torch.arange(len(w), device=w.device).split(SUMMED_ROWS):
        x = problem.discriminator_input[rows].double()
        weighted = w[rows, None] * x
        total.index_add_(0, problem.trajectory[rows], weighted)
        squares += (weighted * x).sum(0)
    mean = total / weight.clamp(min=TINY)[:, None]
    variance = squares - total.sum(0).square()
    within = squares - (weight[:, None] * mean.square()).sum(0)
    return Behaviour(
        mean=mean,
        weight=weight,
        deviation=variance.clamp(min=TINY).sqrt(),
        wobble=within.clamp(min=TINY).sqrt(),
    )


def find_clusters(behaviour: Behaviour, config: TrainConfig) -> Clusters:
    """Choose one compact cluster of trajectories per skill, far apart from the others.

    A cluster with a share p of the expert's weight is -log p nats away from the expert. Clusters
    below a least share are avoided. It is half of an even share. If there is a constraint and
    exp(-eps) is smaller, it is exp(-eps): smaller clusters are farther away than eps allows.
    """
    least = 0.5 / config.skills
    if config.fixed_sigma is None and config.alpha is None:
        least = min(least, math.exp(-config.eps))
    label = distant_clusters(
        _points(behaviour), behaviour.weight, config.skills, least, _own_generator(config)
    )
    return _with_shares(label, behaviour, config.skills)


def partition(behaviour: Behaviour, config: TrainConfig) -> Clusters:
    """Divide all trajectories among the skills by k-means: a baseline."""
    label = k_means(_points(behaviour), behaviour.weight, config.skills, _own_generator(config))
    return _with_shares(label, behaviour, config.skills)


def _points(behaviour: Behaviour) -> Tensor:
    """Return features in units of their deviation within a trajectory."""
    return behaviour.mean / behaviour.wobble


def _own_generator(config: TrainConfig) -> torch.Generator:
    # A new generator each time, so that a continued run finds the clusters that it began with.
    return torch.Generator().manual_seed(config.seed)


def _with_shares(label: Tensor, behaviour: Behaviour, skills: int) -> Clusters:
    inside = label >= 0
    share = behaviour.weight.new_zeros(skills)
    share.index_add_(0, label[inside], behaviour.weight[inside])
    return Clusters(label, share)
