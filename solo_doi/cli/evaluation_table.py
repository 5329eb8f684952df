"""Results of an evaluation in the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from solo_doi.evaluate.report.html_report import format_value
from solo_doi.evaluate.report.result_texts import (
    divergence_rows,
    group_text,
    pooled_falls_text,
    two_gaits_text,
    unmeasured_divergences,
)

TABLE_WIDTH = 120
"""Smallest width of the table [characters]."""


def show_evaluation(metrics: dict[str, Any]) -> None:
    """Print the measures of every skill, and of all skills together."""
    if "scenes" in metrics:
        _show_scenes(metrics["scenes"])
        _show_numbers(metrics, ("ratio_l1", "ratio_l1_trajectory", "sf_l2", "told_apart"))
        return
    rows = {skill["skill"]: skill for skill in metrics["skills"]}
    rows |= {"smodice": metrics["smodice"]} if "smodice" in metrics else {}
    table = Table(
        "skill", "return %", "vx m/s", "falls", "height mm", "± mm", "lift mm", "stride Hz",
        "duty", "pitch °", "pairs", "drift m",
    )  # fmt: skip
    for name, skill in (rows | {"expert": metrics["expert"]}).items():
        table.add_row(
            str(name), f"{skill.get('return_pct', 100):.0f}", f"{skill['vx']:.2f}",
            str(skill["falls"]), f"{1000 * skill['height_mean']:.0f}",
            f"{1000 * skill['height_std']:.1f}",
            f"{1000 * skill['clearance']:.0f}", f"{skill['frequency']:.1f}",
            f"{skill['duty']:.2f}", f"{skill['pitch']:.1f}", f"{skill['pair_phase']:.2f}",
            f"{skill['drift']:.2f}",
        )  # fmt: skip
    console = Console()
    Console(width=max(console.width, TABLE_WIDTH)).print(table)
    print(f"falls {pooled_falls_text(metrics)}. {two_gaits_text(metrics)}")
    if "told_apart" in metrics:
        names = (
            "return_pct_mean", "ratio_l1_trajectory", "sf_l2_standardised", "told_apart",
            "silhouette", "transfer_score",
        )  # fmt: skip
        _show_numbers(metrics, names)
        for name in ("visibly_different", "clearly_different"):
            print(f"{name} {group_text(metrics, name)}")
    _show_divergence(metrics)


def _show_numbers(metrics: dict[str, Any], names: tuple[str, ...]) -> None:
    """Print some measures of all skills in one line."""
    found = [f"{name} {format_value(metrics[name])}" for name in names if name in metrics]
    if found:
        print(" · ".join(found))


def _show_scenes(scenes: dict[str, dict[str, Any]]) -> None:
    """Print the measures of every policy in every scene of a task."""
    first = next(iter(next(iter(scenes.values())).values()))
    names = [name for name in first if name != "intervals"]
    table = Table("scene", "policy", *names)
    for scene, found in scenes.items():
        for policy, values in found.items():
            table.add_row(scene, policy, *(format_value(values[name]) for name in names))
    console = Console()
    Console(width=max(console.width, TABLE_WIDTH)).print(table)


def _show_divergence(metrics: dict[str, Any]) -> None:
    for sentence in unmeasured_divergences(metrics):
        print(f"KL of policy to expert: {sentence}")
    for row in divergence_rows(metrics):
        print(
            "KL of policy to expert [nats] · "
            + " · ".join(f"{name} {format_value(value)}".strip() for name, value in row.items())
        )
