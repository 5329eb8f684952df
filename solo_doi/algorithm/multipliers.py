"""Phase 3: bounded multipliers, the weight of imitation against diversity for every skill."""

from __future__ import annotations

import torch
from torch import Tensor

from . import equations
from .train_config import TrainConfig

SMALLEST_STEP = 0.05
"""Share of the learning rate at the end of the hold."""


class Multipliers:
    """sigma(mu_z) of every skill: fixed, or learned until its divergence phi_z equals epsilon."""

    def __init__(self, config: TrainConfig, device: torch.device) -> None:
        """Start with the same mu for all skills."""
        options = config.multiplier
        self._eps = config.eps
        self._bound = options.bound
        self._fixed = config.fixed_sigma
        self._lr = options.lr
        self.mu = torch.full((config.skills,), options.initial, device=device, requires_grad=True)
        # Violations shrink a hundredfold. With Adam's default memory of squared gradients, the
        # multipliers would stop half way.
        self.optimiser = torch.optim.Adam([self.mu], lr=options.lr, betas=(0.9, 0.9))

    def step(self, phi: Tensor, remaining: float = 1.0) -> None:
        """Move every multiplier by its violation; the step shrinks with the `remaining` hold."""
        if self._fixed is not None:
            return
        self.optimiser.param_groups[0]["lr"] = self._lr * max(remaining, SMALLEST_STEP)
        loss = equations.multiplier_loss(self.mu, phi.float(), self._eps)
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        with torch.no_grad():
            self.mu.clamp_(-self._bound, self._bound)

    @torch.no_grad()
    def sigma(self) -> Tensor:
        """Bounded multipliers, (Z,)."""
        if self._fixed is not None:
            return torch.full_like(self.mu, self._fixed)
        return torch.sigmoid(self.mu)
