"""Evaluates the skills of a policy: rollouts to numbers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from . import diversity
from .config import COMMANDED, EvalConfig
from .estimated import estimated_task
from .rollout import Recording, evaluation_task, record
from .walk import Walk, measure

CONDITIONS = tuple(itertools.product(("mujoco", "pybullet"), ("none", "robust"), ("known", "estimated")))
"""Where transfer is looked at: simulator, randomisation, and how velocity and tilt of the base are come by."""
SUCCESS_SPEED = 0.8
"""A rollout succeeds if the robot does not fall and reaches this share of the commanded velocity."""
ROBUST_SHARE = 0.9
"""A skill is selected if this share of its rollouts succeeds, in every condition."""


class Policy(Protocol):
    """A policy with skills, as read from any of our files."""

    @property
    def num_skills(self) -> int:
        """How many skills there are."""

    def mean_action(self, observation: np.ndarray, skill: int) -> np.ndarray:
        """Deterministic raw actions of raw observations."""


@dataclass(frozen=True)
class Evaluation:
    """Rollouts of skills, and of the expert in the same domains."""

    expert: Walk
    walks: list[Walk]
    films: list[Recording]
    """One undisturbed robot per skill."""


def roll_out(
    policy: Policy,
    skill: int,
    config: EvalConfig,
    sim: str = "",
    randomisation: str = "",
    robots: int = 0,
    *,
    estimator: bool = False,
) -> Recording:
    """Roll one skill out, with the deployed estimator in the loop or not; the configuration gives what is not given."""
    make = estimated_task if estimator else evaluation_task
    task = make(sim or config.sim, robots or config.episodes, randomisation or config.randomisation, config.seed)
    with task.simulator:
        return record(task, lambda seen: policy.mean_action(seen.astype(np.float32), skill), config.steps)


def evaluate(policy: Policy, expert: Policy, config: EvalConfig) -> Evaluation:
    """Roll out every skill, and the expert."""
    skills = range(policy.num_skills)
    films = [roll_out(policy, skill, config, "mujoco", "none", 1) for skill in skills] if config.pictures else []
    return Evaluation(
        expert=measure(roll_out(expert, 0, config), COMMANDED),
        walks=[measure(roll_out(policy, skill, config), COMMANDED) for skill in skills],
        films=films,
    )


def describe_skills(evaluation: Evaluation) -> dict[str, Any]:
    """Every number about the skills of an evaluation, ready for JSON."""
    expert, walks = evaluation.expert, evaluation.walks
    scale = feature_scale(expert)
    reference = expert.reward.mean()
    skills: list[dict[str, Any]] = [
        {
            "skill": number,
            **walk.means(),
            "return_pct": float(100 * walk.reward.mean() / reference),
            "success": success(walk),
            "intervals": walk.intervals(),
        }
        for number, walk in enumerate(walks)
    ]
    described = {"expert": expert.means() | {"success": success(expert)}, "skills": skills}
    if len(walks) == 1:
        return described
    accuracy, information = diversity.told_apart(walks, scale)
    return described | {
        "return_pct_mean": float(np.mean([skill["return_pct"] for skill in skills])),
        "return_pct_worst": float(np.min([skill["return_pct"] for skill in skills])),
        "sf_l2": diversity.successor_distance(walks),
        "sf_l2_standardised": diversity.successor_distance(walks, scale),
        "height_std": float(np.std([skill["height_mean"] for skill in skills])),
        "told_apart": accuracy,
        "mutual_information": information,
        "visibly_different": diversity.visibly_different(walks),
    }


def feature_scale(expert: Walk) -> np.ndarray:
    """Deviation of each successor feature over the expert's rollouts; what never changes counts as is."""
    std = expert.successor.std(0)
    return np.where(std < 1e-9, 1.0, std)


def success(walk: Walk) -> float:
    """Share of rollouts that succeed."""
    return float((~walk.fallen & (walk.vx >= SUCCESS_SPEED * COMMANDED)).mean())


def transfer(policy: Policy, config: EvalConfig) -> list[dict[str, Any]]:
    """Velocity, falls and success of every skill in every condition."""
    rows = []
    for sim, randomisation, base in CONDITIONS:
        estimator = base == "estimated"
        robots = config.estimator_episodes if estimator else config.episodes
        for skill in range(policy.num_skills):
            walk = measure(roll_out(policy, skill, config, sim, randomisation, robots, estimator=estimator), COMMANDED)
            numbers = {"vx": float(walk.vx.mean()), "falls": int(walk.fallen.sum()), "success": success(walk)}
            place = {"sim": sim, "randomisation": randomisation, "base": base}
            rows.append({**place, "skill": skill, "rollouts": robots, **numbers})
    return rows


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
