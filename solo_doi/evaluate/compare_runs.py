"""Several runs side by side: medians and quartiles over seeds, and what is gained and lost with eps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from solo_doi.common import settings as settings_files
from solo_doi.common.files import write_text
from solo_doi.common.metrics_log import read_metrics
from solo_doi.runs.provenance import read_provenance
from solo_doi.runs.run_files import RunFiles

from .report import figures
from .report.html_report import Report, format_value

MEASURES = {
    "return_pct_mean": "return, mean over skills [% of expert]",
    "return_pct_worst": "return, worst skill [%]",
    "ratio_l1": "ratio l1",
    "ratio_l1_trajectory": "ratio l1 per trajectory",
    "sf_l2_standardised": "SF l2, standardised",
    "height_std": "height spread [m]",
    "told_apart": "told apart",
    "mutual_information": "information [nats]",
    "silhouette": "silhouette",
    "visibly_different": "visibly different skills",
}
SHORT = {
    "return_pct_mean": "return [% of expert]",
    "ratio_l1": "ratio l1",
    "ratio_l1_trajectory": "ratio l1 per trajectory",
    "sf_l2_standardised": "SF l2, standardised",
    "height_std": "height spread [m]",
}
"""Labels that fit an axis."""
BARS = ("return_pct_mean", "ratio_l1_trajectory", "height_std")
UNLIKE = frozenset(
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
"""Settings that runs of one kind may differ in."""
TABLE_FILE = "compare.md"
QUARTILES = (0.25, 0.5, 0.75)


def label(metrics: dict[str, Any]) -> str:
    """Name what a run has in common with others of other seeds: its variant in a sweep, else its settings."""
    if "objective" not in metrics:
        return str(metrics["run"])  # a bundle, which does not know
    swept = re.fullmatch(r"(.+)-eps[\d.]+-seed\d+", metrics["run"])
    if swept and swept[1] != "default":
        return swept[1]
    if metrics["objective"] != "doi":
        return str(metrics["objective"])
    if metrics["multipliers"] != "learned":
        return f"sigma {metrics['multipliers'].removeprefix('fixed:')}"
    return f"eps {metrics['eps']:g}"


def labels(runs: Mapping[Path, dict[str, Any]]) -> dict[Path, str]:
    """Name every run; with the settings in which runs of one name differ, which are not of one kind then."""
    names = {run: label(metrics) for run, metrics in runs.items()}
    found = {run: settings(run, metrics) for run, metrics in runs.items()}
    for run, name in [*names.items()]:
        same = [found[other] for other in runs if label(runs[other]) == name]
        differing = [
            key
            for key, value in found[run].items()
            if any(other.get(key) != value for other in same)
        ]
        names[run] = ", ".join(
            [name, *(f"{key} {format_value(found[run][key])}" for key in differing)]
        )
    return names


def settings(run: Path, metrics: dict[str, Any]) -> dict[str, Any]:
    """All that makes a run what it is, by dotted names, but for seed, places and speed; a bundle tells nothing."""
    if "objective" not in metrics:
        return {}
    path = RunFiles(run).config
    config: Mapping[str, Any] = {"eps": metrics["eps"]}
    if path.is_file():
        config = settings_files.load(path)
    parts = {
        name: value if isinstance(value, dict) else {"": value} for name, value in config.items()
    }
    flat = {
        f"{name}.{key}".strip("."): value
        for name, part in parts.items()
        for key, value in part.items()
    }
    return {name: value for name, value in flat.items() if name not in UNLIKE} | _made_from(run)


def _made_from(run: Path) -> dict[str, str]:
    """Data and expert by content: places may differ, numbers may not."""
    origin = read_provenance(run)
    found = {name: origin[name] for name in ("data", "expert") if name in origin}
    return {
        name: f"of {one['transitions']} transitions, {one['crc32']:08x}"
        for name, one in found.items()
    }


def value(metrics: dict[str, Any], name: str) -> float:
    """One measure of one run, NaN if it has none."""
    if name == "visibly_different" and name in metrics:
        return float(len(metrics[name]))
    if name.startswith("return_pct") and name not in metrics:
        return float(metrics["skills"][0]["return_pct"])  # a single skill
    found = metrics.get(name)
    return float("nan") if found is None else float(found)


def compare(runs: Mapping[Path, dict[str, Any]], out: Path) -> Path:
    """Write table, figures and a page about evaluated runs; return the page."""
    out.mkdir(parents=True, exist_ok=True)
    groups: dict[str, list[dict[str, Any]]] = {}
    names = labels(runs)
    for run, metrics in runs.items():
        groups.setdefault(names[run], []).append(metrics)
    rows = [
        {"": name, "runs": len(group)} | {MEASURES[m]: spread(group, m) for m in MEASURES}
        for name, group in groups.items()
    ]
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(format_value(cell) for cell in row.values()) + " |" for row in rows]
    write_text(out / TABLE_FILE, "\n".join(lines) + "\n")
    report = Report("Runs compared")
    report.text("Medians over runs of the same kind, with quartiles where there is more than one.")
    report.table(rows)
    report.figure(
        _trade_off(groups, out / "trade_off"), "Return against diversity; every dot is a run."
    )
    report.figure(
        _by_group(groups, out / "groups"),
        "Return, distance of ratios and spread of heights, with quartiles.",
    )
    curves = [
        Curve(names[run], run.name, *curve)
        for run, metrics in runs.items()
        for curve in _curves(run, metrics)
    ]
    if curves:
        report.figure(
            _over_steps(curves, out / "over_steps"),
            "What skills become over training; every line is a run.",
        )
    report.write(out / "report.html")
    return out / "report.html"


def spread(group: Sequence[dict[str, Any]], name: str) -> str:
    """Median and quartiles of a measure, as text."""
    values = known(group, name)
    if not len(values):
        return ""
    low, middle, high = (format_value(float(number)) for number in np.quantile(values, QUARTILES))
    return middle if len(values) == 1 else f"{middle} ({low} to {high})"


def known(group: Sequence[dict[str, Any]], name: str) -> np.ndarray:
    """Return a measure of the runs that have it."""
    values = np.array([value(metrics, name) for metrics in group])
    return values[~np.isnan(values)]


def _trade_off(groups: dict[str, list[dict[str, Any]]], path: Path) -> Path:
    figure, axes = figures.panels(1, 2, height=3.0)
    rows = []
    for number, (name, group) in enumerate(groups.items()):
        for axis, measure in zip(
            axes[0], ("ratio_l1_trajectory", "sf_l2_standardised"), strict=True
        ):
            points = [
                (value(metrics, measure), value(metrics, "return_pct_mean")) for metrics in group
            ]
            axis.scatter(*zip(*points, strict=True), color=figures.colour(number), label=name, s=18)
            axis.set(xlabel=MEASURES[measure], ylabel="return [% of expert]", ylim=(0, 110))
            rows += [[name, measure, *point] for point in points]
    axes[0, 0].legend(fontsize=7)
    return figures.save(figure, path, ["group", "measure", "diversity", "return_pct"], rows)


@dataclass(frozen=True)
class Curve:
    """A measure of a run over its outer steps."""

    group: str
    run: str
    measure: str
    points: list[tuple[float, float]]


def _curves(run: Path, metrics: dict[str, Any]) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """Distance of ratios from the run's log; returns and features if its checkpoints were evaluated."""
    sources = {
        "ratio_l1": read_metrics(run),
        "sf_l2_standardised": metrics.get("history", []),
        "return_pct_mean": metrics.get("history", []),
        "height_std": metrics.get("history", []),
    }
    for measure, lines in sources.items():
        if points := [(line["outer"], line[measure]) for line in lines if measure in line]:
            yield measure, points


def _over_steps(curves: Sequence[Curve], path: Path) -> Path:
    measures = list(dict.fromkeys(curve.measure for curve in curves))
    groups = list(dict.fromkeys(curve.group for curve in curves))
    figure, axes = figures.panels(len(measures), height=2.8 if len(measures) == 1 else 2.0)
    for axis, measure in zip(axes[:, 0], measures, strict=True):
        for curve in (curve for curve in curves if curve.measure == measure):
            style = {
                "color": figures.colour(groups.index(curve.group)),
                "label": curve.group,
                "lw": 1,
            }
            axis.plot(
                *zip(*curve.points, strict=True),
                marker="" if measure == "ratio_l1" else "o",
                ms=3,
                **style,
            )
        axis.set(ylabel=SHORT[measure], ylim=(0, None))
    handles = dict(zip(*axes[0, 0].get_legend_handles_labels()[::-1], strict=True))  # one per label
    axes[0, 0].legend(handles.values(), handles, fontsize=7)
    axes[-1, 0].set(xlabel="outer step")
    rows = (
        [curve.group, curve.run, curve.measure, *point]
        for curve in curves
        for point in curve.points
    )
    return figures.save(figure, path, ["group", "run", "measure", "outer", "value"], rows)


def _by_group(groups: dict[str, list[dict[str, Any]]], path: Path) -> Path:
    figure, axes = figures.panels(1, len(BARS), height=2.6)
    rows = []
    for axis, measure in zip(axes[0], BARS, strict=True):
        for number, (name, group) in enumerate(groups.items()):
            values = known(group, measure)
            if not len(values):
                continue  # a single skill has no spread
            low, middle, high = np.quantile(values, QUARTILES)
            axis.bar(
                number,
                middle,
                yerr=[[middle - low], [high - middle]],
                color=figures.colour(number),
                capsize=2,
            )
            rows.append([name, measure, low, middle, high])
        axis.set_xticks(range(len(groups)), list(groups), rotation=30, ha="right", fontsize=7)
        axis.set_ylabel(SHORT[measure], fontsize=8)
    return figures.save(figure, path, ["group", "measure", "low", "median", "high"], rows)
