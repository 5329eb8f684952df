"""Outer steps after which checkpoints are kept and full passes are made."""

from __future__ import annotations

from .train_config import TrainConfig


def kept_steps(outer: int, count: int) -> set[int]:
    """Return `count` of `outer` steps, evenly spaced; the last is one of them."""
    return {max(1, round(outer * (number + 1) / count)) for number in range(count)}


def full_steps(config: TrainConfig) -> set[int]:
    """Return the outer steps with a full pass over the data: some of those with a checkpoint."""
    kept = sorted(kept_steps(config.outer, config.checkpoints))
    if not kept:
        return set()
    return {kept[number - 1] for number in kept_steps(len(kept), config.full_passes)}
