"""Recipes: settings of a collection, and the list of trajectories that follows from one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from solo_doi.common.errors import SoloError
from solo_doi.tasks import task_type

DEFAULT_TASK = "locomotion"
DEFAULTS = task_type(DEFAULT_TASK).collection
OFFLINE_MIXTURE = dict(DEFAULTS.offline)
"""Shares of checkpoints in the offline data of the default task."""
NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four"}


def check_command(command: tuple[float, ...], size: int = len(DEFAULTS.command)) -> None:
    """Refuse a command with infinite or undefined numbers, or with too many or too few."""
    if len(command) != size or not all(map(math.isfinite, command)):
        shown = " ".join(f"{number:g}" for number in command)
        raise SoloError(f"--command {shown}: expected {NUMBERS.get(size, size)} finite numbers.")


@dataclass(frozen=True, kw_only=True)
class SourceConfig:
    """Trajectories of some checkpoints."""

    trajectories: int = DEFAULTS.trajectories
    """Number of trajectories at scale 1."""
    steps: int = DEFAULTS.steps
    """Control steps per trajectory: 250 are 5 s."""
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

    task: str = DEFAULT_TASK
    """Task of the robots: a name in `solo_doi.tasks.TASKS`, such as locomotion or navigation."""
    sim: Literal["mujoco", "pybullet", "isaacgym", "warp"] = "mujoco"
    """Simulator to collect in."""
    randomisation: Literal["none", "paper", "robust"] = "robust"
    """Preset of domain randomisation; each trajectory gets its own draw."""
    seed: int = 1
    """Seed of all random draws."""
    scale: float = 1.0
    """Size relative to the paper's datasets; 0.01 gives a small copy with the same proportions."""
    command: tuple[float, ...] = DEFAULTS.command
    """Command of all trajectories. Locomotion: velocity forward, sideways [m/s], yaw rate [rad/s].
    Navigation: target x, y, z [m], yaw [rad]."""
    scene: dict[str, float] = field(default_factory=dict)
    """Settings of the task that all trajectories have, by name. Navigation: box_height [m]."""
    standing_every: int = 4
    """One in this many trajectories of each skill starts in the controller's standing pose."""
    expert: SourceConfig = field(
        default_factory=lambda: SourceConfig(stochastic=False, mixture=dict(DEFAULTS.expert))
    )
    """Trajectories of the expert."""
    offline: SourceConfig = field(default_factory=SourceConfig)
    """Trajectories of the mixed checkpoints."""
    coverage_expert: Annotated[int, tyro.conf.arg(aliases=["--expert-mixin"])] = (
        DEFAULTS.coverage_expert
    )
    """Unlabelled expert trajectories in the coverage set (D_O)."""
    demonstrations: int = 50
    """Number of expert trajectories whose states, without actions, are the demonstrations (D_E).
    They are not in the coverage set."""
    shard_trajectories: int = 500
    """Trajectories per file; memory grows with it. Default in Isaac Gym: 4096."""
    checkpoints: Path | None = None
    """Folder with the checkpoints. Default: the shipped ones."""
    expert_policy: tuple[Path, ...] = ()
    """Experts of a Gym task: Stable-Baselines3 archives (.zip, SAC or TQC) or arrays (.npz).
    Several get equal numbers of trajectories."""
    replay_data: Path | None = None
    """Offline data of a Gym task: a D4RL file or a Minari dataset, for --recipe medium-replay."""

    def __post_init__(self) -> None:
        """Refuse invalid settings."""
        if not 0 < self.scale < math.inf or self.seed < 0:
            raise SoloError(
                "Expected a scale above 0 and a seed from 0 on, "
                f"found {self.scale} and {self.seed}."
            )
        declared = task_type(self.task)
        check_command(self.command, declared.command_size)
        declared.fixed_config(self.randomisation, self.expert.steps, self.scene)
        if declared.only_simulator not in ("", self.sim):
            raise SoloError(
                f"Task {self.task} in {self.sim!r}: expected --sim {declared.only_simulator}."
            )
        names = [path.name for path in self.expert_policy]
        if len(set(names)) < len(names):
            raise SoloError(f"--expert-policy {' '.join(names)}: expected different file names.")
        given = self.expert_policy or self.replay_data
        if given and not declared.collection.foreign_expert:
            raise SoloError(
                f"Task {self.task} has checkpoints: --expert-policy and --replay-data are for "
                "tasks of Gymnasium."
            )
        for name in ("standing_every", "shard_trajectories", "demonstrations"):
            if getattr(self, name) < 1:
                raise SoloError(f"{name} must be at least 1, found {getattr(self, name)}.")
        if self.coverage_expert < 0:
            raise SoloError(f"coverage_expert must be at least 0, found {self.coverage_expert}.")

    def scaled(self, count: int) -> int:
        """Return a number of trajectories at this scale: at least one if `count` is not 0."""
        return max(min(count, 1), round(count * self.scale))

    def scaled_expert(self, count: int) -> int:
        """Return a number of expert trajectories, which not all tasks scale."""
        if task_type(self.task).collection.foreign_expert:
            return count
        return self.scaled(count)

    def source(self, name: str) -> SourceConfig:
        """Return the trajectories of a source at scale 1, with the policies that make them."""
        found: SourceConfig = getattr(self, name)
        if name != "expert" or not task_type(self.task).collection.foreign_expert:
            return found
        share = 1.0 / max(len(self.expert_policy), 1)
        mixture = {path.name: share for path in self.expert_policy} or found.mixture
        needed = max(self.coverage_expert + self.demonstrations, len(mixture))
        return replace(found, trajectories=needed, mixture=mixture)

    def planned(self, name: str) -> int:
        """Return the number of trajectories of a source at this scale."""
        count = self.source(name).trajectories
        return self.scaled_expert(count) if name == "expert" else self.scaled(count)


def default_recipe(task: str) -> str:
    """Return the name of a task's usual recipe."""
    return task_type(task).collection.recipes[0]


def task_recipe(task: str, recipe: str = "") -> dict[str, Any]:
    """Return the settings of a recipe that a task declares, by name; of the usual one if empty."""
    declared = task_type(task).collection
    recipe = recipe or declared.recipes[0]
    mixture = declared.late if recipe == "late" else declared.offline
    if not mixture or recipe not in declared.recipes:
        known = [name for name in declared.recipes if name != "late" or declared.late]
        raise SoloError(
            f"Task {task} has no recipe {recipe}: expected --recipe {' or '.join(known)}."
        )
    common: dict[str, Any] = {"trajectories": declared.trajectories, "steps": declared.steps}
    return {
        "task": task,
        "randomisation": "robust" if task_type(task).randomised else "none",
        "command": declared.command,
        "scene": dict(declared.scene),
        "coverage_expert": declared.coverage_expert,
        "demonstrations": declared.demonstrations,
        "expert": SourceConfig(**common, stochastic=False, mixture=dict(declared.expert)),
        "offline": SourceConfig(**common, mixture=dict(mixture)),
    }


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
    # With the trajectory's number alone, the same two of eight skills would always start standing.
    standing = (np.concatenate(rounds) + skill) % standing_every == 0
    return Plan(np.repeat(np.arange(len(counts)), counts), skill, standing)
