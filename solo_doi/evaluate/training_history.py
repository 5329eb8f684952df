"""Returns along training: policies cloned from the states a run kept, on demand, and kept beside them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from solo_doi.algorithm.cloning import clone
from solo_doi.algorithm.training import CHECKPOINTS, Training
from solo_doi.common.errors import SoloError
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.runs.run_directory import RunConfig, read_same_data

from .eval_config import EvalConfig
from .skill_evaluation import describe_skills, evaluate

if TYPE_CHECKING:
    from .skill_evaluation import Policy

SHOWN = ("return_pct_mean", "return_pct_worst", "height_std", "sf_l2_standardised", "told_apart")


def returns_over_training(
    run: Path, trained: RunConfig, expert: Policy, config: EvalConfig
) -> list[dict[str, float]]:
    """Measures of the skills at every checkpoint of a run."""
    quiet = dataclasses.replace(config, pictures=False)
    rows = []
    for outer, policy in policies_over_training(run, trained):
        described: dict[str, Any] = describe_skills(evaluate(policy, expert, quiet))
        rows.append({"outer": float(outer)} | {name: described[name] for name in SHOWN})
    return rows


def policies_over_training(run: Path, trained: RunConfig) -> list[tuple[int, SkillPolicy]]:
    """Outer step and policy of every checkpoint; what was cloned before is read."""
    training: Training | None = None
    found = []
    for checkpoint in kept_checkpoints(run):
        cached = checkpoint.with_suffix(".policy.h5")
        if not cached.is_file():
            training = training or Training(trained, *read_same_data(run, trained), run)
            _extract(training, checkpoint).write(cached)
        found.append((int(checkpoint.stem.split("_")[1]), SkillPolicy.read(cached)))
    return found


def kept_checkpoints(run: Path) -> list[Path]:
    """Return the states a run kept along its way, in order; of some only the policy may be left."""
    names = sorted({path.name.partition(".")[0] for path in (run / CHECKPOINTS).glob("outer_*")})
    found = [run / CHECKPOINTS / f"{name}.pt" for name in names]
    if not found:
        raise SoloError(
            f"{run}: kept no checkpoints. Train it with --checkpoints 1 or more; smodice keeps none."
        )
    return found


def _extract(training: Training, checkpoint: Path) -> SkillPolicy:
    doi = training.load(checkpoint)
    if doi.policy is not None:  # trained in the loop: it is there already
        return training.policy(doi.policy.network, slice(None))
    log_w = torch.cat(
        [doi.expert.log_w[None], doi.full_log_weights()]
    )  # beside the expert, as at the end of the run
    network = clone(
        training.problem, log_w, training.config.policy, training.generator, lambda _: None
    )
    return training.policy(network, slice(1, None))
