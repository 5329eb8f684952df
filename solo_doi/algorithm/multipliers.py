"""Phase 3: bounded multipliers, the weight of imitation against diversity for every skill."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from . import equations
from .train_config import TrainConfig

SMALLEST_STEP = 0.05
"""Share of the learning rate at the end of the hold."""
BISECTIONS = 20
"""Halvings of the range of mu in which a solution is searched: 12 / 2^20 remains of it."""

Divergences = Callable[[Tensor], Tensor]
"""Function from multipliers sigma (Z,) to divergences phi (Z,), which fall as sigma rises."""


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
    def solve(self, phi_of: Divergences, share: float) -> None:
        """Move every mu by a share of the way to the value with which phi_z equals epsilon.

        Without such a value within the bounds, the nearest bound takes its place: a constraint that
        cannot be violated has the smallest multiplier.
        """
        if self._fixed is not None:
            return
        low = torch.full_like(self.mu, -self._bound)
        high = torch.full_like(self.mu, self._bound)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            violated = phi_of(torch.sigmoid(middle)) > self._eps
            low = torch.where(violated, middle, low)
            high = torch.where(violated, high, middle)
        self.mu += share * ((low + high) / 2 - self.mu)

    @torch.no_grad()
    def sigma(self) -> Tensor:
        """Bounded multipliers, (Z,)."""
        if self._fixed is not None:
            return torch.full_like(self.mu, self._fixed)
        return torch.sigmoid(self.mu)
