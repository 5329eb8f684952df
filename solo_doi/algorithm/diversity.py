"""Phase 2: measures of the difference between skills, and rewards for differing."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from .clusters import Clusters
from .discriminator import Discriminator
from .numerics.background import Submit, call_at_once
from .train_config import TrainConfig
from .training_data import Problem
from .van_der_waals import VanDerWaals


class Diversity(Protocol):
    """A learned measure of the difference between skills."""

    def start(self, clusters: Clusters) -> None:
        """Prepare for the first outer step, by one cluster of trajectories per skill.

        It is not called if a run is continued.
        """

    def fit(self, rows: Tensor, log_w: Tensor, submit: Submit = call_at_once) -> dict[str, float]:
        """Learn from transitions (B,) and every skill's log weights (Z, B); return metrics.

        Independent parts of the work are given to `submit`.
        """

    def term(self, rows: Tensor, outer: int) -> Tensor:
        """Diversity (Z, B) of transitions in an outer step."""

    def parts(self) -> dict[str, Any]:
        """Objects that change in training, with `state_dict` and `load_state_dict`."""


def make_diversity(
    problem: Problem, log_w_expert: Tensor, config: TrainConfig, generator: torch.Generator
) -> Diversity:
    """Make the measure that `config.diversity` names, for an expert with these log weights."""
    if config.diversity == "van_der_waals":
        return VanDerWaals(problem, log_w_expert, config, generator)
    return Discriminator(problem, log_w_expert, config, generator)
