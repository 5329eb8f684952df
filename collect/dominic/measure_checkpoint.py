"""solo-pretrain evaluate: measures and pictures of the walks of checkpoints."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import tyro
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from collect.recipes import check_command
from solo_doi.common.errors import SoloError
from solo_doi.evaluate.metrics.walk import SETTLED, measure
from solo_doi.evaluate.rollouts.recording import Recording, evaluation_task, record
from solo_doi.policies.dominic_checkpoint import read_policy
from solo_doi.policies.masked_policy import MaskedPolicy
from solo_doi.solo12.constants import CONTROL_DT
from solo_doi.tasks.locomotion import LocomotionTask

CHECKPOINT_TABLE_WIDTH = 100
"""Smallest width of the table [characters]."""
TASK_GROUP = LocomotionTask.reward_groups.index("task")


@dataclass(frozen=True, kw_only=True)
class EvaluateCommand:
    """Roll checkpoints out without exploration noise and print measures of the walks.

    Example: solo-pretrain evaluate runs/NAME/checkpoints/model_2000.pt --episodes 100
    """

    checkpoints: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Checkpoint files."""
    sim: Literal["mujoco", "pybullet"] = "mujoco"
    """Simulator."""
    randomisation: Literal["none", "paper", "robust"] = "robust"
    """Preset of domain randomisation."""
    episodes: int = 100
    """Robots per skill; each walks one episode."""
    steps: int = 250
    """Control steps per episode."""
    command: tuple[float, float, float] = (1.0, 0.0, 0.0)
    """Velocity command: forward, sideways [m/s], yaw rate [rad/s]."""
    seed: int = 0
    """Seed of domains, starts and sensor noise."""
    pictures: Path | None = None
    """Directory for a gait diagram and a filmstrip of each checkpoint, on undisturbed robots."""
    json: bool = False
    """Print JSON lines instead of a table."""


@dataclass(frozen=True)
class CheckpointWalk:
    """Walk of one skill of one checkpoint, averaged over robots."""

    checkpoint: str
    skill: int
    velocity: float
    """Velocity along the command [m/s or rad/s]."""
    tracked: float
    """Velocity as a share of the command."""
    falls: int
    """Robots that fell."""
    height: float
    """Mean base height [m]."""
    height_std: float
    """Standard deviation of the base height over time, averaged over robots [m]."""
    clearance: float
    """Height of the soles at the top of the swing, mean of the feet [m]."""
    frequency: float
    """Stride frequency [Hz]."""
    diagonal_phase: float
    """Median phase difference within diagonal pairs [cycles]: 0 in a trot."""
    pair_phase: float
    """Median phase between the diagonal pairs [cycles]: 0.5 in a trot."""
    task_value: float
    """Mean task reward per step, in (0, 1]."""


def evaluate(command: EvaluateCommand) -> list[CheckpointWalk]:
    """Measure every skill of every checkpoint and print the result."""
    _check(command)
    walks = []
    for path in command.checkpoints:
        policy = read_policy(path)
        walks += [_measure(path, policy, skill, command) for skill in range(policy.num_skills)]
        if command.pictures is not None:
            _draw(path, policy, command.pictures)
    if command.json:
        for walk in walks:
            print(json.dumps(asdict(walk)))
    else:
        console = Console()
        Console(width=max(console.width, CHECKPOINT_TABLE_WIDTH)).print(_table(walks, command))
    return walks


def _check(command: EvaluateCommand) -> None:
    """Refuse invalid settings."""
    if not command.checkpoints:
        raise SoloError(
            "evaluate: expected at least one checkpoint, "
            "such as runs/NAME/checkpoints/model_600.pt."
        )
    if command.episodes < 1:
        raise SoloError(f"--episodes {command.episodes}: expected 1 or more.")
    if command.seed < 0:
        raise SoloError(f"--seed {command.seed}: expected 0 or more.")
    if command.steps < 2 * SETTLED:
        raise SoloError(
            f"{command.steps} steps are too short to measure a gait: "
            f"expected at least {2 * SETTLED}."
        )
    check_command(command.command)


def _roll_out(
    policy: MaskedPolicy, skill: int, command: EvaluateCommand, randomisation: str, robots: int
) -> Recording:
    task = evaluation_task(command.sim, robots, randomisation, command.seed, command.command)
    with task.simulator:
        return record(
            task, lambda observation: policy.mean_action(observation, skill), command.steps
        )


def _measure(
    path: Path, policy: MaskedPolicy, skill: int, command: EvaluateCommand
) -> CheckpointWalk:
    recording = _roll_out(policy, skill, command, command.randomisation, command.episodes)
    linear = recording.linear_velocity_b[SETTLED:]
    angular = recording.angular_velocity_b[SETTLED:]
    velocities = np.stack([linear[..., 0], linear[..., 1], angular[..., 2]], axis=-1)
    mean_velocity = velocities.mean(axis=(0, 1))
    wanted = np.array(command.command)
    speed = float(np.linalg.norm(wanted))
    along = float(np.linalg.norm(mean_velocity))
    tracked = float("nan")
    if speed:
        along = float(mean_velocity @ wanted / speed)
        tracked = along / speed
    means = measure(recording, command.command[0]).averages()
    return CheckpointWalk(
        checkpoint=path.stem,
        skill=skill,
        velocity=along,
        tracked=tracked,
        falls=int(means["falls"]),
        height=means["height_mean"],
        height_std=means["height_std"],
        clearance=means["clearance"],
        frequency=means["frequency"],
        diagonal_phase=means["diagonal_phase"],
        pair_phase=means["pair_phase"],
        task_value=float(recording.reward[SETTLED:, :, TASK_GROUP].mean()),
    )


def _draw(path: Path, policy: MaskedPolicy, folder: Path) -> None:
    # Imported here, as matplotlib loads slowly.
    from solo_doi.evaluate.report.motion_pictures import filmstrip, gait_diagram

    options = EvaluateCommand(checkpoints=(path,))
    recordings = {}
    for skill in range(policy.num_skills):
        label = f"skill {skill}" if policy.num_skills > 1 else path.stem
        recordings[label] = _roll_out(policy, skill, options, "none", robots=1)
    folder.mkdir(parents=True, exist_ok=True)
    gait_diagram(recordings, folder / f"{path.stem}-gait.png")
    filmstrip(recordings, folder / f"{path.stem}-film.png")


def _table(walks: list[CheckpointWalk], command: EvaluateCommand) -> Table:
    table = Table(
        title=f"{command.episodes} episodes of {command.steps * CONTROL_DT:.0f} s "
        f"in {command.sim}, randomisation {command.randomisation}, command {command.command}",
        caption="height, its deviation over time and lift of the soles in mm; "
        "stride in Hz; phases in cycles",
        box=SIMPLE,
    )
    table.add_column("", no_wrap=True)
    for heading in (
        "skill", "tracked", "falls", "height", "±", "lift", "stride", "diagonal", "pairs", "task",
    ):  # fmt: skip
        table.add_column(heading, justify="right", no_wrap=True)
    for walk in walks:
        table.add_row(
            walk.checkpoint,
            str(walk.skill),
            f"{walk.tracked:.0%}",
            str(walk.falls),
            f"{1000 * walk.height:.0f}",
            f"{1000 * walk.height_std:.1f}",
            f"{1000 * walk.clearance:.0f}",
            f"{walk.frequency:.1f}",
            f"{walk.diagonal_phase:.2f}",
            f"{walk.pair_phase:.2f}",
            f"{walk.task_value:.3f}",
        )
    return table
