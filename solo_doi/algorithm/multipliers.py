"""Phase 3: bounded multipliers, which weigh imitation against diversity for every skill."""

from __future__ import annotations

import torch
from torch import Tensor

from . import equations
from .train_config import TrainConfig

SMALLEST_STEP = 0.05
"""Share of the learning rate that remains at the end."""


class Multipliers:
    """sigma(mu_z), learned so that every skill's divergence from the expert ends at epsilon, or fixed."""

    def __init__(self, config: TrainConfig, device: torch.device) -> None:
        """Start all skills alike."""
        self._eps, self._bound, self._fixed = (
            config.eps,
            config.multiplier.bound,
            config.fixed_sigma,
        )
        self.mu = torch.full(
            (config.skills,), config.multiplier.initial, device=device, requires_grad=True
        )
        # Violations shrink a hundredfold: with Adam's usual memory of their squares, multipliers would stop half way.
        self.optimiser = torch.optim.Adam([self.mu], lr=config.multiplier.lr, betas=(0.9, 0.9))
        self._lr = config.multiplier.lr

    def step(self, phi: Tensor, left: float = 1.0) -> None:
        """Move every multiplier by its skill's violation; less and less as `left`, what is left of the hold, fades."""
        if self._fixed is not None:
            return
        self.optimiser.param_groups[0]["lr"] = self._lr * max(left, SMALLEST_STEP)
        loss = equations.multiplier_loss(self.mu, phi.float(), self._eps)
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        with torch.no_grad():
            self.mu.clamp_(-self._bound, self._bound)

    @torch.no_grad()
    def sigma(self) -> Tensor:
        """Bounded multipliers, (Z,)."""
        return (
            torch.sigmoid(self.mu) if self._fixed is None else torch.full_like(self.mu, self._fixed)
        )
