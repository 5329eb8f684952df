"""Declarations of a task: defaults of collection and training, and content of its evaluation.

They are data. Collection, training and evaluation interpret them, so that a task is one object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from solo_doi.sim.terrain import Terrain
from solo_doi.solo12.constants import Array

SceneNumbers = Mapping[str, float]
"""Numbers that distinguish scenes of one task, such as the height of a box [m]."""


@dataclass(frozen=True, kw_only=True)
class CollectionDefaults:
    """Datasets of a task, and the meaning of their fields."""

    trajectories: int
    """Trajectories of the expert, and as many of the mixed checkpoints."""
    steps: int
    """Control steps per trajectory."""
    command: tuple[float, ...]
    """Command of all trajectories."""
    scene: SceneNumbers = field(default_factory=dict)
    """Scene of all trajectories."""
    expert: Mapping[str, float]
    """Share of the expert's trajectories by checkpoint file."""
    offline: Mapping[str, float]
    """Share of the mixed trajectories by checkpoint file."""
    late: Mapping[str, float] = field(default_factory=dict)
    """The same with more trajectories of late checkpoints, for small data; empty for none."""
    coverage_expert: int
    """Unlabelled expert trajectories in the coverage set."""
    reward: str
    """Meaning of the stored reward."""
    groups: str
    """Meaning of the stored rewards of the trainer."""
    fallen: str
    """Meaning of the flag of a fall."""
    ended: str = "the task ended here; never, while falls do not end a trajectory"
    """Meaning of the flag of an early end."""
    commanded: str
    """Meaning and units of a command."""
    action: str = "raw policy output; joint target = default pose + 0.25 action"
    """Meaning of an action."""
    demonstrations: int = 50
    """Expert trajectories whose states are the demonstrations."""
    foreign_expert: bool = False
    """True if the expert is a policy of another project and the others act at random. The number of
    the expert's trajectories then does not depend on the scale."""
    unused_inputs: tuple[int, int] | None = None
    """Range of numbers, always zero, that older policies of the task take in addition."""
    mean_steps: float = 0.0
    """Mean length of the mixed trajectories [control steps]; 0 if none ends early."""
    recipes: tuple[str, ...] = ("paper", "late")
    """Names of the recipes; the first is the default."""


@dataclass(frozen=True)
class Episodes:
    """Record of T control steps of N robots, from which measures are computed."""

    position_w: Array  # (T, N, 3) base [m]
    quaternion: Array  # (T, N, 4)
    score: Array  # (T, N) reward that datasets store
    fallen: np.ndarray  # (T, N)
    command: Array  # (N, command)
    terrain: Terrain


@dataclass(frozen=True)
class Measure:
    """Measure of an episode."""

    name: str
    """Name in metrics.json."""
    title: str
    """Title in tables, with unit."""
    meaning: str
    """Definition in reports."""
    compute: Callable[[Episodes], np.ndarray]
    """Function that returns the measure of N episodes, (N,); True and False for a share."""
    median: bool = False
    """True to report the median, too."""


def _returns(episodes: Episodes) -> np.ndarray:
    return np.asarray(episodes.score.sum(0))


def _falls(episodes: Episodes) -> np.ndarray:
    return np.asarray(episodes.fallen.any(0))


RETURN = Measure("return", "return", "sum of the task's score over an episode", _returns)
FALLS = Measure("falls", "falls", "share of episodes with a fall", _falls)


@dataclass(frozen=True, kw_only=True)
class EvaluationDefaults:
    """Content of a task's evaluation."""

    report: Literal["walk", "episodes"] = "episodes"
    """walk: gaits under a velocity command. episodes: the measures below, in every scene."""
    steps: int = 250
    """Control steps of an episode."""
    episodes: int = 120
    """Episodes per policy and scene."""
    scenes: Mapping[str, SceneNumbers] = field(default_factory=lambda: {"": {}})
    """Scenes by title."""
    measures: tuple[Measure, ...] = (RETURN, FALLS)
    """Measures in the table of skills; a return and one named `success` are among them."""
    figures: tuple[str, ...] = ("returns",)
    """Figures of the report, by name: returns, paths."""
    target_radius: float = 0.0
    """Radius of a target at the first two numbers of the command, in figures [m]; 0: no target."""
    film: bool = True
    """Draw pictures of Solo12."""
    film_scene: str = ""
    """Title of the scene in these pictures; empty: the last scene."""
    diversity: bool = False
    """Measure how far skills differ in their observations, in the first scene."""


@dataclass(frozen=True, kw_only=True)
class TrainingDefaults:
    """Changes that a task makes to settings of the trainers, as nested names with values."""

    doi: Mapping[str, Any] | None = field(default_factory=dict)
    """Settings of solo-train; None for those of Gym data."""
    pretrain: str = ""
    """Shipped configuration of solo-pretrain, such as pretrain/navigation; none if empty."""
