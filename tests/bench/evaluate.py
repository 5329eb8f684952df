"""Evaluation: the rollouts of a report against half a minute."""

from __future__ import annotations

from solo_doi.evaluate.eval_config import EvalConfig
from solo_doi.evaluate.shipped import SHIPPED_EXPERT, SHIPPED_RUN
from solo_doi.evaluate.skill_evaluation import describe_skills, evaluate
from solo_doi.policies.dominic_checkpoint import read_policy
from solo_doi.policies.skill_policy import SkillPolicy

from .harness import Pairs, benchmark, seconds


@benchmark(unit="s", at_most=1.0)
def eval_rollouts() -> Pairs:
    """5 skills x 30 rollouts x 250 steps and the expert's, with all numbers except the silhouette.

    The reference is 30 seconds.
    """
    policy, expert = SkillPolicy.read(SHIPPED_RUN / "policy.h5"), read_policy(SHIPPED_EXPERT)
    config = EvalConfig(episodes=30, pictures=False)
    return [
        (seconds(lambda: describe_skills(evaluate(policy, expert, config))), 30.0) for _ in range(5)
    ]
