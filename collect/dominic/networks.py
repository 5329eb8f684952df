"""Networks of the trainer: shared weights, of which each skill uses a subset of the units."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from solo_doi.policies.masked_policy import NORMALISER_FLOOR


class SkillMLP(nn.Module):
    """Two hidden layers with ELU, each followed by the skill's mask; the output is not masked."""

    mask0: Tensor
    mask1: Tensor

    def __init__(
        self,
        inputs: int,
        hidden: tuple[int, int],
        outputs: int,
        num_skills: int,
        mask_keep: float,
        generator: torch.Generator,
    ) -> None:
        """Draw weights (PyTorch's default law) and masks from `generator`."""
        super().__init__()
        self.first = nn.Linear(inputs, hidden[0])
        self.second = nn.Linear(*hidden)
        self.head = nn.Linear(hidden[1], outputs)
        for layer in self.layers:
            bound = layer.in_features**-0.5
            for parameter in layer.parameters():
                nn.init.uniform_(parameter, -bound, bound, generator=generator)
        if num_skills == 1:
            mask_keep = 1.0  # a single skill uses all units
        for index, width in enumerate(hidden):
            drawn = torch.rand(num_skills, width, generator=generator) <= mask_keep
            self.register_buffer(f"mask{index}", drawn.float())

    @property
    def layers(self) -> tuple[nn.Linear, nn.Linear, nn.Linear]:
        """The three layers, first to last."""
        return self.first, self.second, self.head

    def forward(self, x: Tensor, skill: Tensor) -> Tensor:
        """Outputs (B, outputs) of inputs (B, inputs) under skills (B,)."""
        x = functional.elu(self.first(x)) * self.mask0[skill]
        x = functional.elu(self.second(x)) * self.mask1[skill]
        return self.head(x)

    def for_all_skills(self, x: Tensor) -> Tensor:
        """Outputs (B, skills, outputs) of the same inputs under every skill."""
        x = functional.elu(self.first(x))[:, None] * self.mask0
        x = functional.elu(self.second(x)) * self.mask1
        return self.head(x)


class GaussianPolicy(nn.Module):
    """Diagonal Gaussian over raw actions; the standard deviation does not depend on the state."""

    def __init__(self, network: SkillMLP, actions: int, std: float = 1.0) -> None:
        """Start near the default pose: the mean's last layer is scaled down."""
        super().__init__()
        self.network = network
        self.log_std = nn.Parameter(torch.full((actions,), math.log(std)))
        with torch.no_grad():
            network.head.weight *= 0.1
            network.head.bias.zero_()

    def forward(self, x: Tensor, skill: Tensor) -> Tensor:
        """Mean action (B, 12)."""
        return self.network(x, skill)

    def log_prob(self, mean: Tensor, action: Tensor) -> Tensor:
        """Log density of actions, (B,)."""
        normalised = (action - mean) * torch.exp(-self.log_std)
        constant = 0.5 * action.shape[-1] * torch.log(torch.tensor(2 * torch.pi))
        return -0.5 * normalised.square().sum(-1) - self.log_std.sum() - constant

    def entropy(self) -> Tensor:
        """Entropy of the action distribution, a scalar."""
        return (self.log_std + 0.5 * torch.log(torch.tensor(2 * torch.pi * torch.e))).sum()


class Normaliser(nn.Module):
    """Running mean and variance of a stream of batches; only `update` changes them."""

    mean: Tensor
    var: Tensor
    count: Tensor

    def __init__(self, size: int) -> None:
        """Start at mean 0, variance 1."""
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("var", torch.ones(size))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        """(x - mean) / (std + 0.01)."""
        return (x - self.mean) / (self.var.sqrt() + NORMALISER_FLOOR)

    @torch.no_grad()
    def update(self, batch: Tensor) -> None:
        """Merge a batch (B, size) into the statistics, exactly for any batch size."""
        var, mean = torch.var_mean(batch, dim=0, correction=0)
        total = self.count + len(batch)
        share = float(len(batch) / total)
        delta = mean - self.mean
        self.var.lerp_(var, share).add_(delta.square() * share * (1 - share))
        self.mean.add_(delta * share)
        self.count.copy_(total)
