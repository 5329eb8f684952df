"""The data of a run as tensors: normalised states once each, and which of them every transition joins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from solo_doi.common.errors import SoloError
from solo_doi.data.transitions import Transitions

from .projection import projected
from .train_config import TrainConfig

CONSTANT = 1e-6
"""Standard deviation below which an input counts as constant and is only centred: the command, for one."""


@dataclass(frozen=True)
class Scale:
    """Affine map of inputs to zero mean and unit deviation."""

    mean: np.ndarray
    std: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray) -> Scale:
        """Measure; inputs that never change keep their scale."""
        std = values.std(axis=0, dtype=np.float64)
        return cls(
            values.mean(axis=0, dtype=np.float64).astype(np.float32),
            np.where(std < CONSTANT, 1.0, std).astype(np.float32),
        )

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Apply."""
        return ((values - self.mean) / self.std).astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What training works on; N transitions, M states."""

    states: Tensor  # (M, observation) normalised
    here: Tensor  # (N,) state of each transition
    there: Tensor  # (N,) state it leads to
    linked: bool  # every transition leads to the state the next one of its trajectory starts from
    first: Tensor  # (trajectories,) first transition of each
    length: Tensor  # (trajectories,)
    trajectory: Tensor  # (N,)
    held_out: Tensor  # (N,) of trajectories the discriminator must not learn from
    classifier_input: Tensor  # (N, projected) normalised
    expert_input: Tensor  # (expert states, projected) in the same scale
    discriminator_input: Tensor  # (N, projected) normalised
    actions: Tensor  # (N, action) in the data's range, scaled to +-1
    state_scale: Scale
    action_scale: Scale

    @property
    def num_rows(self) -> int:
        """How many transitions there are."""
        return len(self.here)

    @property
    def device(self) -> torch.device:
        """Where the tensors lie."""
        return self.states.device

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Draw transitions evenly, with replacement."""
        return torch.randint(self.num_rows, (count,), generator=generator).to(self.device)

    @classmethod
    def build(
        cls, data: Transitions, expert: Transitions, config: TrainConfig, device: torch.device
    ) -> Problem:
        """Prepare coverage data and expert states."""
        if data.actions is None:
            raise SoloError(
                "The coverage data have no actions to learn from; only the expert's may be states alone."
            )
        states, here, there, linked = state_table(data)
        scale = Scale.of(data.observations)
        classifier_terms = config.projection or config.classifier.terms
        discriminator_terms = config.projection or config.discriminator.terms
        seen = projected(data, classifier_terms, config.classifier.average, "the coverage data")
        demonstrated = projected(
            expert, classifier_terms, config.classifier.average, "the expert data"
        )
        if demonstrated.shape[1] != seen.shape[1]:
            raise SoloError(
                f"{', '.join(classifier_terms)}: {seen.shape[1]} numbers in the coverage data, {demonstrated.shape[1]} "
                "in the expert data. Expected data of the same robot."
            )
        classifier_scale = Scale.of(seen)
        averaged = projected(
            data, discriminator_terms, config.discriminator.average, "the coverage data"
        )
        low, high = data.actions.min(axis=0), data.actions.max(axis=0)
        action_scale = Scale(
            (low + high) / 2, np.maximum((high - low) / 2, CONSTANT) / ACTION_RANGE
        )

        # By the seed, but not from the generator: what is held out must not change what else is drawn.
        held_out = (
            np.random.default_rng(config.seed).random(len(data.starts))
            < config.discriminator.held_out
        )
        held_out &= not held_out.all()  # of a few trajectories, something must remain to learn from

        def tensor(array: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        return cls(
            states=tensor(scale(states)),
            here=tensor(here),
            there=tensor(there),
            linked=linked,
            first=tensor(data.starts),
            length=tensor(np.diff(data.starts, append=len(data))),
            trajectory=tensor(data.trajectory),
            held_out=tensor(held_out[data.trajectory]),
            classifier_input=tensor(classifier_scale(seen)),
            expert_input=tensor(classifier_scale(demonstrated)),
            discriminator_input=tensor(Scale.of(averaged)(averaged)),
            actions=tensor(action_scale(data.actions)),
            state_scale=scale,
            action_scale=action_scale,
        )


ACTION_RANGE = 0.999
"""Largest scaled action in the data: a tanh policy cannot reach 1."""


def state_table(data: Transitions) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """States (M, observation), for every transition the state it starts from and the one it leads to, and if linked.

    Where each transition leads to the next one's state, a state is kept once, which halves the work on values.
    """
    last = np.zeros(len(data), dtype=bool)
    last[np.append(data.starts[1:], len(data)) - 1] = True
    linked = all(  # piece by piece: at once it would take as much memory again as the data
        (data.next_observations[rows] == data.observations[rows + 1]).all()
        for rows in np.array_split(np.flatnonzero(~last), 1 + len(data) // 65536)
    )
    rows = np.arange(len(data))
    if not linked:
        return (
            np.concatenate([data.observations, data.next_observations]),
            rows,
            rows + len(data),
            False,
        )
    # One more state per trajectory: the one its last transition leads to.
    here = rows + data.trajectory
    states = np.empty((len(data) + len(data.starts), data.observations.shape[1]), dtype=np.float32)
    states[here] = data.observations
    states[here[last] + 1] = data.next_observations[last]
    return states, here, here + 1, True
