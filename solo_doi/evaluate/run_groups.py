"""Groups of runs that differ in their seed alone, and the measures that are compared."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from solo_doi.common import settings as settings_files
from solo_doi.runs.provenance import read_provenance
from solo_doi.runs.run_files import RunFiles

from .report.html_report import format_value

Metrics = dict[str, Any]
"""Content of a metrics.json."""
IGNORED_SETTINGS = frozenset(
    {
        "seed",
        "data",
        "expert",
        "torch_threads",
        "device",
        "save_every",
        "checkpoints",
        "full_passes",
    }
)
"""Settings in which runs of one group may differ."""
QUARTILES = (0.25, 0.5, 0.75)


def group_label(metrics: Metrics) -> str:
    """Return the name of a run's group: its variant in a sweep, else its main setting."""
    if "objective" not in metrics:
        return str(metrics["run"])  # a bundle has no settings of training
    swept = re.fullmatch(r"(.+)-eps[\d.]+-seed\d+", metrics["run"])
    if swept and swept[1] != "default":
        return swept[1]
    if metrics["objective"] != "doi":
        return str(metrics["objective"])
    if metrics["multipliers"] != "learned":
        return f"sigma {metrics['multipliers'].removeprefix('fixed:')}"
    return f"eps {metrics['eps']:g}"


def group_labels(runs: Mapping[Path, Metrics]) -> dict[Path, str]:
    """Return the group of every run. Settings that differ split a group and extend its name."""
    labels = {run: group_label(metrics) for run, metrics in runs.items()}
    settings = {run: compared_settings(run, metrics) for run, metrics in runs.items()}
    full_labels = {}
    for run, label in labels.items():
        same_label = [settings[other] for other in runs if labels[other] == label]
        parts = [label]
        for key, value in settings[run].items():
            if any(other.get(key) != value for other in same_label):
                parts.append(f"{key} {format_value(value)}")
        full_labels[run] = ", ".join(parts)
    return full_labels


def compared_settings(run: Path, metrics: Metrics) -> dict[str, Any]:
    """Return settings and data that define a run's group, by dotted name; empty for a bundle."""
    if "objective" not in metrics:
        return {}
    path = RunFiles(run).config
    config: Mapping[str, Any] = {"eps": metrics["eps"]}
    if path.is_file():
        config = settings_files.load(path)
    compared: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, dict):
            compared |= {f"{name}.{key}": item for key, item in value.items()}
        else:
            compared[name] = value
    for name in IGNORED_SETTINGS:
        compared.pop(name, None)
    return compared | _data_fingerprints(run)


def _data_fingerprints(run: Path) -> dict[str, str]:
    """Return data and expert by their content: the same data may lie in another place."""
    provenance = read_provenance(run)
    fingerprints: dict[str, str] = {}
    for name in ("data", "expert"):
        if name in provenance:
            found = provenance[name]
            fingerprints[name] = f"of {found['transitions']} transitions, {found['crc32']:08x}"
    return fingerprints


def measure_value(metrics: Metrics, name: str) -> float:
    """Return one measure of one run; NaN if it has none."""
    if name == "visibly_different" and name in metrics:
        return float(len(metrics[name]))
    if name.startswith("return_pct") and name not in metrics:
        return float(metrics["skills"][0]["return_pct"])  # a run with a single skill
    found = metrics.get(name)
    return float("nan") if found is None else float(found)


def measure_values(group: Sequence[Metrics], name: str) -> np.ndarray:
    """Return one measure of every run; NaN for runs that do not have it."""
    return np.array([measure_value(metrics, name) for metrics in group])


def known_values(group: Sequence[Metrics], name: str) -> np.ndarray:
    """Return one measure of all runs that have it."""
    values = measure_values(group, name)
    return values[~np.isnan(values)]


def median_with_quartiles(group: Sequence[Metrics], name: str) -> str:
    """Return median and quartiles of a measure as text."""
    values = known_values(group, name)
    if not len(values):
        return ""
    low, middle, high = map(format_value, np.quantile(values, QUARTILES).tolist())
    if len(values) == 1:
        return middle
    return f"{middle} ({low} to {high})"
