"""Which skills are robust: rollouts in both simulators, nominal and randomised, with the base known and estimated."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .eval_config import COMMANDED, EvalConfig
from .metrics.walk import measure
from .skill_evaluation import SUCCESS_SPEED, Policy, roll_out, success

CONDITIONS = tuple(
    itertools.product(("mujoco", "pybullet"), ("none", "robust"), ("known", "estimated"))
)
"""Where transfer is looked at: simulator, randomisation, and how velocity and tilt of the base are come by."""
ROBUST_SHARE = 0.9
"""A skill is selected if this share of its rollouts succeeds, in every condition."""


def transfer(policy: Policy, config: EvalConfig) -> list[dict[str, Any]]:
    """Velocity, falls and success of every skill in every condition."""
    rows = []
    for sim, randomisation, base in CONDITIONS:
        estimator = base == "estimated"
        robots = config.estimator_episodes if estimator else config.episodes
        for skill in range(policy.num_skills):
            walk = measure(
                roll_out(policy, skill, config, sim, randomisation, robots, estimator=estimator),
                COMMANDED,
            )
            numbers = {
                "vx": float(walk.vx.mean()),
                "falls": int(walk.fallen.sum()),
                "success": success(walk),
            }
            place = {"sim": sim, "randomisation": randomisation, "base": base}
            rows.append({**place, "skill": skill, "rollouts": robots, **numbers})
    return rows


def selection(rows: list[dict[str, Any]], config: EvalConfig) -> dict[str, Any]:
    """Which skills are robust, and all that the choice rests on: conditions, thresholds and rollouts."""
    places = [
        {name: row[name] for name in ("sim", "randomisation", "base", "rollouts")} for row in rows
    ]
    conditions = [place for number, place in enumerate(places) if place not in places[:number]]
    named = ", ".join(
        "{sim} {randomisation} {base} ({rollouts})".format(**place) for place in conditions
    )
    return {
        "selected": select(rows),
        "rule": f"at least {ROBUST_SHARE:.0%} of rollouts at {SUCCESS_SPEED * COMMANDED:.2g} m/s or more without a "
        f"fall, {COMMANDED:g} m/s commanded, in each of {len(conditions)} conditions of simulator, randomisation and "
        f"base (number of rollouts, {config.steps} control steps each, seed {config.seed}): {named}",
        "least_success": ROBUST_SHARE,
        "least_vx": SUCCESS_SPEED * COMMANDED,
        "commanded": COMMANDED,
        "steps": config.steps,
        "seed": config.seed,
        "conditions": conditions,
        "worst_success": [share for _, share in sorted(worst_success(rows).items())],
    }


def select(rows: list[dict[str, Any]]) -> list[int]:
    """Return the robust skills: enough rollouts succeed, in every condition."""
    return [skill for skill, share in sorted(worst_success(rows).items()) if share >= ROBUST_SHARE]


def transfer_score(rows: list[dict[str, Any]]) -> float:
    """Mean over skills of the share of rollouts that succeed in the skill's worst condition."""
    return float(np.mean(list(worst_success(rows).values())))


def worst_success(rows: list[dict[str, Any]]) -> dict[int, float]:
    """Share of rollouts of every skill that succeed where fewest do."""
    worst: dict[int, float] = {}
    for row in rows:
        worst[row["skill"]] = min(row["success"], worst.get(row["skill"], 1.0))
    return worst
