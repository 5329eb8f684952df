"""Evaluates the skills of a run or bundle and writes metrics.json, figures and the report."""

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
from solo_doi.policies.dominic_checkpoint import read_policy

from .cache import METRICS_JSON, REPORT_FILE, made_from
from .definitions import DEFINITIONS, MEASURES_VERSION
from .eval_config import COMMANDED, EvalConfig
from .metrics import skill_diversity as diversity
from .metrics.walk import Walk, measure
from .run_page import write_page
from .selection import TransferRow, transfer, transfer_metrics
from .skill_evaluation import Evaluation, describe_skills, evaluate, feature_scale, roll_out
from .source import read_source
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

    Transfer table and training history are copied from `earlier` metrics where these have them.
    """
    config.check()
    earlier = earlier or {}
    source = read_source(run, config)
    expert = read_policy(expert_file)
    evaluation = evaluate(source.policy, expert, config, source.recovered)
    metrics: dict[str, Any] = {
        **source.description,
        "evaluation": settings_files.to_dict(config),
        "made_from": made_from(run, expert_file),
        **describe_skills(evaluation),
        "definitions": DEFINITIONS,
        "measures": MEASURES_VERSION,
        "software": software(),
    }
    points = _embedding(evaluation, expert_file, config)
    if points:
        metrics["silhouette"] = diversity.silhouette(points[1 : 1 + len(evaluation.walks)])
    if config.transfer:
        rows = [TransferRow(**row) for row in earlier.get("transfer", [])]
        metrics |= transfer_metrics(rows or transfer(source.policy, config), config)
    if config.history and source.trained is not None:
        metrics["history"] = earlier.get("history") or returns_over_training(
            run, source.trained, expert, config
        )
    if config.pictures:
        write_page(source, evaluation, points, config, metrics, out / REPORT_FILE)
    else:
        # A report that is there describes another policy: that of this one would be requested.
        (out / REPORT_FILE).unlink(missing_ok=True)
    metrics = _finite_metrics(metrics)
    write_text(out / METRICS_JSON, json.dumps(metrics, indent=1, allow_nan=False) + "\n")
    return metrics


def _embedding(evaluation: Evaluation, expert_file: Path, config: EvalConfig) -> list[np.ndarray]:
    """Return UMAP points of the expert, every skill and the recovered expert.

    Empty for one skill.
    """
    if len(evaluation.walks) == 1:
        return []
    # Only settings that matter, so that the cache below is used by all runs of a comparison.
    settings = EvalConfig(
        sim=config.sim, randomisation=config.randomisation, steps=config.steps, seed=config.seed
    )
    expert = expert_walk(expert_file.resolve(), settings, EXPERT_ROBOTS)
    walks = list(evaluation.walks)
    if evaluation.recovered is not None:
        walks.append(evaluation.recovered)
    return diversity.embed(expert, walks, feature_scale(expert), config.seed)


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
