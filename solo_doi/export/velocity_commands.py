"""Velocity commands that a policy was trained for."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from solo_doi.common import settings as config
from solo_doi.tasks.locomotion import FORWARD, LocomotionConfig

CommandRange = tuple[np.ndarray, np.ndarray]
"""Lowest and highest forward, sideways and turning velocity."""


def of_run(checkpoint: Path) -> CommandRange | None:
    """What the run of solo-pretrain drew from, if the checkpoint still lies in it."""
    path = checkpoint.absolute().parents[1] / "config.yaml"
    if not path.is_file():
        return None
    episode = config.from_dict(
        LocomotionConfig, config.load(path).get("episode", {}), f"{path}: episode"
    )
    if episode.forward_share == 1:
        return np.array(FORWARD), np.array(FORWARD)
    low, high = np.array([episode.command_vx, episode.command_vy, episode.command_yaw]).T
    return low, high


def of_statistics(mean: np.ndarray, std: np.ndarray) -> CommandRange:
    """Tell it from mean and deviation of the commands that were seen, as training draws them evenly."""
    # Where a command never changed, checkpoints have a deviation of 0 and runs of solo-train one of exactly 1.
    half = np.where((std < 1e-3) | (std == 1.0), 0.0, np.sqrt(3.0) * std)
    if not mean.size:  # navigation has targets in place of commands
        mean = half = np.zeros(3)
    return mean - half, mean + half
