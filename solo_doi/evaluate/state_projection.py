"""States by which policies are compared: inputs of the training's classifier and discriminator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solo_doi.algorithm.training_data import averages_and_swings, swing_terms_of
from solo_doi.data.transitions import Transitions
from solo_doi.runs.run_config import RunConfig

from .metrics.mixture import States
from .rollouts.recording import Recording

APART = 25
"""Smallest number of control steps between two states of a trajectory: about 1.5 strides."""


@dataclass(frozen=True)
class Projection:
    """Numbers that a network of the training sees, computed over past steps."""

    terms: tuple[str, ...]
    """Observation terms that are averaged."""
    average: int
    """Number of past steps."""
    swing_terms: tuple[str, ...] = ()
    """Observation terms whose deviation over these steps is also seen."""

    @property
    def apart(self) -> int:
        """Control steps between two states of a trajectory."""
        return max(self.average, APART)

    def per_rollout(self, steps: int) -> int:
        """Return the number of states of a rollout."""
        return max(0, 1 + (steps - self.average) // self.apart)

    def rows(self, starts: np.ndarray, count: int) -> np.ndarray:
        """Return every `apart`-th row of each trajectory, from the first with a whole average."""
        lengths = np.diff(starts, append=count)
        step = np.arange(count) - np.repeat(starts, lengths) - (self.average - 1)
        return np.flatnonzero((step >= 0) & (step % self.apart == 0))

    def of_data(self, data: Transitions, where: str) -> np.ndarray:
        """Return the projection of all rows of a dataset, (N, D), as training computes it."""
        return averages_and_swings(data, self.terms, self.swing_terms, self.average, where)

    def of_recording(self, recording: Recording, terms: dict[str, slice]) -> States:
        """Return the states of rollouts that did not fall."""
        upright = ~recording.ever_fallen
        if not upright.any():
            return States(np.empty((0, 0)), np.empty(0), np.empty(0, dtype=np.int64))
        data = as_transitions(recording.observation[:, upright], terms)
        values = self.of_data(data, "the rollouts")
        rows = self.rows(data.starts, len(values))
        return States(values[rows], np.ones(len(rows)), data.trajectory[rows])


def as_transitions(observation: np.ndarray, terms: dict[str, slice]) -> Transitions:
    """Return rollouts of N robots as N trajectories of states, from observations (T, N, F)."""
    steps, robots, size = observation.shape
    seen = observation.swapaxes(0, 1).reshape(robots * steps, size)
    never = np.zeros(len(seen), dtype=bool)
    return Transitions(
        observations=seen,
        next_observations=seen,
        actions=None,
        rewards=np.zeros(len(seen)),
        terminals=never,
        timeouts=never,
        starts=np.arange(robots) * steps,
        terms=terms,
    )


def projections(trained: RunConfig) -> dict[str, Projection]:
    """Return the projections of classifier and discriminator, as training has them.

    A discriminator that sees whole trajectories has no states, so it has no projection.
    """
    classifier = trained.classifier
    discriminator = trained.discriminator
    found = {"classifier": Projection(trained.projection or classifier.terms, classifier.average)}
    if not discriminator.whole:
        terms = trained.projection or discriminator.terms
        swings = swing_terms_of(trained)
        found["discriminator"] = Projection(terms, discriminator.average, swings)
    return found
