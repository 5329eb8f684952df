"""Transfer table and selection: rollouts of every skill under eight conditions."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .eval_config import COMMANDED, EvalConfig
from .metrics.intervals import wilson
from .metrics.walk import measure
from .skill_evaluation import SUCCESS_SPEED, Policy, roll_out, success

CONDITIONS = tuple(
    itertools.product(("mujoco", "pybullet"), ("none", "robust"), ("known", "estimated"))
)
"""Conditions of the transfer table: simulator, random domains, source of base velocity and tilt."""
ROBUST_SHARE = 0.9
"""Smallest share of successful rollouts, in every condition, of a skill that is selected."""
LARGEST_DRIFT = 1.0
"""Largest mean sideways drift, in every condition, of a skill that is selected [m]."""


@dataclass(frozen=True, kw_only=True)
class TransferRow:
    """Result of one skill in one condition."""

    sim: str
    randomisation: str
    base: str
    """Source of base velocity and tilt: `known` or `estimated`."""
    skill: int
    rollouts: int
    vx: float
    """Mean forward velocity [m/s]."""
    falls: int
    fall_interval: tuple[float, float]
    """95 % interval of the share of falls."""
    success: float
    """Share of rollouts that succeed."""
    success_interval: tuple[float, float]
    """95 % interval of this share."""
    drift: float
    """Mean sideways drift of rollouts that did not fall [m]."""

    @property
    def condition(self) -> dict[str, Any]:
        """Condition and number of rollouts, as in metrics.json."""
        return {
            "sim": self.sim,
            "randomisation": self.randomisation,
            "base": self.base,
            "rollouts": self.rollouts,
        }


def transfer(policy: Policy, config: EvalConfig) -> list[TransferRow]:
    """Roll out every skill in every condition."""
    rows = []
    for sim, randomisation, base in CONDITIONS:
        estimator = base == "estimated"
        robots = config.estimator_episodes if estimator else config.transfer_episodes
        for skill in range(policy.num_skills):
            recording = roll_out(
                policy, skill, config, sim, randomisation, robots, estimator=estimator
            )
            walk = measure(recording, COMMANDED)
            falls = int(walk.fallen.sum())
            succeeded = success(walk)
            row = TransferRow(
                sim=sim,
                randomisation=randomisation,
                base=base,
                skill=skill,
                rollouts=robots,
                vx=float(walk.vx.mean()),
                falls=falls,
                fall_interval=wilson(falls, robots),
                success=succeeded,
                success_interval=wilson(round(succeeded * robots), robots),
                drift=float(walk.drift[walk.counted].mean()),
            )
            rows.append(row)
    return rows


def transfer_metrics(rows: list[TransferRow], config: EvalConfig) -> dict[str, Any]:
    """Return the entries of metrics.json: transfer table, its score and the selection."""
    chosen = selection(rows, config)
    return {
        "transfer": list(map(asdict, rows)),
        "transfer_score": transfer_score(rows),
        "selected": chosen["selected"],
        "selection": chosen,
    }


def selection(rows: list[TransferRow], config: EvalConfig) -> dict[str, Any]:
    """Return the robust skills with rule, thresholds and conditions, ready for JSON."""
    conditions: list[dict[str, Any]] = []
    for row in rows:
        if row.condition not in conditions:
            conditions.append(row.condition)
    listed = ", ".join(
        "{sim} {randomisation} {base} ({rollouts})".format(**condition) for condition in conditions
    )
    return {
        "selected": select(rows),
        "ranking": ranking(rows),
        "rule": f"at least {ROBUST_SHARE:.0%} of rollouts at {SUCCESS_SPEED * COMMANDED:.2g} m/s "
        f"or more without a fall, {COMMANDED:g} m/s commanded, and a mean sideways drift of "
        f"{LARGEST_DRIFT:g} m or less, in each of {len(conditions)} "
        "conditions of simulator, randomisation and base (number of rollouts, "
        f"{config.steps} control steps each, seed {config.seed}): {listed}. Ranked by success, "
        "then by drift, each in the skill's worst condition",
        "least_success": ROBUST_SHARE,
        "largest_drift": LARGEST_DRIFT,
        "least_vx": SUCCESS_SPEED * COMMANDED,
        "commanded": COMMANDED,
        "steps": config.steps,
        "seed": config.seed,
        "conditions": conditions,
        "worst_success": list(worst_success(rows).values()),
        "worst_drift": list(worst_drift(rows).values()),
    }


def select(rows: list[TransferRow]) -> list[int]:
    """Return the robust skills: enough successful rollouts and little drift in every condition."""
    drift = worst_drift(rows)
    chosen = []
    for skill, share in worst_success(rows).items():
        if share >= ROBUST_SHARE and drift[skill] <= LARGEST_DRIFT:
            chosen.append(skill)
    return chosen


def ranking(rows: list[TransferRow]) -> list[int]:
    """Return the robust skills, best first: by success, then by drift, in the worst condition."""
    success_of = worst_success(rows)
    drift_of = worst_drift(rows)
    return sorted(select(rows), key=lambda skill: (-success_of[skill], drift_of[skill]))


def transfer_score(rows: list[TransferRow]) -> float:
    """Return the mean over skills of the success in the skill's worst condition."""
    return float(np.mean(list(worst_success(rows).values())))


def worst_success(rows: list[TransferRow]) -> dict[int, float]:
    """Return the success of every skill in its worst condition, in the order of skills."""
    worst: dict[int, float] = {}
    for row in rows:
        worst[row.skill] = min(row.success, worst.get(row.skill, 1.0))
    return dict(sorted(worst.items()))


def worst_drift(rows: list[TransferRow]) -> dict[int, float]:
    """Return the drift of every skill in its worst condition [m], in the order of skills."""
    worst: dict[int, float] = {}
    for row in rows:
        worst[row.skill] = max(row.drift, worst.get(row.skill, 0.0))
    return dict(sorted(worst.items()))
