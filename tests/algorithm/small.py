"""Problems of a few transitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from solo_doi.algorithm.part_configs import ClassifierConfig, DiscriminatorConfig
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.algorithm.training_data import Problem
from solo_doi.data.transitions import Transitions
from tests.data.datasets import made_up_transitions

CPU = torch.device("cpu")
EVERYTHING = ("observation",)


def seeded(seed: int = 0) -> torch.Generator:
    """A generator of its own."""
    return torch.Generator().manual_seed(seed)


def small_config(**changes: Any) -> TrainConfig:  # any setting
    """Classifier and discriminator see all numbers of a state as they are.

    No trajectory is held out.
    """
    plain = {
        "classifier": ClassifierConfig(terms=EVERYTHING, average=1),
        "discriminator": DiscriminatorConfig(terms=EVERYTHING, average=1, held_out=0.0),
    }
    return TrainConfig(**(plain | changes))


def ragged(lengths: Sequence[int], *, linked: bool = True) -> Transitions:
    """Trajectories of these lengths.

    Unless linked, no transition leads to the state the next one starts from.
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
    """Transitions from given states (N, size), in trajectories of one length.

    Nothing happens in any of them.
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
    """A problem in which the expert is the data unless given."""
    return Problem.build(data, data if expert is None else expert, config or small_config(), CPU)
