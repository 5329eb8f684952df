"""Evaluation of the skills of a source; writes metrics.json, figures and the report."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from solo_doi.common import settings as settings_files
from solo_doi.common.files import write_text
from solo_doi.common.provenance import software
from solo_doi.common.steps import step
from solo_doi.policies.dominic_checkpoint import read_policy
from solo_doi.runs.run_files import EVALUATION_METRICS_FILE, EVALUATION_REPORT_FILE

from .cache import made_from, measured_divergence
from .data_trajectories import trajectory_features
from .definitions import DEFINITIONS, MEASURES_VERSION
from .eval_config import COMMANDED, EvalConfig
from .metrics import skill_diversity as diversity
from .metrics.walk import Walk, measure
from .policy_divergence import policy_divergence
from .run_page import SkillMap, write_page
from .selection import TransferRow, transfer, transfer_metrics
from .skill_evaluation import (
    Evaluation,
    Policy,
    describe_skills,
    evaluate,
    feature_scale,
    roll_out,
)
from .source import Source, read_source
from .source_data import MissingData, MissingDataError, SourceData, read_source_data
from .training_history import returns_over_training

EXPERT_ROBOTS = 200
"""Rollouts of the expert that the UMAP of successor features is fitted on."""


def write_evaluation(
    run: Path,
    expert_file: Path,
    config: EvalConfig,
    out: Path,
    earlier: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Evaluate, write all results into `out` and return the content of metrics.json.

    Transfer table, training history and divergences are copied from `earlier` metrics where these
    have them.
    """
    config.check()
    earlier = earlier or {}
    source = read_source(run, config)
    expert = read_policy(expert_file)
    evaluation = evaluate(source.policy, expert, config, source.recovered)
    step("measures of walks and differences")
    metrics: dict[str, Any] = {
        **source.description,
        "evaluation": settings_files.to_dict(config),
        "made_from": made_from(run, expert_file),
        **describe_skills(evaluation),
        "definitions": DEFINITIONS,
        "measures": MEASURES_VERSION,
        "software": software(),
    }
    lacks_divergence = config.divergence and not measured_divergence(earlier)
    data = _read_data(source, needed=config.pictures or lacks_divergence)
    metrics |= _requested_parts(source, expert, config, data, earlier)
    if config.pictures:
        step("map of successor features")
        skill_map = _skill_map(evaluation, expert_file, config, data)
        step("report with figures")
        write_page(source, evaluation, skill_map, config, metrics, out / EVALUATION_REPORT_FILE)
    else:
        # An existing report is of another policy. For this policy, pictures would be requested.
        (out / EVALUATION_REPORT_FILE).unlink(missing_ok=True)
    metrics = _finite_metrics(metrics)
    write_text(out / EVALUATION_METRICS_FILE, json.dumps(metrics, indent=1, allow_nan=False) + "\n")
    return metrics


def _requested_parts(
    source: Source,
    expert: Policy,
    config: EvalConfig,
    data: SourceData | MissingData,
    earlier: Mapping[str, Any],
) -> dict[str, Any]:
    """Return divergences, transfer table and training history, as far as they are requested."""
    parts: dict[str, Any] = {}
    if config.divergence:
        step("divergence of the policies from the expert")
        divergence = measured_divergence(earlier)
        parts["policy_divergence"] = divergence or _divergence(source, data, config)
    if config.transfer:
        step("transfer between simulators")
        rows = [TransferRow(**row) for row in earlier.get("transfer", [])]
        parts |= transfer_metrics(rows or transfer(source.policy, config), config)
    if config.history and source.trained is not None:
        step("returns over training")
        parts["history"] = earlier.get("history") or returns_over_training(
            source.path, source.trained, expert, config
        )
    return parts


def _read_data(source: Source, *, needed: bool) -> SourceData | MissingData:
    """Return the data of a run, or the reason why they are missing."""
    if not needed:
        return MissingData("not needed")
    try:
        return read_source_data(source)
    except MissingDataError as error:
        return MissingData(str(error))


def _divergence(
    source: Source, data: SourceData | MissingData, config: EvalConfig
) -> dict[str, Any]:
    """Return the divergences of all policies from the expert, or why they are not measured."""
    if isinstance(data, MissingData):
        return {"not_measured": data.reason}
    return policy_divergence(source, data, config)


def _skill_map(
    evaluation: Evaluation, expert_file: Path, config: EvalConfig, data: SourceData | MissingData
) -> SkillMap:
    """Return UMAP points of expert, skills, recovered expert and data, for a figure.

    Empty for one skill.
    """
    if len(evaluation.walks) == 1:
        return SkillMap({})
    # Only settings that matter, so that the cache below is used by all runs of a comparison.
    settings = EvalConfig(
        sim=config.sim, randomisation=config.randomisation, steps=config.steps, seed=config.seed
    )
    expert = expert_walk(expert_file.resolve(), settings, EXPERT_ROBOTS)
    features = {f"skill {skill}": walk.successor for skill, walk in enumerate(evaluation.walks)}
    if evaluation.recovered is not None:
        features["SMODICE"] = evaluation.recovered.successor
    of_data = _data_features(data, config)
    if isinstance(of_data, np.ndarray):
        features["data"] = of_data
    points = diversity.embed(
        expert.successor, list(features.values()), feature_scale(expert), config.seed
    )
    without_data = of_data.reason if isinstance(of_data, MissingData) else ""
    return SkillMap(dict(zip(("expert", *features), points, strict=True)), without_data)


def _data_features(data: SourceData | MissingData, config: EvalConfig) -> np.ndarray | MissingData:
    """Return successor features of the data's trajectories, or why there are none."""
    if isinstance(data, MissingData):
        return data
    try:
        return trajectory_features(data.coverage, config.seed)
    except MissingDataError as error:
        return MissingData(str(error))


@lru_cache(maxsize=1)  # equal for all runs of a comparison, and takes several seconds
def expert_walk(expert_file: Path, config: EvalConfig, robots: int) -> Walk:
    """Roll out the expert with many robots."""
    return measure(roll_out(read_policy(expert_file), 0, config, robots=robots), COMMANDED)


def _finite_metrics(metrics: Mapping[str, object]) -> dict[str, Any]:
    """Replace NaN and infinity by None: standard JSON has neither."""
    return {name: _finite(value) for name, value in metrics.items()}


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return _finite_metrics(value)
    if isinstance(value, list | tuple):
        return list(map(_finite, value))
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
