"""Comparison of runs: medians and quartiles over seeds, and diversity against return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.common.files import write_text
from solo_doi.common.metrics_log import read_metrics
from solo_doi.runs.run_files import EVALUATION_REPORT_FILE

from .compare_episodes import write_comparison
from .report import figures
from .report.html_report import Report, format_value
from .run_groups import (
    QUARTILES,
    Metrics,
    group_labels,
    measure_values,
    median_with_quartiles,
    values_of_measured_runs,
)

WALKS = {
    "return_pct_mean": "return, mean over skills [% of expert]",
    "return_pct_worst": "return, worst skill [%]",
    "visibly_different": "visibly different skills",
    "visibly_different_pairs": "visible pairs",
    "clearly_different": "clearly different skills",
    "clearly_different_pairs": "clear pairs",
    "two_gaits": "skills with two gaits",
    "falls_pooled": "falls [% of rollouts]",
    "drift_mean": "sideways drift [m]",
    "told_apart": "told apart",
}
"""Columns of the table of walks, with their titles."""
DISTANCES = {
    "ratio_l1": "ratio l1",
    "ratio_l1_trajectory": "ratio l1 per trajectory",
    "sf_l2_standardised": "SF l2, standardised",
    "height_std": "height spread [m]",
    "mutual_information": "information [nats]",
    "silhouette": "silhouette",
    "median_kl_gap/classifier": "gap of policy KL to phi, classifier's terms, median skill [nats]",
    "largest_kl_gap/classifier": "classifier's terms, largest gap [nats]",
    "median_kl_gap/discriminator": "the gap on the discriminator's terms, median skill [nats]",
    "largest_kl_gap/discriminator": "discriminator's terms, largest gap [nats]",
}
"""Columns of the table of distances, with their titles."""
MEASURES = {**WALKS, **DISTANCES}
"""All measures of both tables."""
AXIS_LABELS = {
    "return_pct_mean": "return [% of expert]",
    "ratio_l1": "ratio l1",
    "ratio_l1_trajectory": "ratio l1 per trajectory",
    "sf_l2_standardised": "SF l2, standardised",
    "height_std": "height spread [m]",
}
"""Titles that are short enough for an axis."""
COMPARED_BARS = ("return_pct_mean", "ratio_l1_trajectory", "height_std")
TRADE_OFF = ("ratio_l1_trajectory", "sf_l2_standardised")
HISTORY = ("sf_l2_standardised", "return_pct_mean", "height_std")
"""Measures of evaluated checkpoints that are drawn over training."""
TABLE_FILE = "compare.md"
WALK_TASK = "locomotion"
"""Task whose runs are compared by their walks; metrics of walks do not name it."""

Groups = dict[str, list[Metrics]]


@dataclass(frozen=True)
class Curve:
    """A measure of a run over its outer steps."""

    group: str
    run: str
    measure: str
    points: list[tuple[float, float]]
    """Outer step and value."""


def compare(runs: Mapping[Path, Metrics], out: Path) -> Path:
    """Write table, figures and a report about evaluated runs; return the report."""
    out.mkdir(parents=True, exist_ok=True)
    labels = group_labels(runs)
    groups: Groups = {}
    for run, metrics in runs.items():
        groups.setdefault(labels[run], []).append(metrics)
    tasks = sorted({str(metrics.get("task", WALK_TASK)) for metrics in runs.values()})
    if len(tasks) > 1:
        raise SoloError(f"Runs of tasks {', '.join(tasks)} cannot be compared: name runs of one.")
    if tasks != [WALK_TASK]:
        return write_comparison(groups, out / TABLE_FILE)
    report = Report("Runs compared")
    report.text("Medians over runs of the same kind, with quartiles where there is more than one.")
    tables = []
    for measures in (WALKS, DISTANCES):
        rows = [_table_row(name, group, measures) for name, group in groups.items()]
        tables.append(_markdown(rows))
        report.table(rows)
    write_text(out / TABLE_FILE, "\n".join(tables))
    report.figure(
        _trade_off(groups, out / "trade_off"), "Return against diversity; every dot is a run."
    )
    report.figure(
        _by_group(groups, out / "groups"),
        "Return, distance of ratios and spread of heights, with quartiles.",
    )
    curves = []
    for run, metrics in runs.items():
        curves += _curves(run, metrics, labels[run])
    if curves:
        report.figure(
            _over_steps(curves, out / "over_steps"),
            "Measures of the skills over training; every line is a run.",
        )
    path = out / EVALUATION_REPORT_FILE
    report.write(path)
    return path


def _table_row(
    name: str, group: Sequence[Metrics], measures: Mapping[str, str]
) -> dict[str, object]:
    row: dict[str, object] = {"": name, "runs": len(group)}
    for measure, title in measures.items():
        row[title] = median_with_quartiles(group, measure)
    return row


def _markdown(rows: Sequence[Mapping[str, object]]) -> str:
    """Return a table in Markdown."""
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    for row in rows:
        cells = " | ".join(map(format_value, row.values()))
        lines.append(f"| {cells} |")
    return "\n".join(lines) + "\n"


def _curves(run: Path, metrics: Metrics, group: str) -> list[Curve]:
    """Return the ratio distance from the run's log, and measures of evaluated checkpoints."""
    sources = {"ratio_l1": read_metrics(run)}
    for measure in HISTORY:
        sources[measure] = metrics.get("history", [])
    curves = []
    for measure, lines in sources.items():
        points = [(line["outer"], line[measure]) for line in lines if measure in line]
        if points:
            curves.append(Curve(group, run.name, measure, points))
    return curves


def _trade_off(groups: Groups, path: Path) -> Path:
    figure, axes = figures.panels(1, 2, height=3.0)
    rows: list[list[object]] = []
    for number, (name, group) in enumerate(groups.items()):
        returns = measure_values(group, "return_pct_mean").tolist()
        for axis, measure in zip(axes[0], TRADE_OFF, strict=True):
            diversity = measure_values(group, measure).tolist()
            axis.scatter(diversity, returns, color=figures.colour(number), label=name, s=18)
            axis.set(xlabel=MEASURES[measure], ylabel="return [% of expert]", ylim=(0, 110))
            rows += [[name, measure, *point] for point in zip(diversity, returns, strict=True)]
    axes[0, 0].legend(fontsize=7)
    return figures.save(figure, path, ["group", "measure", "diversity", "return_pct"], rows)


def _over_steps(curves: Sequence[Curve], path: Path) -> Path:
    measures: list[str] = []
    groups: list[str] = []
    for curve in curves:
        if curve.measure not in measures:
            measures.append(curve.measure)
        if curve.group not in groups:
            groups.append(curve.group)
    figure, axes = figures.panels(len(measures), height=2.8 if len(measures) == 1 else 2.0)
    axis_of = dict(zip(measures, axes[:, 0], strict=True))
    rows: list[list[object]] = []
    for curve in curves:
        steps, values = zip(*curve.points, strict=True)
        axis_of[curve.measure].plot(
            steps,
            values,
            marker="" if curve.measure == "ratio_l1" else "o",
            ms=3,
            lw=1,
            color=figures.colour(groups.index(curve.group)),
            label=curve.group,
        )
        rows += [[curve.group, curve.run, curve.measure, *point] for point in curve.points]
    for measure, axis in axis_of.items():
        axis.set(ylabel=AXIS_LABELS[measure], ylim=(0, None))
    handles, labels = axes[0, 0].get_legend_handles_labels()
    of_groups = dict(zip(labels, handles, strict=True))  # one entry per group, not per run
    axes[0, 0].legend(of_groups.values(), of_groups, fontsize=7)
    axes[-1, 0].set(xlabel="outer step")
    return figures.save(figure, path, ["group", "run", "measure", "outer", "value"], rows)


def _by_group(groups: Groups, path: Path) -> Path:
    figure, axes = figures.panels(1, len(COMPARED_BARS), height=2.6)
    rows: list[list[object]] = []
    for axis, measure in zip(axes[0], COMPARED_BARS, strict=True):
        for number, (name, group) in enumerate(groups.items()):
            values = values_of_measured_runs(group, measure)
            if not len(values):
                continue  # a run with a single skill has no diversity
            low, middle, high = np.quantile(values, QUARTILES)
            error = [[middle - low], [high - middle]]
            axis.bar(number, middle, yerr=error, color=figures.colour(number), capsize=2)
            rows.append([name, measure, low, middle, high])
        axis.set_xticks(range(len(groups)), list(groups), rotation=30, ha="right", fontsize=7)
        axis.set_ylabel(AXIS_LABELS[measure], fontsize=8)
    return figures.save(figure, path, ["group", "measure", "low", "median", "high"], rows)
