"""Problems of a few transitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from solo_doi.algorithm.part_configs import (
    ClassifierConfig,
    DiscriminatorConfig,
    MultiplierConfig,
)
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.algorithm.training_data import Problem
from solo_doi.data.transitions import Transitions
from tests.data.datasets import made_up_transitions

CPU = torch.device("cpu")
EVERYTHING = ("observation",)
PLAIN_DISCRIMINATOR: dict[str, Any] = {
    "terms": EVERYTHING,
    "average": 1,
    "swing_terms": (),
    "held_out": 0.0,
    "noise": 0.0,
    "background": 0.0,
    "start": "random",
}
"""Settings of a discriminator as printed in the paper, which sees the whole state."""


def plain_discriminator(**changes: Any) -> DiscriminatorConfig:  # any setting
    """Return settings of a discriminator as printed in the paper, with changes."""
    return DiscriminatorConfig(**(PLAIN_DISCRIMINATOR | changes))


def seeded(seed: int = 0) -> torch.Generator:
    """Return a new random generator."""
    return torch.Generator().manual_seed(seed)


def small_config(**changes: Any) -> TrainConfig:  # any setting
    """Return settings as printed in the paper.

    Classifier and discriminator see the whole state, unchanged.
    """
    plain = {
        "trajectory_power": 0.0,
        "data_pull": 1.0,
        "classifier": ClassifierConfig(terms=EVERYTHING, average=1),
        "discriminator": plain_discriminator(),
        "multiplier": MultiplierConfig(method="gradient"),
    }
    return TrainConfig(**(plain | changes))


def even(problem: Problem) -> Tensor:
    """Return the log weights (N,) of an expert with the same weight for all transitions."""
    return torch.full((problem.num_rows,), -math.log(problem.num_rows), dtype=torch.float64)


def ragged(lengths: Sequence[int], *, linked: bool = True) -> Transitions:
    """Return trajectories of these lengths.

    If `linked` is false, the next state of a transition differs from the state of the next
    transition.
    """
    data = made_up_transitions(lengths)
    return (
        data
        if linked
        else replace(data, next_observations=data.next_observations + np.float32(0.25))
    )


def table(
    observations: np.ndarray, actions: np.ndarray | None = None, length: int = 1
) -> Transitions:
    """Return transitions from given states (N, size), in trajectories of one length.

    The last state of a trajectory is its own successor.
    """
    observations = np.asarray(observations, dtype=np.float32)
    rows = len(observations)
    ends = np.arange(rows) % length == length - 1
    return Transitions(
        observations=observations,
        next_observations=np.where(ends[:, None], observations, np.roll(observations, -1, axis=0)),
        actions=np.zeros((rows, 1), dtype=np.float32)
        if actions is None
        else np.asarray(actions, dtype=np.float32),
        rewards=np.zeros(rows, dtype=np.float32),
        terminals=np.zeros(rows, dtype=bool),
        timeouts=ends,
        starts=np.arange(0, rows, length),
        terms={"observation": slice(0, observations.shape[1])},
    )


def build(
    data: Transitions, config: TrainConfig | None = None, expert: Transitions | None = None
) -> Problem:
    """Build a problem; by default the data also serve as the expert's."""
    return Problem.build(data, data if expert is None else expert, config or small_config(), CPU)
