"""Recordings: states of simulated robots over time, from which all measures are computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from solo_doi.sim import SimConfig, Terrain, make_simulator
from solo_doi.tasks.locomotion import FORWARD, LocomotionConfig, LocomotionTask
from solo_doi.tasks.task import Task

Act = Callable[[np.ndarray], np.ndarray]
"""A policy with its skill fixed: observations (N, 48) to raw actions (N, 12)."""


@dataclass(frozen=True, kw_only=True)
class Recording:
    """T control steps of N robots. No episode ends early."""

    position_w: np.ndarray  # (T, N, 3) base
    quaternion: np.ndarray  # (T, N, 4)
    linear_velocity_b: np.ndarray  # (T, N, 3)
    angular_velocity_b: np.ndarray  # (T, N, 3)
    joint_position: np.ndarray  # (T, N, 12)
    joint_velocity: np.ndarray  # (T, N, 12)
    torque: np.ndarray  # (T, N, 12)
    foot_position_w: np.ndarray  # (T, N, 4, 3)
    foot_contact: np.ndarray  # (T, N, 4)
    reward: np.ndarray  # (T, N, groups)
    fallen: np.ndarray  # (T, N)
    observation: np.ndarray  # (T, N, observation) before the step, with noise as in datasets
    score: np.ndarray | None = None  # (T, N) reward that datasets store
    over: np.ndarray | None = None  # (T, N) True where an episode had ended before the step
    terrain: Terrain | None = None  # ground of the last step; None: flat

    @property
    def ever_fallen(self) -> np.ndarray:
        """True for robots that fell at any step, (N,)."""
        return np.asarray(self.fallen.any(axis=0))


def record(task: Task, act: Act, steps: int) -> Recording:
    """Run a policy on the task's robots for a number of control steps."""
    rows: dict[str, list[np.ndarray]] = {}
    observation = task.observe()
    for _ in range(steps):
        seen = observation
        over = task.over().copy()
        step = task.step(act(seen).astype(np.float64))
        observation = step.observation
        state = step.state
        row = {
            "position_w": state.base_position_w,
            "quaternion": state.base_quaternion,
            "linear_velocity_b": state.linear_velocity_b,
            "angular_velocity_b": state.angular_velocity_b,
            "joint_position": state.joint_position,
            "joint_velocity": state.joint_velocity,
            "torque": state.torque,
            "foot_position_w": state.foot_position_w,
            "foot_contact": state.foot_contact,
            "reward": step.reward,
            "fallen": step.fallen,
            "observation": seen,
            "score": step.score,
            "over": over,
        }
        for name, value in row.items():
            rows.setdefault(name, []).append(value)
    arrays = {name: np.stack(values) for name, values in rows.items()}
    return Recording(**arrays, terrain=task.simulator.terrain)


def evaluation_task(
    sim: str,
    num_robots: int,
    randomisation: str,
    seed: int,
    command: tuple[float, float, float] = FORWARD,
    standing_share: float = 0.5,
) -> LocomotionTask:
    """Return a task with one fixed command and without resets."""
    simulator = make_simulator(sim, SimConfig(num_robots=num_robots))
    return LocomotionTask(
        simulator, one_command(randomisation, command, standing_share), np.random.default_rng(seed)
    )


def one_command(
    randomisation: str, command: tuple[float, float, float] = FORWARD, standing_share: float = 0.5
) -> LocomotionConfig:
    """Return the settings of a task with one fixed command and endless episodes."""
    return LocomotionConfig(
        randomisation=randomisation,
        episode_steps=1_000_000,
        early_end=False,
        standing_share=standing_share,
        forward_share=0.0,
        command_vx=(command[0], command[0]),
        command_vy=(command[1], command[1]),
        command_yaw=(command[2], command[2]),
        command_steps=1_000_000,
    )
