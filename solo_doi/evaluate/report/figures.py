"""Figures of a report, each as PNG and SVG, with the plotted numbers as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # draws without a screen
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from solo_doi.common.files import replacing

WIDTH = 7.0
"""Width of a figure [inch]."""
SHOWN_ROWS = 2000
"""Largest number of transitions in the figure of ratios."""


def colour(skill: int) -> tuple[float, float, float, float]:
    """Return the colour of a skill, the same in every figure."""
    return plt.get_cmap("tab10")(skill % 10)


def panels(rows: int = 1, columns: int = 1, height: float = 2.6) -> tuple[Figure, np.ndarray]:
    """Return an empty figure and its axes, (rows, columns)."""
    figure, axes = plt.subplots(
        rows, columns, figsize=(WIDTH, height * rows), squeeze=False, layout="constrained"
    )
    return figure, axes


def save(
    figure: Figure, path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]
) -> Path:
    """Write NAME.png, NAME.svg and NAME.csv; return the PNG."""
    for kind in ("png", "svg"):
        with replacing(path.with_suffix(f".{kind}")) as partial:
            figure.savefig(partial, format=kind, dpi=130)
        figure.set_layout_engine("none")  # the first file's layout holds for the second
    plt.close(figure)
    with replacing(path.with_suffix(".csv")) as partial, partial.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    return path.with_suffix(".png")


def column(rows: Sequence[Mapping[str, float]], name: str) -> np.ndarray:
    """Return one number of every row; NaN, a gap in a curve, where a row does not have it."""
    return np.array([row.get(name, np.nan) for row in rows])


def ratios(log_w: np.ndarray, path: Path) -> Path:
    """Draw the ratio of skill to data over evenly spaced transitions, one panel per skill."""
    step = max(1, log_w.shape[1] // SHOWN_ROWS)
    eta = np.exp(log_w[:, ::step]) * log_w.shape[1]
    figure, axes = panels(len(eta), height=0.9)
    for skill, axis in enumerate(axes[:, 0]):
        axis.plot(np.arange(eta.shape[1]) * step, eta[skill], ".", ms=2, color=colour(skill))
        axis.set(ylabel=f"skill {skill}", yscale="symlog", ylim=(0, None))
        axis.tick_params(labelbottom=skill == len(eta) - 1)
    axes[-1, 0].set_xlabel("transition")
    axes[0, 0].set_title("ratio of skill to data, transition by transition", loc="left", fontsize=9)
    header = ["transition"]
    header += [f"skill_{skill}" for skill in range(len(eta))]
    rows = []
    for index, column in enumerate(eta.T):
        rows.append([index * step, *(f"{value:.5g}" for value in column)])
    return save(figure, path, header, rows)


def over_training(
    lines: list[dict[str, float]], skills: int, eps: float | None, path: Path
) -> Path:
    """Draw multipliers, constraint violation and ratio distance over outer steps.

    Without a constraint (`eps` is None), the divergence phi takes the place of its violation.
    """
    figure, axes = panels(3, height=1.9)
    steps = column(lines, "outer")
    names = [f"{kind}/{skill}" for kind in ("sigma", "phi") for skill in range(skills)]
    names.append("ratio_l1")
    found = {name: column(lines, name) for name in names}
    for skill in range(skills):
        axes[0, 0].plot(steps, found[f"sigma/{skill}"], color=colour(skill), label=f"skill {skill}")
        axes[1, 0].plot(steps, found[f"phi/{skill}"] - (eps or 0.0), color=colour(skill))
    if eps is None:
        axes[1, 0].set(ylabel="phi [nats]")
    else:
        axes[1, 0].axhline(0, color="black", lw=0.8)
        axes[1, 0].set(ylabel="violation [nats]")
    axes[0, 0].set(ylabel="multiplier", ylim=(0, 1))
    axes[0, 0].legend(fontsize=7, ncols=skills, loc="upper right")
    axes[2, 0].plot(steps, found["ratio_l1"], color="black")
    axes[2, 0].set(ylabel="ratio l1", ylim=(0, 2.05), xlabel="outer step")
    return save(figure, path, ["outer", *names], zip(steps.tolist(), *found.values(), strict=True))


SKILL_BARS = {
    "return_pct": "return [% of expert]",
    "vx": "velocity [m/s]",
    "energy": "energy [J/m]",
    "height_mean": "height [m]",
    "clearance": "clearance [m]",
    "pair_phase": "phase of pairs [cycles]",
    "frequency": "stride frequency [Hz]",
    "pitch": "pitch, nose down [degrees]",
    "duty": "duty factor",
}
"""Measures in the figure of all skills, with their labels."""


def skill_bars(metrics: dict[str, Any], path: Path) -> Path:
    """Draw the main measures of every skill with 95 % intervals; the expert is a dashed line."""
    figure, axes = panels(3, 3, height=2.0)
    rows: list[list[object]] = []
    for axis, (name, label) in zip(axes.ravel(), SKILL_BARS.items(), strict=True):
        for skill in metrics["skills"]:
            value = skill[name]
            low, high = skill["intervals"][name]
            error = [[max(0.0, value - low)], [max(0.0, high - value)]]
            axis.bar(skill["skill"], value, color=colour(skill["skill"]), yerr=error, capsize=2)
            rows.append([name, skill["skill"], value, low, high])
        axis.axhline(metrics["expert"].get(name, 100.0), color="black", lw=0.8, ls="--")
        axis.set_title(label, fontsize=9, loc="left")
        if name == "height_mean":
            axis.set_ylim(0.15, None)
    figure.supxlabel("skill; dashed: the expert", fontsize=8)
    return save(figure, path, ["measure", "skill", "value", "low", "high"], rows)


EMBEDDED: dict[str, dict[str, Any]] = {
    "data": {"s": 5, "color": "lightgrey", "label": "trajectories of the data"},
    "expert": {"s": 8, "color": "tan"},
    "SMODICE": {"s": 10, "color": "black", "marker": "x", "lw": 0.8},
}
"""Style of the groups of a UMAP that are no skills, from back to front."""


def embedding(points: Mapping[str, np.ndarray], path: Path) -> Path:
    """Draw a UMAP of groups by name: data, expert, SMODICE (all optional) and skills."""
    figure, axes = panels(height=3.6)
    axis: Axes = axes[0, 0]
    styles = {name: style for name, style in EMBEDDED.items() if name in points}
    skills = [name for name in points if name not in EMBEDDED]
    for skill, name in enumerate(skills):
        styles[name] = {"s": 10, "color": colour(skill)}
    for name, style in styles.items():
        axis.scatter(points[name][:, 0], points[name][:, 1], **{"label": name, **style})
    axis.legend(fontsize=7)
    axis.set(xticks=[], yticks=[])
    axis.set_title("UMAP of successor features, fitted on the expert", fontsize=9, loc="left")
    rows = []
    for name, group in points.items():
        rows += [[name, *point] for point in group]
    return save(figure, path, ["group", "x", "y"], rows)


def history(rows: list[dict[str, float]], path: Path) -> Path:
    """Draw return and diversity of the policies that were cloned at the run's checkpoints."""
    figure, axes = panels(1, 3)
    steps = column(rows, "outer")
    axes[0, 0].plot(steps, column(rows, "return_pct_mean"), "o-", label="mean")
    axes[0, 0].plot(steps, column(rows, "return_pct_worst"), "o-", label="worst skill")
    axes[0, 0].set(ylabel="return [% of expert]", xlabel="outer step", ylim=(0, None))
    axes[0, 0].legend(fontsize=7)
    axes[0, 1].plot(steps, 1000 * column(rows, "height_std"), "o-")
    axes[0, 1].set(ylabel="height spread [mm]", xlabel="outer step", ylim=(0, None))
    axes[0, 2].plot(steps, column(rows, "sf_l2_standardised"), "o-")
    axes[0, 2].set(ylabel="SF l2, standardised", xlabel="outer step", ylim=(0, None))
    return save(figure, path, list(rows[0]), (list(row.values()) for row in rows))
