"""Check that a collection fits into memory and onto the disk."""

from __future__ import annotations

from pathlib import Path

from solo_doi.common.memory import check_disk_space, check_memory

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
    sources = (config.expert, config.offline)
    counts = [config.scaled(source.trajectories) for source in sources]
    steps = max(source.steps for source in sources)
    setting = f"--scale {config.scale:g}"
    remedy = "Choose a smaller one; 1 gives the datasets of the paper."
    check_memory(PLAN_BYTES * max(counts), setting, remedy)
    shard = min(config.shard_trajectories, max(counts))
    check_memory(
        TRANSITION_BYTES * steps * shard,
        f"--shard-trajectories {config.shard_trajectories}",
        "Choose fewer trajectories per file.",
    )
    rows = sum(count * source.steps for count, source in zip(counts, sources, strict=True))
    check_disk_space(TRANSITION_BYTES * rows, out, setting, remedy)
