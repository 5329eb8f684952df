"""Tasks: commands, observations, rewards and episode ends of robots in a simulator."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from solo_doi.common.errors import UnknownNameError

if TYPE_CHECKING:
    import numpy as np

    from solo_doi.sim.simulator import Simulator

    from .randomness import GivenEpisodes
    from .task import Task, TaskConfig

__all__ = ["TASKS", "is_task", "make_task", "task_type"]

TASKS = {
    "locomotion": "solo_doi.tasks.locomotion.LocomotionTask",
    "navigation": "solo_doi.tasks.navigation.NavigationTask",
    "walker2d": "solo_doi.tasks.gym.gym_task.Walker2dTask",
    "halfcheetah": "solo_doi.tasks.gym.gym_task.HalfCheetahTask",
    "hopper": "solo_doi.tasks.gym.gym_task.HopperTask",
    "ant": "solo_doi.tasks.gym.gym_task.AntTask",
}
"""Class of each task, by name."""


def task_type(name: str) -> type[Task]:
    """Return the class of a task by name; its attributes are the task's declarations.

    A task outside this package is named by the path of its class, such as `mine.BalanceTask`.
    """
    if not is_task(name):
        raise UnknownNameError("task", name, TASKS)
    module, _, class_name = TASKS.get(name, name).rpartition(".")
    found: type[Task] = getattr(importlib.import_module(module), class_name)
    return found


def is_task(name: str) -> bool:
    """Return True for the name of a task, or the path of a class."""
    return name in TASKS or "." in name


def make_task(
    name: str,
    simulator: Simulator,
    randomness: np.random.Generator | GivenEpisodes,
    config: TaskConfig | None = None,
) -> Task:
    """Start a task by name on all robots of a simulator.

    A generator draws random numbers while the task runs. `GivenEpisodes` repeats episodes that
    were drawn beforehand. `config` is the task's own type, its defaults if it is not given.
    """
    cls = task_type(name)
    if config is None:
        config = cls.config_type()
    return cls(simulator, config, randomness)
