"""Policies that make the trajectories of a source: checkpoints, other projects', or random ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.data.shard import file_hash
from solo_doi.policies.dominic_checkpoint import read_policy
from solo_doi.policies.foreign_policy import read_foreign_policy
from solo_doi.tasks import task_type

from .recipes import CollectConfig, SourceConfig
from .shipped_checkpoints import shipped_checkpoints

RANDOM_NAME = "random"
"""Name of the random policy in a mixture."""


class CollectPolicy(Protocol):
    """Part of a policy that collection needs."""

    @property
    def num_skills(self) -> int:
        """Number of skills."""

    @property
    def observation_size(self) -> int:
        """Length of an observation."""

    def mean_action(self, observation: np.ndarray, skill: np.ndarray) -> np.ndarray:
        """Return deterministic actions (N, actions)."""

    def sample_action(
        self, observation: np.ndarray, skill: np.ndarray, noise: np.ndarray
    ) -> np.ndarray:
        """Return actions (N, actions) with exploration."""


@dataclass(frozen=True)
class RandomPolicy:
    """Actions that are drawn evenly, at every observation."""

    observation_size: int
    num_skills: int = 1

    def mean_action(self, observation: np.ndarray, skill: np.ndarray) -> np.ndarray:
        """Refuse: the mean of random actions is no random policy."""
        raise SoloError("The random policy needs --offline.stochastic.")

    def sample_action(
        self, observation: np.ndarray, skill: np.ndarray, noise: np.ndarray
    ) -> np.ndarray:
        """Return the episode's own noise, which is even in [-1, 1]."""
        return noise


@dataclass(frozen=True)
class SourcePolicy:
    """Policy of a source, with the file that it is from."""

    name: str
    policy: CollectPolicy
    file: Path | None
    """None for the random policy."""

    @property
    def sha256(self) -> str:
        """Hash of the file; empty without one."""
        return file_hash(self.file) if self.file else ""


def read_policies(config: CollectConfig, source: SourceConfig) -> tuple[SourcePolicy, ...]:
    """Read the policies of a mixture, in its order."""
    declared = task_type(config.task)
    if not declared.collection.foreign_expert:
        folder = config.checkpoints or shipped_checkpoints(config.task)
        return tuple(_checkpoint(folder / file, file, config.task) for file in source.mixture)
    if RANDOM_NAME in source.mixture:
        return (SourcePolicy(RANDOM_NAME, RandomPolicy(declared.layout.size), None),)
    if not config.expert_policy:
        raise SoloError(
            f"Task {config.task} needs an expert: name a .zip file of Stable-Baselines3 (SAC, TQC) "
            "or a .npz file with --expert-policy."
        )
    return tuple(_foreign(path, config.task) for path in config.expert_policy)


def _checkpoint(path: Path, name: str, task: str) -> SourcePolicy:
    policy = read_policy(path)
    size = task_type(task).layout.size
    if policy.observation_size != size:
        raise SoloError(
            f"{path}: takes observations of {policy.observation_size} numbers, "
            f"the task gives {size}: the checkpoint was trained for another task."
        )
    return SourcePolicy(name, policy, path)


def _foreign(path: Path, task: str) -> SourcePolicy:
    declared = task_type(task)
    policy = read_foreign_policy(path)
    unused = declared.collection.unused_inputs
    size = declared.layout.size
    if unused and policy.observation_size == size + unused[1] - unused[0]:
        policy = policy.without_inputs(slice(*unused))
    expected = (size, len(declared.joint_names))
    found = (policy.observation_size, policy.action_size)
    if found != expected:
        raise SoloError(
            f"{path}: takes {found[0]} numbers and gives {found[1]}, task {task} has "
            f"{expected[0]} and {expected[1]}: the policy was trained for another task."
        )
    return SourcePolicy(path.name, policy, path)
