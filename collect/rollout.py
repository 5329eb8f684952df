"""Rollouts of episodes, returned as the arrays of a dataset."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from solo_doi.solo12.constants import NUM_JOINTS
from solo_doi.tasks.task import Task

StepPolicy = Callable[[int, np.ndarray], np.ndarray]
"""Maps control step and observations (N, 48) to raw actions (N, 12)."""


def roll_out(task: Task, act: StepPolicy, steps: int) -> dict[str, np.ndarray]:
    """Simulate the given episodes of `task` side by side; arrays have leading dimensions (N, T)."""
    arrays = _empty(task, steps)
    observation = task.observe()
    for step in range(steps):
        action = act(step, observation)
        arrays["observations"][:, step] = observation
        arrays["actions"][:, step] = action
        result = task.step(action.astype(np.float64))
        observation = result.observation
        arrays["next_observations"][:, step] = observation
        arrays["rewards"][:, step] = result.score
        arrays["infos/base_position"][:, step] = result.state.base_position_w
        arrays["infos/base_quaternion"][:, step] = result.state.base_quaternion
        arrays["infos/reward_groups"][:, step] = result.reward
        arrays["infos/fallen"][:, step] = result.fallen
    return arrays


def _empty(task: Task, steps: int) -> dict[str, np.ndarray]:
    """Allocate the arrays of a rollout."""
    shape = (task.simulator.num_robots, steps)
    observations = task.layout.size
    groups = len(task.reward_groups)
    return {
        "observations": np.empty((*shape, observations), dtype=np.float32),
        "next_observations": np.empty((*shape, observations), dtype=np.float32),
        "actions": np.empty((*shape, NUM_JOINTS), dtype=np.float32),
        "rewards": np.empty(shape, dtype=np.float32),
        "infos/base_position": np.empty((*shape, 3), dtype=np.float32),
        "infos/base_quaternion": np.empty((*shape, 4), dtype=np.float32),
        "infos/reward_groups": np.empty((*shape, groups), dtype=np.float32),
        "infos/fallen": np.empty(shape, dtype=bool),
    }
