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
from .definitions import DEFINITIONS, MEASURES
from .eval_config import COMMANDED, EvalConfig
from .metrics import skill_diversity as diversity
from .metrics.walk import Walk, measure
from .run_page import write_page
from .selection import selection, transfer, transfer_score
from .skill_evaluation import Evaluation, describe_skills, evaluate, feature_scale, roll_out
from .source import read_source
from .training_history import returns_over_training

EXPERT_ROBOTS = 200
"""Rollouts of the expert that the map of successor features is fitted on."""


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
    source, expert = read_source(run, config), read_policy(expert_file)
    evaluation = evaluate(source.policy, expert, config, source.recovered)
    metrics: dict[str, Any] = {
        **source.told,
        "evaluation": settings_files.to_dict(config),
        "made_from": made_from(run, expert_file),
        **describe_skills(evaluation),
        "definitions": DEFINITIONS,
        "measures": MEASURES,
        "software": software(),
    }
    points = _map(evaluation, expert_file, config)
    if points:
        metrics["silhouette"] = diversity.silhouette(points[1 : 1 + len(evaluation.walks)])
    if config.transfer:
        rows = earlier.get("transfer") or transfer(source.policy, config)
        chosen = selection(rows, config)
        metrics |= {"transfer": rows, "transfer_score": transfer_score(rows)}
        metrics |= {"selected": chosen["selected"], "selection": chosen}
    if config.history and source.trained is not None:
        metrics["history"] = earlier.get("history") or returns_over_training(
            run, source.trained, expert, config
        )
    if config.pictures:
        write_page(source, evaluation, points, config, metrics, out / REPORT_FILE)
    else:
        (out / REPORT_FILE).unlink(missing_ok=True)  # of another policy: its own is kept up to date
    metrics = _plain(metrics)
    write_text(out / METRICS_JSON, json.dumps(metrics, indent=1, allow_nan=False) + "\n")
    return metrics


def _map(evaluation: Evaluation, expert_file: Path, config: EvalConfig) -> list[np.ndarray]:
    """Points of the expert, every skill, and SMODICE's expert on the expert's map; none of a single skill."""
    if len(evaluation.walks) == 1:
        return []
    settings = EvalConfig(
        sim=config.sim, randomisation=config.randomisation, steps=config.steps, seed=config.seed
    )
    many = many_of_the_expert(expert_file.resolve(), settings, EXPERT_ROBOTS)
    recovered = [] if evaluation.recovered is None else [evaluation.recovered]
    return diversity.embed(many, evaluation.walks + recovered, feature_scale(many), config.seed)


@lru_cache(maxsize=1)  # the same for all runs of a comparison, and several seconds each
def many_of_the_expert(expert_file: Path, config: EvalConfig, robots: int) -> Walk:
    """Roll the expert out many times."""
    return measure(roll_out(read_policy(expert_file), 0, config, robots=robots), COMMANDED)


def _plain(value: Any) -> Any:  # noqa: ANN401  # any value
    """What JSON can hold: nothing instead of NaN and infinity, which other programs refuse to read."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
