"""Check that a collection fits into memory and onto the disk."""

from __future__ import annotations

from pathlib import Path

from solo_doi.common.memory import check_disk_space, check_memory
from solo_doi.tasks import task_type

from .recipes import CollectConfig

TRANSITION_BYTES = 400
"""Least size of a transition with its simulator state, on disk and in memory; measured: 467."""
PLAN_BYTES = 32
"""Size of a trajectory in the plan."""


def check_size(config: CollectConfig, out: Path) -> None:
    """Refuse a collection that cannot fit, before anything is made.

    Raises:
        SoloError: The message has the size and the space.
    """
    names = ("expert", "offline")
    counts = [config.planned(name) for name in names]
    lengths = [_steps(config, name) for name in names]
    size = transition_bytes(config.task)
    setting = f"--scale {config.scale:g}"
    remedy = "Choose a smaller one; 1 gives the datasets of the paper."
    check_memory(PLAN_BYTES * max(counts), setting, remedy)
    check_memory(
        size * max(lengths) * min(config.shard_trajectories, max(counts)),
        f"--shard-trajectories {config.shard_trajectories}",
        "Choose fewer trajectories per file.",
    )
    rows = sum(count * length for count, length in zip(counts, lengths, strict=True))
    check_disk_space(size * rows, out, setting, remedy)


def transition_bytes(task: str) -> int:
    """Return the least size of a transition of a task [bytes]."""
    declared = task_type(task)
    numbers = 2 * declared.layout.size + len(declared.joint_names)
    return min(TRANSITION_BYTES, 4 * numbers)


def _steps(config: CollectConfig, name: str) -> float:
    """Return the mean length of a source's trajectories [control steps]."""
    mean = task_type(config.task).collection.mean_steps
    if name == "offline" and mean:
        return min(mean, config.offline.steps)
    return config.source(name).steps
