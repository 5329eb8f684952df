"""Force between the mean features of skills, in the place of a discriminator."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from . import equations
from .clusters import Clusters
from .numerics.background import Submit, call_at_once
from .train_config import TrainConfig
from .training_data import Problem


class VanDerWaals:
    """Force between the mean features of skills [Dual-Force]. It has no network to train."""

    def __init__(
        self,
        problem: Problem,
        log_w_expert: Tensor,
        config: TrainConfig,
        generator: torch.Generator,
    ) -> None:
        """Start from small random mean features; between equal ones all forces would be zero."""
        self._features = problem.discriminator_input
        self._log_w_expert = log_w_expert
        self._problem = problem
        self._config = config
        self._reach = config.reach
        size = (config.skills, self._features.shape[1])
        self.expected = 0.1 * torch.randn(size, generator=generator).to(problem.device)

    def start(self, clusters: Clusters) -> None:
        """Start from the mean features of clusters, if `discriminator.start` asks for them."""
        if self._config.discriminator.start != "clusters":
            return
        rows = torch.arange(self._problem.num_rows, device=self._problem.device)
        self.fit(rows, clusters.log_weights(self._problem, self._log_w_expert))

    def fit(self, rows: Tensor, log_w: Tensor, submit: Submit = call_at_once) -> dict[str, float]:
        """Compute the mean features of every skill."""
        self.expected = (log_w.exp() @ self._features[rows].double()).float()
        _, distance = equations.nearest(self.expected)
        return {"skills/distance": float(distance.mean())}

    def term(self, rows: Tensor, outer: int) -> Tensor:
        """Reward for features that lead away from the nearest skill; `outer` is not used."""
        _, distance = equations.nearest(self.expected)
        strength = equations.van_der_waals(distance, self._reach)
        reward = equations.successor_reward(self._features[rows], self.expected, strength)
        return reward / len(self.expected)

    def parts(self) -> dict[str, Any]:
        """Mean features."""
        return {"features": self}

    def state_dict(self) -> dict[str, Tensor]:
        """Return the mean features."""
        return {"expected": self.expected}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continue from what `state_dict` returned."""
        self.expected = state["expected"].to(self._features.device, copy=True)
