"""Rollouts of all skills of a policy, and the measures computed from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from solo_doi.common.steps import step

from .eval_config import COMMANDED, EvalConfig
from .metrics import skill_diversity as diversity
from .metrics import visible_difference as visible
from .metrics.intervals import LEAST_TRIALS, wilson
from .metrics.two_gaits import two_gaits, two_gaits_plain
from .metrics.walk import Walk, measure
from .rollouts.estimated_base import estimated_task
from .rollouts.recording import Recording, evaluation_task, record

SUCCESS_SPEED = 0.8
"""Share of the commanded velocity that a robot must reach, without a fall, to succeed."""


class Policy(Protocol):
    """A policy with skills: SkillPolicy, MaskedPolicy or Bundle."""

    @property
    def num_skills(self) -> int:
        """Number of skills."""

    def mean_action(self, observation: np.ndarray, skill: int) -> np.ndarray:
        """Return deterministic raw actions of raw observations."""


@dataclass(frozen=True)
class Evaluation:
    """Walks of all skills, and of the expert in the same domains."""

    expert: Walk
    walks: list[Walk]
    """One walk per skill."""
    films: list[Recording]
    """Recording of one undisturbed robot per skill; empty if no pictures are drawn."""
    recovered: Walk | None = None
    """Walk of the expert as SMODICE recovers it from the data, if the run has it."""
    expert_film: Recording | None = None
    """Recording of one undisturbed robot that the expert drives; None if no pictures are drawn."""


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
    """Roll out one skill, with the deployed estimator in the loop if `estimator` is True.

    Simulator, randomisation and number of robots default to those of the configuration.
    """
    make_task = estimated_task if estimator else evaluation_task
    task = make_task(
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
    """Roll out every skill, the expert, and the expert as SMODICE recovers it."""
    skills = range(policy.num_skills)
    films = []
    expert_film = None
    if config.pictures:
        step("films of the skills")
        films = [roll_out(policy, skill, config, "mujoco", "none", 1) for skill in skills]
        expert_film = roll_out(expert, 0, config, "mujoco", "none", 1)
    step(f"{config.episodes} rollouts of the expert")
    expert_walk = measure(roll_out(expert, 0, config), COMMANDED)
    walks = []
    for skill in skills:
        step(f"{config.episodes} rollouts of skill {skill}, the last is {policy.num_skills - 1}")
        walks.append(measure(roll_out(policy, skill, config), COMMANDED))
    recovered_walk = None
    if recovered is not None:
        step(f"{config.episodes} rollouts of the expert that SMODICE recovers")
        recovered_walk = measure(roll_out(recovered, 0, config), COMMANDED)
    return Evaluation(
        expert=expert_walk,
        walks=walks,
        films=films,
        recovered=recovered_walk,
        expert_film=expert_film,
    )


def describe_skills(evaluation: Evaluation) -> dict[str, Any]:
    """Return all measures of the skills, under their names in metrics.json."""
    expert = evaluation.expert
    walks = evaluation.walks
    skills = [_describe_skill(number, walk, expert) for number, walk in enumerate(walks)]
    described: dict[str, Any] = {
        "expert": expert.averages() | {"success": success(expert)},
        "skills": skills,
        "falls_pooled": pooled_falls(walks),
        "drift_mean": float(np.mean([skill["drift"] for skill in skills])),
        **_coherence(skills),
    }
    if evaluation.recovered is not None:
        vx_pct = 100 * evaluation.recovered.vx.mean() / expert.vx.mean()
        described["smodice"] = _compare(evaluation.recovered, expert) | {"vx_pct": float(vx_pct)}
    if len(walks) == 1:  # diversity needs two skills
        return described
    scale = feature_scale(expert)
    recognition = diversity.recognise_skills(walks, scale)
    returns = [skill["return_pct"] for skill in skills]
    return described | {
        "return_pct_mean": float(np.mean(returns)),
        "return_pct_worst": float(np.min(returns)),
        "sf_l2": diversity.successor_distance(walks),
        "sf_l2_standardised": diversity.successor_distance(walks, scale),
        "silhouette": diversity.silhouette(walks, scale),
        "height_std": float(np.std([skill["height_mean"] for skill in skills])),
        "told_apart": recognition.accuracy,
        "mutual_information": recognition.information,
        **_differences(walks),
        "spread": visible.spread(walks),
    }


def _differences(walks: list[Walk]) -> dict[str, Any]:
    """Return skills that walk, and groups and numbers of pairs that differ by both rules."""
    found: dict[str, Any] = {
        "walking": visible.walking(walks),
        "pairs": len(walks) * (len(walks) - 1) // 2,
    }
    rules = {"visibly_different": visible.VISIBLY, "clearly_different": visible.CLEARLY}
    for name, rule in rules.items():
        pairs = visible.different_pairs(walks, rule)
        found[name] = visible.largest_group(walks, pairs)
        found[f"{name}_pairs"] = len(pairs)
    return found


def _coherence(skills: list[dict[str, Any]]) -> dict[str, list[int] | None]:
    """Return the skills with two gaits by both rules, and those with too few upright rollouts.

    Lists by the rules are None if no skill was judged.
    """
    not_judged = [skill["skill"] for skill in skills if skill["two_gaits_in"] is None]
    found: dict[str, list[int] | None] = {"two_gaits_not_judged": not_judged}
    for name in ("two_gaits", "two_gaits_plain"):
        flagged = [skill["skill"] for skill in skills if skill[f"{name}_in"]]
        found[name] = flagged if len(not_judged) < len(skills) else None
    return found


def pooled_falls(walks: list[Walk]) -> dict[str, Any]:
    """Return the falls in all rollouts of all skills, with a 95 % interval of their share."""
    falls = sum(int(walk.fallen.sum()) for walk in walks)
    rollouts = sum(map(len, walks))
    return {
        "falls": falls,
        "rollouts": rollouts,
        "share": falls / rollouts,
        "interval": wilson(falls, rollouts),
        "few_rollouts": rollouts < LEAST_TRIALS,
    }


def _describe_skill(number: int, walk: Walk, expert: Walk) -> dict[str, Any]:
    """Return the measures of one skill."""
    return {
        "skill": number,
        **_compare(walk, expert),
        "two_gaits_in": two_gaits(walk),
        "two_gaits_plain_in": two_gaits_plain(walk),
    }


def _compare(walk: Walk, expert: Walk) -> dict[str, Any]:
    """Return the measures of a walk, with its return in percent of the expert's."""
    return {
        **walk.averages(),
        "return_pct": float(100 * walk.reward.mean() / expert.reward.mean()),
        "success": success(walk),
        "intervals": walk.intervals(expert),
    }


def feature_scale(expert: Walk) -> np.ndarray:
    """Return the deviation of each successor feature over the expert's rollouts.

    1 for constant ones.
    """
    std = expert.successor.std(0)
    return np.where(std < 1e-9, 1.0, std)


def success(walk: Walk) -> float:
    """Return the share of rollouts that succeed."""
    return float((~walk.fallen & (walk.vx >= SUCCESS_SPEED * COMMANDED)).mean())
