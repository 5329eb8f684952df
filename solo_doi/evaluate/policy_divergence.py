"""KL divergence of each policy's own states from the expert's, beside phi of the ratios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from solo_doi.algorithm.ratios import averaged_by_trajectory
from solo_doi.algorithm.training_data import Scale

from .eval_config import EvalConfig
from .metrics.mixture import States
from .metrics.state_divergence import Divergence, StateDensity, kl_divergence
from .rollouts.recording import Recording
from .skill_evaluation import roll_out
from .source import Source
from .source_data import MissingDataError, SourceData
from .state_projection import Projection, projections

LEAST_STATES = 10
"""Smallest number of states of a policy, as a multiple of the dimension of a state."""
LEAST_TRAJECTORIES = 3
"""Smallest number of trajectories of policy and expert, as a multiple of the dimension of a state.
States of one trajectory are much alike. With this many trajectories, the bias is small (tests)."""
KEPT_WEIGHT = 0.999
"""Share of the weight that the expert's states must have; rows of less weight are left out."""
MOST_DIVERGENCE_STATES = 4000
"""Largest number of the expert's states; of more, some are drawn evenly."""


def policy_divergence(source: Source, data: SourceData, config: EvalConfig) -> dict[str, Any]:
    """Return KL(policy || expert) of every skill of a run [nats], ready for metrics.json.

    A projection with too few states or trajectories has the reason under `not_measured` instead.
    """
    found: dict[str, dict[str, Any]] = {}
    references: dict[str, References] = {}
    for name, projection in projections(data.trained).items():
        try:
            references[name] = _references(name, projection, data)
            _check_rollouts(projection, config, references[name].size)
            found[name] = {}
        except MissingDataError as error:
            found[name] = {"not_measured": str(error)}
            references.pop(name, None)
    policy = source.policy
    for skill in range(policy.num_skills):
        if not references:
            break
        recording = roll_out(policy, skill, config, randomisation=data.randomisation)
        for name, reference in references.items():
            for density, estimate in reference.divergences(recording, data.coverage.terms).items():
                value, deviation = estimate or (None, None)
                found[name].setdefault(density, []).append(value)
                found[name].setdefault(f"{density}_error", []).append(deviation)
    phi = source.description.get("phi", [])
    for name in references:
        if len(phi) == policy.num_skills:
            found[name]["minus_phi"] = _differences(found[name]["expert"], phi)
    return {"randomisation": data.randomisation, "rollouts": config.episodes, **found}


@dataclass(frozen=True)
class References:
    """Densities of the expert's states in one projection."""

    projection: Projection
    """Numbers of a state."""
    scale: Scale
    """Scale of the coverage data."""
    densities: dict[str, StateDensity]
    """Densities by the name of their source: `expert` or `demonstrations`."""

    @property
    def size(self) -> int:
        """Dimension of a state."""
        return len(self.scale.mean)

    def divergences(
        self, recording: Recording, terms: dict[str, slice]
    ) -> dict[str, Divergence | None]:
        """Return the divergence of a policy's states from each; None if too few did not fall."""
        states = self.projection.of_recording(recording, terms)
        trajectories = len(np.unique(states.trajectory))
        if _too_few(len(states), trajectories, self.size):
            return dict.fromkeys(self.densities)
        scaled = States(self.scale(states.values), states.weights, states.trajectory)
        density = StateDensity(scaled)
        return {name: kl_divergence(density, other) for name, other in self.densities.items()}


def _references(name: str, projection: Projection, data: SourceData) -> References:
    """Return the recovered expert's states, and demonstrations for the classifier's terms."""
    coverage = data.coverage
    values = projection.of_data(coverage, "the coverage data")
    scale = Scale.of(values)
    rows = projection.rows(coverage.starts, len(values))
    weights = expert_weights(data)
    rows = heavy_rows(rows, weights)
    recovered = States(scale(values[rows]), weights[rows], coverage.trajectory[rows])
    least = LEAST_TRAJECTORIES * values.shape[1]
    if recovered.effective_trajectories < least:
        raise MissingDataError(
            f"the recovered expert rests on {recovered.effective_trajectories:.0f} trajectories, "
            f"too few for {values.shape[1]} numbers: expected {least}"
        )
    densities = {"expert": StateDensity(recovered)}
    if name == "classifier":
        densities |= _demonstrations(projection, data, scale)
    return References(projection, scale, densities)


def expert_weights(data: SourceData) -> np.ndarray:
    """Return the weights of the recovered expert as cloning has them, with mean one, (N,).

    Cloning gives every row the mean weight of its trajectory, which one policy made. Weights of
    single rows prefer the moments at which a walk is closest to the demonstrations. A policy
    cannot visit these alone: every policy is 10 nats or more away from them.
    """
    weights = np.exp(data.log_weights - data.log_weights.max())
    if data.trained.policy.trajectory_weights:
        trajectory = torch.from_numpy(data.coverage.trajectory)
        rows = torch.from_numpy(weights)[None]
        weights = averaged_by_trajectory(rows, trajectory, trajectory.bincount())[0].numpy()
    return weights / weights.mean()


def _demonstrations(
    projection: Projection, data: SourceData, scale: Scale
) -> dict[str, StateDensity]:
    """Return the density of the demonstrations; empty if there are too few trajectories."""
    expert = data.demonstrations
    values = projection.of_data(expert, "the expert data")
    if len(expert.starts) < LEAST_TRAJECTORIES * values.shape[1]:
        return {}
    rows = _at_most(projection.rows(expert.starts, len(values)))
    states = States(scale(values[rows]), np.ones(len(rows)), expert.trajectory[rows])
    return {"demonstrations": StateDensity(states)}


def heavy_rows(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the rows that have nearly all of the weight."""
    heaviest = rows[np.argsort(-weights[rows], kind="stable")]
    before = np.cumsum(weights[heaviest]) - weights[heaviest]
    return _at_most(np.sort(heaviest[before < KEPT_WEIGHT * weights[heaviest].sum()]))


def _at_most(rows: np.ndarray) -> np.ndarray:
    if len(rows) <= MOST_DIVERGENCE_STATES:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, MOST_DIVERGENCE_STATES, replace=False))


def _check_rollouts(projection: Projection, config: EvalConfig, size: int) -> None:
    """Refuse rollouts that are too few, or have too few states."""
    rollouts = config.episodes
    reason = _too_few(rollouts * projection.per_rollout(config.steps), rollouts, size)
    if reason:
        raise MissingDataError(reason)


def _too_few(states: int, rollouts: int, size: int) -> str:
    """Return why a policy's states cannot be compared; empty if they can."""
    if states < LEAST_STATES * size:
        return (
            f"{states} states of {rollouts} rollouts are too few for {size} numbers: "
            f"expected {LEAST_STATES * size}"
        )
    if rollouts < LEAST_TRAJECTORIES * size:
        return (
            f"{rollouts} rollouts are too few for {size} numbers: "
            f"expected {LEAST_TRAJECTORIES * size}"
        )
    return ""


def _differences(
    values: Sequence[float | None], others: Sequence[float | None]
) -> list[float | None]:
    """Return differences; None where a value is missing."""
    differences: list[float | None] = []
    for value, other in zip(values, others, strict=True):
        known = value is not None and other is not None
        differences.append(value - other if known else None)  # type: ignore[operator]
    return differences
