"""Range of velocity commands that a policy was trained for."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from solo_doi.common import settings
from solo_doi.tasks.locomotion import FORWARD, LocomotionConfig

from .training_task import checkpoint_config

CommandRange = tuple[np.ndarray, np.ndarray]
"""Lowest and highest forward and sideways velocity [m/s] and yaw rate [rad/s], (3,) each."""


def recorded_commands(checkpoint: Path) -> CommandRange | None:
    """Return the range that the checkpoint's run of solo-pretrain drew from, if it is recorded."""
    path = checkpoint_config(checkpoint)
    if path is None:
        return None
    recorded = settings.load(path).get("episode")
    if recorded is None:
        return None
    episode = settings.from_dict(LocomotionConfig, recorded, f"{path}: episode")
    if episode.forward_share == 1:
        return np.array(FORWARD), np.array(FORWARD)
    low, high = np.array([episode.command_vx, episode.command_vy, episode.command_yaw]).T
    return low, high


def estimated_commands(mean: np.ndarray, std: np.ndarray) -> CommandRange:
    """Estimate the range from mean and deviation of the commands of training, which are uniform."""
    # The deviation of a constant command is 0 in checkpoints and exactly 1 in runs of solo-train.
    half = np.where((std < 1e-3) | (std == 1.0), 0.0, np.sqrt(3.0) * std)
    if not mean.size:  # navigation has targets instead of commands
        mean = np.zeros(3)
        half = np.zeros(3)
    return mean - half, mean + half
