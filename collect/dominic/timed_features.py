"""Averages of features by skill and part of the episode, in which skills are driven apart."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from . import equations
from .pretrain_config import DiversityConfig


class TimedFeatures(nn.Module):
    """Running mean of the features of every skill in every part of an episode."""

    mean: Tensor  # (skills, bins, features)
    seen: Tensor  # (skills, bins) True where the mean has samples

    def __init__(self, num_skills: int, features: int, config: DiversityConfig) -> None:
        """Start without averages: skills without samples are at distance 0."""
        super().__init__()
        self.config = config
        self.register_buffer("mean", torch.zeros(num_skills, config.bins, features))
        self.register_buffer("seen", torch.zeros(num_skills, config.bins, dtype=torch.bool))

    @torch.no_grad()
    def observe(self, features: Tensor, skill: Tensor, age: Tensor) -> None:
        """Merge samples (B, features) of skills (B,) at ages (B,) [control steps]."""
        skills, bins, size = self.mean.shape
        cell = skill * bins + self._bin(age)
        total = torch.zeros(skills * bins, size).index_add_(0, cell, features)
        count = torch.zeros(skills * bins).index_add_(0, cell, torch.ones(len(cell)))
        count = count.view(skills, bins)
        average = total.view(skills, bins, size) / count.clamp(min=1)[..., None]
        found = count > 0
        share = torch.where(self.seen, 1 - self.config.bin_decay, 1.0) * found
        self.mean += share[..., None] * (average - self.mean)
        self.seen |= found

    @torch.no_grad()
    def reward(self, features: Tensor, skill: Tensor, age: Tensor) -> tuple[Tensor, float]:
        """Return rewards (B,) away from the nearest other skill, and the mean distance.

        Distances are of whole episodes, so a skill keeps one opponent throughout.
        """
        skills, bins, size = self.mean.shape
        flat = self.mean.view(1, skills, -1).expand(skills, -1, -1)
        difference, distance = equations.nearest_skill(flat, torch.arange(skills))
        direction = difference.view(skills, bins, size)
        part = self._bin(age)
        reward = equations.diversity_reward(features, direction[skill, part])
        early = part < self.config.rewarded_bins
        return reward * early, float(distance.mean()) / bins**0.5

    def _bin(self, age: Tensor) -> Tensor:
        return (age // self.config.bin_steps).clamp(max=self.config.bins - 1)
