"""Lagrange multipliers: share of the task, against diversity, in each skill's gradient."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from . import equations
from .pretrain_config import DiversityConfig

AVERAGE_DECAY = 0.998
"""Decay per iteration of the averaged weights. The average spans about 500 iterations, longer than
one oscillation of the multipliers."""
SETTLED_STEP = 0.1
"""Factor on the multipliers' learning rate while skills settle."""


class TaskMultipliers(nn.Module):
    """One raw multiplier mu per skill, with weight sigma(mu); the target skill 0 has weight 1."""

    value: Tensor  # (skills,) running task values
    seen: Tensor  # number of updates of `value`
    average: Tensor  # (skills,) running average of the weights, if skills settle

    def __init__(self, num_skills: int, config: DiversityConfig) -> None:
        """Start at mu = 0, weight one half."""
        super().__init__()
        self.config = config
        self.raw = nn.Parameter(torch.zeros(num_skills))
        self.register_buffer("value", torch.zeros(num_skills))
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        if config.settle:
            self.register_buffer("average", torch.full((num_skills,), 0.5))
        self.optimiser = torch.optim.Adam([self.raw], lr=config.multiplier_lr)

    @torch.no_grad()
    def observe(self, returns: Tensor, skill: Tensor) -> None:
        """Update the running task value of every skill from its robots' mean returns (N,)."""
        totals = torch.zeros_like(self.value).index_add_(0, skill, returns)
        counts = torch.zeros_like(self.value).index_add_(0, skill, torch.ones_like(returns))
        decay = 0.0
        if self.seen:
            decay = self.config.value_decay
        self.value.lerp_(totals / counts, 1 - decay)
        self.seen += 1

    def update(self) -> None:
        """Take one Adam step."""
        # Without the reset, gradients would sum the violation over the whole run.
        self.optimiser.zero_grad()
        equations.multiplier_loss(
            self.raw, self.value, self.config.alpha * self.value[0]
        ).backward()
        self.optimiser.step()
        with torch.no_grad():
            self.raw.clamp_(-self.config.multiplier_bound, self.config.multiplier_bound)
            if self.config.settle:
                self.average.lerp_(torch.sigmoid(self.raw), 1 - AVERAGE_DECAY)

    @torch.no_grad()
    def settle(self) -> None:
        """Continue from the averaged weights, with smaller steps.

        Multipliers of a constraint oscillate about their solution; their average is near it.
        """
        self.raw.copy_(torch.logit(self.average))
        self.optimiser = torch.optim.Adam([self.raw], lr=SETTLED_STEP * self.config.multiplier_lr)

    @torch.no_grad()
    def weights(self) -> Tensor:
        """Weight of the task, (skills,)."""
        weights = torch.sigmoid(self.raw)
        weights[0] = 1.0
        return weights

    @torch.no_grad()
    def slack(self) -> Tensor:
        """Task value of each skill minus its threshold, (skills,)."""
        return self.value - self.config.alpha * self.value[0]
