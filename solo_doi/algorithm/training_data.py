"""Data of a run as tensors: every normalised state once, and the two states of each transition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from solo_doi.common.errors import SoloError
from solo_doi.data.transitions import Transitions

from .projection import projected, swings, whole_averages
from .train_config import TrainConfig

ACTION_RANGE = 0.999
"""Largest scaled action in the data; a tanh policy cannot reach 1."""
CONSTANT = 1e-6
"""Standard deviation below which an input is constant, such as the command, and only centred."""

NO_ACTIONS = (
    "The coverage data have no actions, which training needs; only the expert data may have states "
    "alone."
)


@dataclass(frozen=True)
class Scale:
    """Affine map of inputs to zero mean and unit deviation."""

    mean: np.ndarray
    """Mean of every input."""
    std: np.ndarray
    """Standard deviation of every input; 1 if it is constant."""

    @classmethod
    def of(cls, values: np.ndarray) -> Scale:
        """Return the map that normalises `values` (N, inputs)."""
        mean = values.mean(axis=0, dtype=np.float64)
        std = values.std(axis=0, dtype=np.float64)
        std = np.where(std < CONSTANT, 1.0, std)
        return cls(mean.astype(np.float32), std.astype(np.float32))

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Normalise values."""
        return ((values - self.mean) / self.std).astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Tensors of the learning problem: N transitions between M states."""

    states: Tensor
    """Normalised states, (M, observation)."""
    here: Tensor
    """Number of the state before each transition, (N,)."""
    there: Tensor
    """Number of the state after each transition, (N,)."""
    linked: bool
    """True if every transition ends in the state in which the next of its trajectory starts."""
    first: Tensor
    """First transition of every trajectory, (trajectories,)."""
    length: Tensor
    """Transitions of every trajectory, (trajectories,)."""
    trajectory: Tensor
    """Number of each transition's trajectory, (N,)."""
    held_out: Tensor
    """True for transitions that the discriminator is not trained on, (N,)."""
    classifier_input: Tensor
    """Normalised projection for the classifier, (N, projected)."""
    expert_input: Tensor
    """The same of the expert's states, in the same scale, (expert states, projected)."""
    discriminator_input: Tensor
    """Normalised projection for the discriminator, (N, projected)."""
    actions: Tensor
    """Actions, scaled to +-1 over the range of the data, (N, action)."""
    state_scale: Scale
    """Normalisation of states."""
    action_scale: Scale
    """Scaling of actions."""

    @property
    def num_rows(self) -> int:
        """Number of transitions."""
        return len(self.here)

    @property
    def device(self) -> torch.device:
        """Device of all tensors."""
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
            raise SoloError(NO_ACTIONS)
        states, here, there, linked = state_table(data)
        scale = Scale.of(data.observations)
        classifier_terms = config.projection or config.classifier.terms
        seen = projected(data, classifier_terms, config.classifier.average, "the coverage data")
        average = config.classifier.average
        demonstrated = projected(expert, classifier_terms, average, "the expert data")
        if demonstrated.shape[1] != seen.shape[1]:
            raise SoloError(
                f"{', '.join(classifier_terms)}: {seen.shape[1]} numbers in the coverage data, "
                f"{demonstrated.shape[1]} in the expert data. Expected data of the same robot."
            )
        classifier_scale = Scale.of(seen)
        averaged = _discriminator_input(data, config)
        held_out = _held_out(len(data.starts), config)
        action_scale = _action_scale(data.actions)

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


def _discriminator_input(data: Transitions, config: TrainConfig) -> np.ndarray:
    """Return the discriminator's projection of coverage data, (N, projected)."""
    part = config.discriminator
    terms = config.projection or part.terms
    if part.whole:
        return whole_averages(data, terms, "the coverage data")
    swing_terms = swing_terms_of(config)
    return averages_and_swings(data, terms, swing_terms, part.average, "the coverage data")


def swing_terms_of(config: TrainConfig) -> tuple[str, ...]:
    """Return the discriminator's swing terms; none with a common projection."""
    if config.projection:
        return ()
    return config.discriminator.swing_terms


def averages_and_swings(
    data: Transitions,
    terms: Sequence[str],
    swing_terms: Sequence[str],
    steps: int,
    where: str,
) -> np.ndarray:
    """Return averages of terms over the last `steps` steps, and deviations of swing terms."""
    averaged = projected(data, terms, steps, where)
    if steps == 1 or not swing_terms:
        return averaged
    swung = swings(data, swing_terms, steps, where)
    return np.concatenate([averaged, swung], axis=1).astype(np.float32)


def _held_out(trajectories: int, config: TrainConfig) -> np.ndarray:
    """Choose the trajectories that the discriminator is not trained on, (trajectories,)."""
    # Its own generator: the choice must not change any other random number of the run.
    numbers = np.random.default_rng(config.seed).random(trajectories)
    held_out = numbers < config.discriminator.held_out
    if held_out.all():  # with few trajectories, some must remain for training
        return np.zeros_like(held_out)
    return held_out


def _action_scale(actions: np.ndarray) -> Scale:
    """Return the map of the data's range of actions to +-`ACTION_RANGE`."""
    low = actions.min(axis=0)
    high = actions.max(axis=0)
    return Scale((low + high) / 2, np.maximum((high - low) / 2, CONSTANT) / ACTION_RANGE)


def state_table(data: Transitions) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """Return states (M, observation), the states before and after each transition, and `linked`.

    If every transition ends where the next one starts, each state is kept once, which halves the
    work on values.
    """
    last = np.zeros(len(data), dtype=bool)
    last[np.append(data.starts[1:], len(data)) - 1] = True
    rows = np.arange(len(data))
    if not _is_linked(data, rows[~last]):
        states = np.concatenate([data.observations, data.next_observations])
        return states, rows, rows + len(data), False
    # One more state per trajectory: the state after its last transition.
    here = rows + data.trajectory
    states = np.empty((len(data) + len(data.starts), data.observations.shape[1]), dtype=np.float32)
    states[here] = data.observations
    states[here[last] + 1] = data.next_observations[last]
    return states, here, here + 1, True


def _is_linked(data: Transitions, rows: np.ndarray) -> bool:
    """Return True if these transitions end in the state in which the next row starts."""
    # In pieces, because one comparison of everything needs as much memory as the data.
    for piece in np.array_split(rows, 1 + len(data) // 65536):
        if not (data.next_observations[piece] == data.observations[piece + 1]).all():
            return False
    return True
