"""Returns along training: policies cloned from the states a run kept, on demand, and kept beside them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from solo_doi.algorithm.cloning import clone
from solo_doi.algorithm.training import Training
from solo_doi.algorithm.training_output import SavedState
from solo_doi.common.errors import SoloError
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.runs.run_config import RunConfig
from solo_doi.runs.run_data import read_same_data
from solo_doi.runs.run_files import RunFiles
from solo_doi.runs.run_store import RunStore

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
    store = RunStore(run)
    found = []
    for outer in kept_checkpoints(run):
        cached = store.files.checkpoint_policy(outer)
        if not cached.is_file():
            if training is None:
                data = read_same_data(run, trained)
                training = Training(trained, data.coverage, data.expert, store)
            _extract(training, store.read_checkpoint(outer)).write(cached)
        found.append((outer, SkillPolicy.read(cached)))
    return found


def kept_checkpoints(run: Path) -> list[int]:
    """Return the outer steps of a run's checkpoints; refuse a run that has none."""
    found = RunFiles(run).kept_checkpoints()
    if not found:
        raise SoloError(
            f"{run}: kept no checkpoints. Train it with --checkpoints 1 or more; smodice keeps none."
        )
    return found


def _extract(training: Training, checkpoint: SavedState) -> SkillPolicy:
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
