"""Recipes: settings of a collection, and the list of trajectories that follows from one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from solo_doi.common.errors import SoloError

OFFLINE_MIXTURE = {
    "model_0.pt": 1 / 2,
    "model_50.pt": 1 / 4,
    "model_100.pt": 1 / 8,
    "model_500.pt": 1 / 16,
    "model_1500.pt": 1 / 32,
    "model_2000.pt": 1 / 32,
}
"""The paper's mixture: half the data from a nearly random policy, 1/32 from the best."""


def check_command(command: tuple[float, float, float]) -> None:
    """Refuse a velocity command with infinite or undefined numbers."""
    if not all(map(math.isfinite, command)):
        shown = " ".join(f"{number:g}" for number in command)
        raise SoloError(f"--command {shown}: expected three finite numbers.")


@dataclass(frozen=True, kw_only=True)
class SourceConfig:
    """Trajectories of some checkpoints."""

    trajectories: int = 4000
    """Number of trajectories at scale 1."""
    steps: int = 250
    """Control steps per trajectory: 5 s."""
    stochastic: bool = True
    """Sample actions from the policy; otherwise use its mean."""
    mixture: dict[str, float] = field(default_factory=lambda: dict(OFFLINE_MIXTURE))
    """Share of trajectories by checkpoint file; each checkpoint's skills get equal numbers."""

    def __post_init__(self) -> None:
        """Refuse invalid settings."""
        if self.trajectories < 1 or self.steps < 2:
            raise SoloError(
                "Expected at least one trajectory of two steps, "
                f"found {self.trajectories} of {self.steps}."
            )
        shares = list(self.mixture.values())
        if not shares or min(shares) <= 0 or abs(sum(shares) - 1) > 1e-9:
            raise SoloError(
                f"Shares of a mixture must be above 0 and sum to 1, found {self.mixture}."
            )


@dataclass(frozen=True, kw_only=True)
class CollectConfig:
    """The expert, offline and coverage datasets of one task."""

    task: Literal["locomotion"] = "locomotion"
    """Task of the robots."""
    sim: Literal["mujoco", "pybullet", "isaacgym"] = "mujoco"
    """Simulator to collect in."""
    randomisation: Literal["none", "paper", "robust"] = "robust"
    """Preset of domain randomisation; each trajectory gets its own draw."""
    seed: int = 1
    """Seed of all random draws."""
    scale: float = 1.0
    """Size relative to the paper's datasets; 0.01 gives a small copy with the same proportions."""
    command: tuple[float, float, float] = (1.0, 0.0, 0.0)
    """Velocity command: forward, sideways [m/s], yaw rate [rad/s]."""
    standing_every: int = 4
    """One in this many trajectories of each skill starts in the controller's standing pose."""
    expert: SourceConfig = field(
        default_factory=lambda: SourceConfig(stochastic=False, mixture={"expert.pt": 1.0})
    )
    """Trajectories of the expert."""
    offline: SourceConfig = field(default_factory=SourceConfig)
    """Trajectories of the mixed checkpoints."""
    coverage_expert: int = 25
    """Unlabelled expert trajectories in the coverage set (D_O)."""
    demonstrations: int = 50
    """Other expert trajectories for the expert's states (D_E), without actions."""
    shard_trajectories: int = 500
    """Trajectories per file; memory grows with it. Default in Isaac Gym: 4096."""
    checkpoints: Path | None = None
    """Folder with the checkpoints. Default: the shipped ones."""

    def __post_init__(self) -> None:
        """Refuse invalid settings."""
        if not 0 < self.scale < math.inf or self.seed < 0:
            raise SoloError(
                "Expected a scale above 0 and a seed from 0 on, "
                f"found {self.scale} and {self.seed}."
            )
        check_command(self.command)
        for name in ("standing_every", "shard_trajectories", "demonstrations"):
            if getattr(self, name) < 1:
                raise SoloError(f"{name} must be at least 1, found {getattr(self, name)}.")
        if self.coverage_expert < 0:
            raise SoloError(f"coverage_expert must be at least 0, found {self.coverage_expert}.")

    def scaled(self, count: int) -> int:
        """Return a number of trajectories at this scale: at least one if `count` is not 0."""
        return max(min(count, 1), round(count * self.scale))


@dataclass(frozen=True)
class Plan:
    """Checkpoint, skill and start of each trajectory of a source, ordered by checkpoint."""

    checkpoint: np.ndarray  # (trajectories,) index into the mixture's files
    skill: np.ndarray  # (trajectories,)
    standing: np.ndarray  # (trajectories,) True if it starts in the standing pose

    def __len__(self) -> int:
        """Return the number of trajectories."""
        return len(self.skill)


def make_plan(
    source: SourceConfig, trajectories: int, num_skills: dict[str, int], standing_every: int = 4
) -> Plan:
    """Distribute `trajectories` over checkpoints by share, and over the skills of each evenly."""
    # Method of largest remainders: integers nearest to the shares with the right sum.
    exact = np.array(list(source.mixture.values())) * trajectories
    counts = np.floor(exact).astype(int)
    left = trajectories - counts.sum()
    counts[np.argsort(counts - exact, kind="stable")[:left]] += 1
    rounds = []
    skills = []
    for file, count in zip(source.mixture, counts, strict=True):
        number, skill = np.divmod(np.arange(count), num_skills[file])
        rounds.append(number)
        skills.append(skill)
    skill = np.concatenate(skills)
    # Not the trajectory's number alone: with eight skills, always the same two would stand.
    standing = (np.concatenate(rounds) + skill) % standing_every == 0
    return Plan(np.repeat(np.arange(len(counts)), counts), skill, standing)
