"""Sources of an evaluation: a run of solo-train, a bundle of solo-export, or a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from solo_doi.common.errors import SoloError
from solo_doi.common.files import reason
from solo_doi.common.untrusted import open_hdf5
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.dominic_checkpoint import read_policy
from solo_doi.runs.run import Run, load_run
from solo_doi.runs.run_config import GYM, RunConfig
from solo_doi.runs.run_files import RunFiles
from solo_doi.runs.run_store import RATIOS_OF_SKILLS
from solo_doi.solo12.observation import LAYOUTS

from .eval_config import EvalConfig, is_bundle, is_checkpoint, is_run
from .skill_evaluation import Policy
from .training_history import checkpoint_steps_of_run

FROM_TRAINING = (
    "phi",
    "sigma",
    "ratio_l1",
    "ratio_l1_trajectory",
    "held_out_accuracy",
    "effective_share",
    "warnings",
)
"""Entries of the run's summary that metrics.json repeats."""
WITHOUT_RATIOS = "Train the run again, or remove the file to evaluate without its figure."
TASK = "locomotion"
"""Task of the evaluation."""


@dataclass(frozen=True)
class Source:
    """Policies to evaluate, and the record of their training."""

    path: Path
    policy: Policy
    recovered: Policy | None
    """The expert as SMODICE recovers it from the data, if the run has it."""
    trained: RunConfig | None
    """Settings of the run; None for a bundle or a checkpoint."""
    description: dict[str, Any]
    """Entries of metrics.json: name of the run, its settings, and numbers from its training."""


def policy_file(path: Path) -> Path:
    """Return the file that holds the skills of a run, bundle or checkpoint."""
    if is_run(path):
        return RunFiles(path).policy
    return path


def read_source(path: Path, config: EvalConfig) -> Source:
    """Read a run, a bundle or a checkpoint; refuse one that cannot be evaluated."""
    if config.history and not is_run(path):
        raise SoloError(
            f"{path}: a single file has no checkpoints of a training. Use --history on a run."
        )
    if is_bundle(path):
        return _read_bundle(path)
    if is_checkpoint(path):
        return _read_checkpoint(path)
    run = load_run(path)
    _ = run.summary  # refuses a run that has not finished
    policy = run.policy
    trained = run.config
    if trained.task == GYM:
        raise SoloError(
            f"{path}: trained for task {GYM!r}, which has no simulator. Data of Gymnasium's "
            "environments can be trained with --task walker2d, halfcheetah, hopper or ant."
        )
    if trained.task != TASK:
        raise SoloError(
            f"{path}: trained for task {trained.task!r}, skills are evaluated at {TASK!r}."
        )
    recovered = run.expert
    _ = run.metrics  # refuses a damaged file before the evaluation starts
    if config.pictures:
        _check_ratios(run.files.ratios, policy.num_skills)
    if config.history:
        checkpoint_steps_of_run(path)
    return Source(path, policy, recovered, trained, describe_run(run))


def describe_run(run: Run) -> dict[str, Any]:
    """Return the entries of metrics.json about the training of a run."""
    trained = run.config
    description = {
        "run": run.path.resolve().name,
        "eps": trained.eps,
        "objective": trained.objective,
        "multipliers": trained.multipliers,
        "seed": trained.seed,
    }
    for name in FROM_TRAINING:
        if name in run.summary:
            description[name] = run.summary[name]
    return description


def _check_ratios(path: Path, skills: int) -> None:
    """Refuse ratios that cannot be drawn."""
    if not path.is_file():  # the shipped run has none: they are as large as the data
        return
    try:
        with open_hdf5(path) as file:
            shape = file[RATIOS_OF_SKILLS].shape
    except (OSError, KeyError, AttributeError) as error:
        raise SoloError(
            f"{path}: not the ratios of a run ({reason(error)}). {WITHOUT_RATIOS}"
        ) from error
    if len(shape) != 2 or shape[0] != skills or not shape[1]:
        raise SoloError(
            f"{path}: {RATIOS_OF_SKILLS} has shape {shape}, expected ({skills}, transitions). "
            f"{WITHOUT_RATIOS}"
        )


def _read_bundle(path: Path) -> Source:
    bundle = Bundle(path)
    if bundle.contract.task != TASK:
        raise SoloError(
            f"{path}: made for task {bundle.contract.task!r}, skills are evaluated at {TASK!r}."
        )
    made_from = bundle.contract.made_from
    exported_from = made_from.get("run") or made_from.get("checkpoint")
    description = {"run": path.name, "exported_from": exported_from}
    return Source(path, bundle, None, None, description)


def _read_checkpoint(path: Path) -> Source:
    """Read a checkpoint of solo-pretrain: the skills that data are collected with."""
    policy = read_policy(path)
    expected = LAYOUTS[TASK].size
    if policy.observation_size != expected:
        raise SoloError(
            f"{path}: takes observations of {policy.observation_size} numbers, skills are "
            f"evaluated at {TASK!r}, which has {expected}."
        )
    return Source(path, policy, None, None, {"run": path.name})
