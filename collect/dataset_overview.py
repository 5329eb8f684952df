"""solo-collect inspect and card: what a dataset holds, as a table, a picture and a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.box import SIMPLE
from rich.table import Table

from solo_doi.common.files import replacing
from solo_doi.data.dataset import Dataset

PICTURE_FILE = "overview.png"
CARD_FILE = "README.md"


@dataclass(frozen=True)
class Group:
    """Trajectories of one checkpoint."""

    name: str
    trajectories: int
    skills: int
    length: float
    reward: float
    """Mean tracking reward per step, in (0, 1]."""
    velocity: float
    """Mean velocity along the world's x axis [m/s]."""
    height: float
    falls: int


@dataclass(frozen=True)
class Walks:
    """Numbers of single trajectories, (trajectories,) each."""

    checkpoint: np.ndarray
    skill: np.ndarray
    length: np.ndarray
    fallen: np.ndarray
    reward: np.ndarray
    velocity: np.ndarray
    height: np.ndarray


def walks(dataset: Dataset) -> Walks:
    """Summarise every trajectory, one shard at a time: memory does not grow with the dataset."""
    parts = [_shard_walks(arrays, dataset.manifest.control_dt) for arrays in dataset.shards]
    return Walks(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _shard_walks(arrays: Mapping[str, np.ndarray], control_dt: float) -> tuple[np.ndarray, ...]:
    start, length = (np.array(arrays[f"episodes/{name}"]) for name in ("start", "length"))
    position = np.array(arrays["infos/base_position"])
    moved = position[start + length - 1, 0] - position[start, 0]
    return (
        *(np.array(arrays[f"episodes/{name}"]) for name in ("checkpoint", "skill")),
        length,
        np.array(arrays["episodes/fallen"]),
        np.add.reduceat(arrays["rewards"], start) / length,
        moved / ((length - 1) * control_dt),
        np.add.reduceat(position[:, 2], start) / length,
    )


def groups(dataset: Dataset) -> list[Group]:
    """Summarise a dataset by who acted."""
    walk, found = walks(dataset), []
    for number, policy in enumerate(dataset.manifest.policies):
        rows = walk.checkpoint == number
        if rows.any():
            found.append(
                Group(
                    policy["name"], int(rows.sum()), len(np.unique(walk.skill[rows])), float(walk.length[rows].mean()),
                    float(walk.reward[rows].mean()), float(walk.velocity[rows].mean()),
                    float(walk.height[rows].mean()), int(walk.fallen[rows].sum()),
                )
            )  # fmt: skip
    return found


def table(dataset: Dataset) -> Table:
    """Return what a dataset holds, one row per checkpoint."""
    manifest = dataset.manifest
    result = Table(
        title=f"{dataset.folder}: {manifest.num_trajectories} trajectories, {len(dataset):,} transitions"
        + ("" if manifest.complete else " (not complete)"),
        caption="reward per step, advance along the world's x in m/s, height in mm",
        box=SIMPLE,
        padding=(0, 1, 0, 0),  # fits into 80 columns
    )
    if not dataset.has("episodes/checkpoint"):
        result.caption = "states only: no actions, nobody named"
        result.add_column("terms of a state")
        result.add_row(", ".join(term["name"] for term in manifest.layout))
        return result
    for heading in (
        "checkpoint",
        "trajectories",
        "skills",
        "steps",
        "reward",
        "advance",
        "height",
        "falls",
    ):
        result.add_column(heading, justify="left" if heading == "checkpoint" else "right")
    for group in groups(dataset):
        result.add_row(
            group.name, str(group.trajectories), str(group.skills), f"{group.length:.0f}", f"{group.reward:.3f}",
            f"{group.velocity:.2f}", f"{1000 * group.height:.0f}", str(group.falls),
        )  # fmt: skip
    return result


def ranges(dataset: Dataset) -> Table:
    """Return smallest, mean and largest value of every observation term."""
    result = Table(box=SIMPLE)
    for heading in ("term", "unit", "min", "mean", "max", "not finite"):
        result.add_column(heading, justify="left" if heading in ("term", "unit") else "right")
    end = 0
    for term in dataset.manifest.layout:
        columns = slice(end, end + term["size"])
        end += term["size"]
        parts = [arrays["observations"][:, columns] for arrays in dataset.shards]
        low, high = min(part.min() for part in parts), max(part.max() for part in parts)
        mean = sum(part.sum(dtype=np.float64) for part in parts) / (len(dataset) * term["size"])
        wrong = sum(int((~np.isfinite(part)).sum()) for part in parts)
        result.add_row(
            term["name"], term["unit"], f"{low:.3f}", f"{mean:.3f}", f"{high:.3f}", str(wrong)
        )
    return result


def picture(dataset: Dataset, path: Path) -> None:
    """Draw every trajectory's mean height against its mean velocity, by checkpoint."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    walk = walks(dataset)
    figure, axis = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for number, policy in enumerate(dataset.manifest.policies):
        rows = walk.checkpoint == number
        if rows.any():
            label = f"{policy['name']} ({rows.sum()})"
            axis.scatter(
                walk.velocity[rows], 1000 * walk.height[rows], s=6, label=label, alpha=0.6, lw=0
            )
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


def write_card(dataset: Dataset) -> Path:
    """Write a page that tells a stranger what the dataset is."""
    manifest = dataset.manifest
    recipe = manifest.origin["recipe"]
    lines = [
        f"# {manifest.task} / {manifest.name}", "",
        f"{manifest.num_trajectories} trajectories, {len(dataset):,} transitions of a simulated Solo12 "
        f"({recipe['sim']}, randomisation `{recipe['randomisation']}`"
        + ("" if manifest.seed is None else f", seed {manifest.seed}") + ").", "",
        "| field | type | meaning |", "|---|---|---|",
        *(f"| `{f.name}` | {f.dtype} {list(f.shape)} | {f.meaning} |" for f in manifest.fields), "",
        "| observation term | size | unit | frame | noise |", "|---|---|---|---|---|",
        *(f"| `{t['name']}` | {t['size']} | {t['unit']} | {t['frame']} | {t['noise']} |" for t in manifest.layout), "",
        f"Made by: {', '.join(f'{name} {version}' for name, version in manifest.origin['software'].items())}.",
    ]  # fmt: skip
    path = dataset.folder / CARD_FILE
    with replacing(path) as partial:
        partial.write_text("\n".join(lines) + "\n")
    return path
