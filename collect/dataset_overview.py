"""solo-collect inspect and card: contents of a dataset as a table, a picture and a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from rich.box import SIMPLE
from rich.table import Table

from solo_doi.common.files import replacing
from solo_doi.data.dataset import Dataset
from solo_doi.solo12.constants import JOINT_NAMES

OVERVIEW_FILE = "overview.png"
CARD_FILE = "README.md"


@dataclass(frozen=True)
class CheckpointSummary:
    """Trajectories of one checkpoint."""

    name: str
    trajectories: int
    skills: int
    length: float
    """Mean length [control steps]."""
    reward: float
    """Mean tracking reward per step, in (0, 1]."""
    velocity: float
    """Mean velocity along the world's x axis [m/s]."""
    height: float
    """Mean base height [m]."""
    falls: int
    """Trajectories with a fall."""


@dataclass(frozen=True)
class TrajectorySummaries:
    """Measures of single trajectories, (trajectories,) each."""

    checkpoint: np.ndarray
    skill: np.ndarray
    length: np.ndarray
    fallen: np.ndarray
    reward: np.ndarray
    velocity: np.ndarray  # along the world's x axis [m/s]
    height: np.ndarray  # [m]


def summarise_trajectories(dataset: Dataset) -> TrajectorySummaries:
    """Summarise every trajectory, one shard at a time: memory does not grow with the dataset."""
    parts = [_summarise_shard(arrays, dataset.manifest.control_dt) for arrays in dataset.shards]
    columns = {}
    for field in fields(TrajectorySummaries):
        columns[field.name] = np.concatenate([getattr(part, field.name) for part in parts])
    return TrajectorySummaries(**columns)


def _summarise_shard(arrays: Mapping[str, np.ndarray], control_dt: float) -> TrajectorySummaries:
    start = np.array(arrays["episodes/start"])
    length = np.array(arrays["episodes/length"])
    position = np.array(arrays["infos/base_position"])
    moved = position[start + length - 1, 0] - position[start, 0]
    return TrajectorySummaries(
        checkpoint=np.array(arrays["episodes/checkpoint"]),
        skill=np.array(arrays["episodes/skill"]),
        length=length,
        fallen=np.array(arrays["episodes/fallen"]),
        reward=np.add.reduceat(arrays["rewards"], start) / length,
        velocity=moved / (np.maximum(length - 1, 1) * control_dt),
        height=np.add.reduceat(position[:, 2], start) / length,
    )


def summarise_checkpoints(dataset: Dataset) -> list[CheckpointSummary]:
    """Summarise a dataset by checkpoint."""
    single = summarise_trajectories(dataset)
    found = []
    for number, policy in enumerate(dataset.manifest.policies):
        rows = single.checkpoint == number
        if rows.any():
            summary = CheckpointSummary(
                name=policy["name"],
                trajectories=int(rows.sum()),
                skills=len(np.unique(single.skill[rows])),
                length=float(single.length[rows].mean()),
                reward=float(single.reward[rows].mean()),
                velocity=float(single.velocity[rows].mean()),
                height=float(single.height[rows].mean()),
                falls=int(single.fallen[rows].sum()),
            )
            found.append(summary)
    return found


def table(dataset: Dataset) -> Table:
    """Return the contents of a dataset, one row per checkpoint."""
    manifest = dataset.manifest
    title = (
        f"{dataset.folder}: {manifest.num_trajectories} trajectories, {len(dataset):,} transitions"
    )
    if not manifest.complete:
        title += " (not complete)"
    result = Table(
        title=title,
        caption="reward per step, advance along the world's x in m/s, height in mm",
        box=SIMPLE,
        padding=(0, 1, 0, 0),  # fits into 80 columns
    )
    if not dataset.has("episodes/checkpoint"):
        result.caption = "states only: no actions, no checkpoints"
        result.add_column("terms of a state")
        result.add_row(", ".join(term["name"] for term in manifest.layout))
        return result
    result.add_column("checkpoint")
    for heading in ("trajectories", "skills", "steps", "reward", "advance", "height", "falls"):
        result.add_column(heading, justify="right")
    for summary in summarise_checkpoints(dataset):
        result.add_row(
            summary.name,
            str(summary.trajectories),
            str(summary.skills),
            f"{summary.length:.0f}",
            f"{summary.reward:.3f}",
            f"{summary.velocity:.2f}",
            f"{1000 * summary.height:.0f}",
            str(summary.falls),
        )
    return result


def ranges(dataset: Dataset) -> Table:
    """Return smallest, mean and largest value of every observation term."""
    result = Table(box=SIMPLE)
    result.add_column("term")
    result.add_column("unit")
    for heading in ("min", "mean", "max", "not finite"):
        result.add_column(heading, justify="right")
    end = 0
    for term in dataset.manifest.layout:
        columns = slice(end, end + term["size"])
        end += term["size"]
        low = np.inf
        high = -np.inf
        total = 0.0
        wrong = 0
        for arrays in dataset.shards:
            values = arrays["observations"][:, columns]
            low = min(low, values.min())
            high = max(high, values.max())
            total += values.sum(dtype=np.float64)
            wrong += int((~np.isfinite(values)).sum())
        mean = total / (len(dataset) * term["size"])
        result.add_row(
            term["name"], term["unit"], f"{low:.3f}", f"{mean:.3f}", f"{high:.3f}", str(wrong)
        )
    return result


def picture(dataset: Dataset, path: Path) -> None:
    """Draw every trajectory's mean height against its mean velocity, by checkpoint."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    single = summarise_trajectories(dataset)
    figure, axis = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for number, policy in enumerate(dataset.manifest.policies):
        rows = single.checkpoint == number
        if rows.any():
            label = f"{policy['name']} ({rows.sum()})"
            height = 1000 * single.height[rows]
            axis.scatter(single.velocity[rows], height, s=6, label=label, alpha=0.6, lw=0)
    axis.set(
        xlabel="mean forward velocity [m/s]",
        ylabel="mean base height [mm]",
        title=dataset.manifest.name,
    )
    axis.legend(fontsize=8, markerscale=3)
    try:
        with replacing(path) as partial:
            figure.savefig(partial, dpi=110, format="png")
    finally:
        plt.close(figure)


CARD_FRONT_MATTER = """---
pretty_name: walks of Solo12
tags: [robotics, offline-reinforcement-learning, quadruped, solo-doi]
task_categories: [reinforcement-learning]
---"""
"""Metadata that dataset hubs read. The licence is its owner's to choose."""
METHOD_PAPER = "[Offline Diversity Maximization Under Imitation Constraints]" + (
    "(https://arxiv.org/abs/2307.11373)"
)


def write_card(dataset: Dataset) -> Path:
    """Write a page that describes the dataset; return its path."""
    manifest = dataset.manifest
    robot = "Solo12" if manifest.joint_names == JOINT_NAMES else manifest.task
    if "recipe" in manifest.origin:
        recipe = manifest.origin["recipe"]
        robot = f"simulated {robot}"
        origin = f"{recipe['sim']}, randomisation `{recipe['randomisation']}`"
    else:
        origin = manifest.origin["source"]
    if "simulator" in manifest.origin:
        made = manifest.origin["simulator"]
        origin += f", device {made['device']}, solver {made['solver']}"
    if manifest.seed is not None:
        origin += f", seed {manifest.seed}"
    lines = [
        CARD_FRONT_MATTER,
        "",
        f"# {manifest.task} / {manifest.name}",
        "",
        f"{manifest.num_trajectories} trajectories, {len(dataset):,} transitions "
        f"of a {robot} ({origin}).",
        "",
        "| field | type | meaning |",
        "|---|---|---|",
    ]
    lines += [f"| `{f.name}` | {f.dtype} {list(f.shape)} | {f.meaning} |" for f in manifest.fields]
    lines += ["", "| observation term | size | unit | frame | noise |", "|---|---|---|---|---|"]
    for term in manifest.layout:
        cells = [term[name] for name in ("size", "unit", "frame", "noise")]
        lines.append(f"| `{term['name']}` | {' | '.join(map(str, cells))} |")
    versions = [f"{name} {version}" for name, version in manifest.origin["software"].items()]
    lines += ["", f"Made by: {', '.join(versions)}. Method: {METHOD_PAPER}."]
    path = dataset.folder / CARD_FILE
    with replacing(path) as partial:
        partial.write_text("\n".join(lines) + "\n")
    return path
