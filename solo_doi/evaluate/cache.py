"""Earlier evaluations: reused if settings are the same; parts that they have are never dropped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from solo_doi.common import settings as settings_files
from solo_doi.data.shard import file_hash
from solo_doi.runs.run_files import EVALUATION_METRICS_FILE, EVALUATION_REPORT_FILE, RunFiles

from .definitions import DEFINITIONS, MEASURES_VERSION
from .eval_config import EvalConfig
from .source import policy_file, read_source
from .source_data import MissingDataError, read_source_data

OPTIONAL_PARTS = {"transfer": "transfer", "history": "history", "divergence": "policy_divergence"}
"""Parts of metrics.json that are made on request only, by setting. Pictures are one more."""


def made_from(run: Path, expert_file: Path) -> dict[str, str]:
    """Return the hashes of all evaluated policies."""
    hashes = {"policy": file_hash(policy_file(run)), "expert": file_hash(expert_file)}
    recovered = RunFiles(run).expert
    if recovered.is_file():
        hashes["smodice"] = file_hash(recovered)
    return hashes


def read_earlier(run: Path, out: Path) -> dict[str, Any]:
    """Return earlier metrics of the run's present policy; empty if there are none."""
    try:
        metrics = json.loads((out / EVALUATION_METRICS_FILE).read_text())
        same_policy = metrics["made_from"]["policy"] == file_hash(policy_file(run))
        if same_policy and isinstance(metrics["evaluation"], dict):
            return metrics
    except (OSError, ValueError, KeyError, TypeError):
        pass  # absent, damaged, or written by another program: evaluated again
    return {}


def include_earlier_parts(config: EvalConfig, earlier: dict[str, Any], out: Path) -> EvalConfig:
    """Return settings that also request all parts that earlier results have.

    Otherwise a report or table would remain beside numbers of other settings.
    """
    if "transfer" in earlier and not config.transfer:
        kept = {}
        for name in ("transfer_episodes", "estimator_episodes"):
            kept[name] = earlier["evaluation"].get(name, getattr(config, name))
        config = replace(config, **kept)
    has_report = bool(earlier) and (out / EVALUATION_REPORT_FILE).is_file()
    return replace(
        config,
        transfer=config.transfer or "transfer" in earlier,
        history=config.history or "history" in earlier,
        divergence=config.divergence or bool(measured_divergence(earlier)),
        pictures=config.pictures or has_report,
    )


def has_same_settings(
    earlier: dict[str, Any], run: Path, expert_file: Path, config: EvalConfig
) -> bool:
    """Return True if earlier metrics have the same policies, definitions and settings.

    Optional parts are not compared.
    """
    expected = {
        "made_from": made_from(run, expert_file),
        "definitions": DEFINITIONS,
        "measures": MEASURES_VERSION,
    }
    for name, value in expected.items():
        if earlier.get(name) != value:
            return False
    settings = settings_files.to_dict(config)
    return _without_parts(earlier["evaluation"]) == _without_parts(settings)


def has_all_parts(earlier: dict[str, Any], run: Path, config: EvalConfig, out: Path) -> bool:
    """Return True if earlier results have every part that the settings request.

    If the divergence was not measured for lack of the run's data, it counts as missing once these
    data can be read.
    """
    if config.pictures and not (out / EVALUATION_REPORT_FILE).is_file():
        return False
    for setting, part in OPTIONAL_PARTS.items():
        if getattr(config, setting) and part not in earlier:
            return False
    if not config.divergence or measured_divergence(earlier):
        return True
    return not _has_data(run, config)


def measured_divergence(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return the divergences of the policies; empty if the data of the run were missing."""
    found: dict[str, Any] = metrics.get("policy_divergence", {})
    return {} if "not_measured" in found else found


def _has_data(run: Path, config: EvalConfig) -> bool:
    """Return True if the data of a run can be read."""
    try:
        read_source_data(read_source(run, config))
    except MissingDataError:
        return False
    return True


def _without_parts(settings: dict[str, Any]) -> dict[str, Any]:
    rest = dict(settings)
    for name in (*OPTIONAL_PARTS, "pictures"):
        rest.pop(name, None)
    return rest
