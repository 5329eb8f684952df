"""Phase 3: bounded multipliers, which weigh imitation against diversity for every skill."""

from __future__ import annotations

import torch
from torch import Tensor

from . import equations
from .config import TrainConfig


class Multipliers:
    """sigma(mu_z), learned so that every skill's divergence from the expert ends at epsilon, or fixed."""

    def __init__(self, config: TrainConfig, device: torch.device) -> None:
        """Start all skills alike."""
        self._eps, self._bound, self._fixed = config.eps, config.multiplier.bound, config.fixed_sigma
        self.mu = torch.full((config.skills,), config.multiplier.initial, device=device, requires_grad=True)
        self.optimiser = torch.optim.Adam([self.mu], lr=config.multiplier.lr)

    def step(self, phi: Tensor) -> None:
        """Move every multiplier by its skill's violation."""
        if self._fixed is not None:
            return
        loss = equations.multiplier_loss(self.mu, phi.float(), self._eps)
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        with torch.no_grad():
            self.mu.clamp_(-self._bound, self._bound)

    @torch.no_grad()
    def sigma(self) -> Tensor:
        """Bounded multipliers, (Z,)."""
        return torch.sigmoid(self.mu) if self._fixed is None else torch.full_like(self.mu, self._fixed)
