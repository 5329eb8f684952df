"""Rollouts of episodes, returned as the arrays of a dataset."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from solo_doi.tasks.task import Task

StepPolicy = Callable[[int, np.ndarray], np.ndarray]
"""Maps control step and observations (N, observation) to raw actions (N, actions)."""


def roll_out(task: Task, act: StepPolicy, steps: int) -> dict[str, np.ndarray]:
    """Simulate the given episodes of `task` side by side; arrays have leading dimensions (N, T).

    Rows after an early end, which `terminals` marks, have no meaning.
    """
    arrays = _empty(task, steps)
    observation = task.observe()
    over = task.over().copy()
    for step in range(steps):
        if over.all():
            break
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
        arrays["terminals"][:, step] = task.over() & ~over
        over = task.over().copy()
    return arrays


def lengths_of(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Return the number of steps of every episode, (N,)."""
    ended = arrays["terminals"]
    return np.where(ended.any(axis=1), ended.argmax(axis=1) + 1, ended.shape[1])


def _empty(task: Task, steps: int) -> dict[str, np.ndarray]:
    """Allocate the arrays of a rollout."""
    shape = (task.simulator.num_robots, steps)
    observations = task.layout.size
    groups = len(task.reward_groups)
    return {
        "observations": np.empty((*shape, observations), dtype=np.float32),
        "next_observations": np.empty((*shape, observations), dtype=np.float32),
        "actions": np.empty((*shape, len(task.joint_names)), dtype=np.float32),
        "rewards": np.empty(shape, dtype=np.float32),
        "infos/base_position": np.empty((*shape, 3), dtype=np.float32),
        "infos/base_quaternion": np.empty((*shape, 4), dtype=np.float32),
        "infos/reward_groups": np.empty((*shape, groups), dtype=np.float32),
        "infos/fallen": np.zeros(shape, dtype=bool),
        "terminals": np.zeros(shape, dtype=bool),
    }
