"""Comparison of runs of tasks with scenes: measures of skills, and return against diversity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from solo_doi.common.files import write_text

from .report import figures
from .report.html_report import Report, format_value
from .run_groups import QUARTILES, Metrics

EpisodeGroups = Mapping[str, Sequence[Metrics]]
"""Runs by the name of their group."""
EPISODE_DISTANCES = ("ratio_l1", "ratio_l1_trajectory", "sf_l2", "told_apart")
"""Measures of all skills together."""
DRAWN = ("ratio_l1", "ratio_l1_trajectory", "sf_l2")
"""Distances that the first measure is drawn against."""


def episodes_rows(groups: EpisodeGroups) -> list[dict[str, str]]:
    """Return the table: one row per group and scene, means over skills."""
    rows = []
    for name, group in groups.items():
        for scene in group[0]["scenes"]:
            row = {"": name, "scene": scene, "runs": str(len(group))}
            for policy in ("skills", "SMODICE"):
                for measure in _measures(group[0]):
                    values = [_value(metrics, scene, policy, measure) for metrics in group]
                    row[f"{measure}, {policy}"] = _spread(values)
            for distance in EPISODE_DISTANCES:
                row[distance] = _spread([metrics.get(distance, np.nan) for metrics in group])
            rows.append(row)
    return rows


def write_comparison(groups: EpisodeGroups, table: Path) -> Path:
    """Write the table as Markdown, and a report with it beside; return the report."""
    rows = episodes_rows(groups)
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(row.values()) + " |" for row in rows]
    write_text(table, "\n".join(lines) + "\n")
    report = Report("Runs compared")
    report.text("Medians over runs of the same kind, with quartiles where there is more than one.")
    report.table(rows)
    if any("sf_l2" in metrics for group in groups.values() for metrics in group):
        path = trade_off(groups, table.with_name("trade_off"))
        report.figure(path, "Mean over skills against their differences; every dot is a run.")
    report.write(table.with_name("report.html"))
    return table.with_name("report.html")


def trade_off(groups: EpisodeGroups, path: Path) -> Path:
    """Draw the first measure of every run against distances between its skills."""
    figure, axes = figures.panels(1, len(DRAWN), height=2.6)
    rows: list[list[object]] = []
    for number, (name, group) in enumerate(groups.items()):
        measure = _measures(group[0])[0]
        scene = next(iter(group[0]["scenes"]))
        reached = [_value(metrics, scene, "skills", measure) for metrics in group]
        for axis, distance in zip(axes[0], DRAWN, strict=True):
            apart = [metrics.get(distance, np.nan) for metrics in group]
            axis.scatter(apart, reached, color=figures.colour(number), label=name, s=18)
            axis.set(xlabel=distance, ylabel=measure)
            rows += [[name, distance, *point] for point in zip(apart, reached, strict=True)]
    axes[0, 0].legend(fontsize=7)
    return figures.save(figure, path, ["group", "measure", "diversity", "value"], rows)


def _measures(metrics: Metrics) -> list[str]:
    """Return the names of all measures of a policy."""
    policy = next(iter(next(iter(metrics["scenes"].values())).values()))
    return [name for name in policy if name != "intervals"]


def _value(metrics: Metrics, scene: str, policy: str, measure: str) -> float:
    """Return the mean over skills, or the value of a policy; NaN if there is none."""
    found = metrics["scenes"].get(scene, {})
    names = [name for name in found if name == policy]
    if policy == "skills":
        names = [name for name in found if name.startswith("skill ")]
    values = [found[name][measure] for name in names if measure in found[name]]
    return float(np.mean(values)) if values else np.nan


def _spread(values: Sequence[float]) -> str:
    """Return the median, with quartiles of more than one run."""
    known = [value for value in values if not np.isnan(value)]
    if not known:
        return ""
    low, middle, high = map(format_value, np.quantile(known, QUARTILES).tolist())
    return middle if len(known) == 1 else f"{middle} ({low} to {high})"
