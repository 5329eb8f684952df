"""Evaluates the skills of a policy: rollouts to numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .eval_config import COMMANDED, EvalConfig
from .metrics import skill_diversity as diversity
from .metrics.walk import Walk, measure
from .rollouts.estimated_base import estimated_task
from .rollouts.recording import Recording, evaluation_task, record

SUCCESS_SPEED = 0.8
"""A rollout succeeds if the robot does not fall and reaches this share of the commanded velocity."""


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
    recovered: Walk | None = None
    """The expert as SMODICE recovered it from the data, if the run has it."""


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
    task = make(
        sim or config.sim,
        robots or config.episodes,
        randomisation or config.randomisation,
        config.seed,
    )
    with task.simulator:
        return record(
            task, lambda seen: policy.mean_action(seen.astype(np.float32), skill), config.steps
        )


def evaluate(
    policy: Policy, expert: Policy, config: EvalConfig, recovered: Policy | None = None
) -> Evaluation:
    """Roll out every skill, the expert, and the expert as it was recovered."""
    skills = range(policy.num_skills)
    films = (
        [roll_out(policy, skill, config, "mujoco", "none", 1) for skill in skills]
        if config.pictures
        else []
    )
    return Evaluation(
        expert=measure(roll_out(expert, 0, config), COMMANDED),
        walks=[measure(roll_out(policy, skill, config), COMMANDED) for skill in skills],
        films=films,
        recovered=measure(roll_out(recovered, 0, config), COMMANDED) if recovered else None,
    )


def describe_skills(evaluation: Evaluation) -> dict[str, Any]:
    """Every number about the skills of an evaluation, ready for JSON."""
    expert, walks = evaluation.expert, evaluation.walks
    scale = feature_scale(expert)
    skills = [{"skill": number, **_beside(walk, expert)} for number, walk in enumerate(walks)]
    described: dict[str, Any] = {
        "expert": expert.means() | {"success": success(expert)},
        "skills": skills,
    }
    if evaluation.recovered is not None:
        vx_pct = 100 * evaluation.recovered.vx.mean() / expert.vx.mean()
        described["smodice"] = _beside(evaluation.recovered, expert) | {"vx_pct": float(vx_pct)}
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
        "spread": diversity.spread(walks),
    }


def _beside(walk: Walk, expert: Walk) -> dict[str, Any]:
    """Numbers of a walk, and of its return beside the expert's."""
    return {
        **walk.means(),
        "return_pct": float(100 * walk.reward.mean() / expert.reward.mean()),
        "success": success(walk),
        "intervals": walk.intervals(expert),
    }


def feature_scale(expert: Walk) -> np.ndarray:
    """Deviation of each successor feature over the expert's rollouts; what never changes counts as is."""
    std = expert.successor.std(0)
    return np.where(std < 1e-9, 1.0, std)


def success(walk: Walk) -> float:
    """Share of rollouts that succeed."""
    return float((~walk.fallen & (walk.vx >= SUCCESS_SPEED * COMMANDED)).mean())
