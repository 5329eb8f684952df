"""Measures over training, from policies that are cloned at the checkpoints of a run."""

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
"""Measures of every checkpoint, by their names in metrics.json."""


def returns_over_training(
    run: Path, trained: RunConfig, expert: Policy, config: EvalConfig
) -> list[dict[str, float]]:
    """Return measures of the skills at every checkpoint of a run."""
    without_films = dataclasses.replace(config, pictures=False)
    rows = []
    for outer, policy in policies_over_training(run, trained):
        described: dict[str, Any] = describe_skills(evaluate(policy, expert, without_films))
        rows.append({"outer": float(outer)} | {name: described[name] for name in SHOWN})
    return rows


def policies_over_training(run: Path, trained: RunConfig) -> list[tuple[int, SkillPolicy]]:
    """Return outer step and policy of every checkpoint. Cloned policies are cached beside it."""
    training: Training | None = None
    store = RunStore(run)
    found = []
    for outer in checkpoint_steps_of_run(run):
        cached = store.files.checkpoint_policy(outer)
        if not cached.is_file():
            if training is None:
                data = read_same_data(run, trained)
                training = Training(trained, data.coverage, data.expert, store)
            _extract(training, store.read_checkpoint(outer)).write(cached)
        found.append((outer, SkillPolicy.read(cached)))
    return found


def checkpoint_steps_of_run(run: Path) -> list[int]:
    """Return the outer steps of a run's checkpoints; refuse a run that has none."""
    found = RunFiles(run).checkpoint_steps()
    if not found:
        raise SoloError(
            f"{run}: kept no checkpoints. "
            "Train it with --checkpoints 1 or more; smodice and clusters keep none."
        )
    return found


def _extract(training: Training, checkpoint: SavedState) -> SkillPolicy:
    """Return the policy of a checkpoint; clone it unless it was trained in the loop."""
    doi = training.load(checkpoint)
    if doi.policy is not None:
        return training.policy(doi.policy.network, slice(None))
    # Cloned together with the expert, as at the end of the run.
    log_w = torch.cat([doi.expert.log_w[None], doi.full_log_weights()])
    network = clone(
        training.problem, log_w, training.config.policy, training.generator, lambda _: None
    )
    return training.policy(network, slice(1, None))
