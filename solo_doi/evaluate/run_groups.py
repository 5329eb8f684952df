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
        return str(metrics["run"])  # a bundle or checkpoint has no settings of training
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
    if name.startswith("return_pct") and name not in metrics:
        return float(metrics["skills"][0]["return_pct"])  # a run with a single skill
    if "/" in name:
        return _divergence_gap(metrics, *name.split("/"))
    found = metrics.get(name)
    if found is None:
        return float("nan")
    if isinstance(found, list):  # a group of skills
        return float(len(found))
    if name == "falls_pooled":
        return 100.0 * float(found["share"])
    return float(found)


def _divergence_gap(metrics: Metrics, kind: str, terms: str) -> float:
    """Return |policy's divergence - phi| [nats]: of the median skill, or the largest."""
    gaps = metrics.get("policy_divergence", {}).get(terms, {}).get("minus_phi", [])
    known = [abs(gap) for gap in gaps if gap is not None]
    if not known:
        return float("nan")
    return float(np.max(known) if kind == "largest_kl_gap" else np.median(known))


def measure_values(group: Sequence[Metrics], name: str) -> np.ndarray:
    """Return one measure of every run; NaN for runs that do not have it."""
    return np.array([measure_value(metrics, name) for metrics in group])


def values_of_measured_runs(group: Sequence[Metrics], name: str) -> np.ndarray:
    """Return one measure of all runs that have it."""
    values = measure_values(group, name)
    return values[~np.isnan(values)]


def median_with_quartiles(group: Sequence[Metrics], name: str) -> str:
    """Return median and quartiles of a measure as text, with a remark on its basis."""
    values = values_of_measured_runs(group, name)
    if not len(values):
        return ""
    low, middle, high = map(format_value, np.quantile(values, QUARTILES).tolist())
    text = middle if len(values) == 1 else f"{middle} ({low} to {high})"
    return text + _remark(group, name)


def _remark(group: Sequence[Metrics], name: str) -> str:
    """Return a remark if some run has too few rollouts for a measure."""
    if name == "falls_pooled":
        few = any(metrics.get(name, {}).get("few_rollouts") for metrics in group)
        return ", few rollouts" if few else ""
    if name.startswith("two_gaits"):
        left_out = any(metrics.get("two_gaits_not_judged") for metrics in group)
        return ", not all judged" if left_out else ""
    return ""
