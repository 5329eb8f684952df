"""What is to be collected: recipes as data, and the list of trajectories that follows from one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from solo_doi.common.errors import SoloError

# The paper's mixture: half of the data from a nearly random policy, a thirty-second from the best.
OFFLINE_MIXTURE = {
    "model_0.pt": 1 / 2,
    "model_50.pt": 1 / 4,
    "model_100.pt": 1 / 8,
    "model_500.pt": 1 / 16,
    "model_1500.pt": 1 / 32,
    "model_2000.pt": 1 / 32,
}


def check_command(command: tuple[float, float, float]) -> None:
    """Refuse a velocity that no robot can be asked for."""
    if not all(map(math.isfinite, command)):
        raise SoloError(
            f"--command {' '.join(f'{number:g}' for number in command)}: expected three finite numbers."
        )


@dataclass(frozen=True, kw_only=True)
class SourceConfig:
    """Trajectories of some checkpoints."""

    trajectories: int = 4000
    steps: int = 250
    """Control steps per trajectory: 5 s."""
    stochastic: bool = True
    """Whether actions are sampled from the policy or are its mean."""
    mixture: dict[str, float] = field(default_factory=lambda: dict(OFFLINE_MIXTURE))
    """Share of the trajectories by checkpoint file; each checkpoint's skills take turns."""

    def __post_init__(self) -> None:
        """Refuse what cannot be collected."""
        if self.trajectories < 1 or self.steps < 2:
            raise SoloError(
                f"Expected at least one trajectory of two steps, found {self.trajectories} of {self.steps}."
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
    """What the robots do."""
    sim: Literal["mujoco", "pybullet", "isaacgym"] = "mujoco"
    """Simulator to collect in."""
    randomisation: Literal["none", "paper", "robust"] = "robust"
    """Preset of domain randomisation, drawn anew for every trajectory."""
    seed: int = 1
    scale: float = 1.0
    """Size of the datasets against the paper's; 0.01 gives a small copy with the same proportions."""
    command: tuple[float, float, float] = (1.0, 0.0, 0.0)
    """Velocity command: forward, sideways [m/s], yaw rate [rad/s]."""
    standing_every: int = 4
    """One of so many trajectories of every skill starts from the pose in which the controller hands over."""
    expert: SourceConfig = field(
        default_factory=lambda: SourceConfig(stochastic=False, mixture={"expert.pt": 1.0})
    )
    offline: SourceConfig = field(default_factory=SourceConfig)
    coverage_expert: int = 25
    """Expert trajectories that are hidden in the coverage set (D_O), unlabelled."""
    demonstrations: int = 50
    """Other expert trajectories that are handed to training as the expert's states (D_E), without actions."""
    shard_trajectories: int = 500
    """Trajectories per file; memory use follows it. 4096 by default in Isaac Gym."""
    checkpoints: Path | None = None
    """Folder with the checkpoints; the shipped ones by default."""

    def __post_init__(self) -> None:
        """Refuse what cannot be collected."""
        if not 0 < self.scale < math.inf or self.seed < 0:
            raise SoloError(
                f"Expected a scale above 0 and a seed from 0 on, found {self.scale} and {self.seed}."
            )
        check_command(self.command)
        for name in ("standing_every", "shard_trajectories", "demonstrations"):
            if getattr(self, name) < 1:
                raise SoloError(f"{name} must be at least 1, found {getattr(self, name)}.")
        if self.coverage_expert < 0:
            raise SoloError(f"coverage_expert must be at least 0, found {self.coverage_expert}.")

    def scaled(self, count: int) -> int:
        """Return a number of trajectories at this scale: at least one, unless none were asked for."""
        return max(min(count, 1), round(count * self.scale))


@dataclass(frozen=True)
class Plan:
    """Who makes each trajectory of a source and how it starts, ordered by checkpoint."""

    checkpoint: np.ndarray  # (trajectories,) index into the mixture's files
    skill: np.ndarray  # (trajectories,)
    standing: np.ndarray  # (trajectories,) whether it starts from the standing pose

    def __len__(self) -> int:
        """Return the number of trajectories."""
        return len(self.skill)


def make_plan(
    source: SourceConfig, trajectories: int, num_skills: dict[str, int], standing_every: int = 4
) -> Plan:
    """Deal `trajectories` out over checkpoints by share, and over each one's skills evenly."""
    # Largest remainders: whole numbers that sum up and are nearest to the shares.
    exact = np.array(list(source.mixture.values())) * trajectories
    counts = np.floor(exact).astype(int)
    left = trajectories - counts.sum()
    counts[np.argsort(counts - exact, kind="stable")[:left]] += 1
    turn, skill = np.concatenate(
        [
            np.divmod(np.arange(count), num_skills[file])
            for file, count in zip(source.mixture, counts, strict=True)
        ],
        axis=1,
    )
    # Counted by skill, not by trajectory: of eight skills, always the same two would stand.
    return Plan(
        np.repeat(np.arange(len(counts)), counts), skill, (turn + skill) % standing_every == 0
    )
