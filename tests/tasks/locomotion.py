"""Locomotion tasks for tests, with actions and comparisons."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Protocol

import numpy as np

from solo_doi.solo12.rotations import from_rpy
from solo_doi.solo12.state import standing
from solo_doi.tasks.locomotion import LocomotionTask
from solo_doi.tasks.task import Transition

from .states import SETUP

SLICES = LocomotionTask.layout.slices


class Make(Protocol):
    """Makes tasks that are closed after the test."""

    def __call__(self, num_robots: int = 3, seed: int = 0, **config: object) -> LocomotionTask: ...  # noqa: D102


def still(task: LocomotionTask) -> np.ndarray:
    """Return actions that hold the default pose."""
    return np.zeros((task.simulator.num_robots, 12))


def lay_on_its_back(task: LocomotionTask, robot: int) -> None:
    """Place a robot so that its base touches the ground at once."""
    motion = standing(SETUP, 1)
    motion.base_position_w[0, 2] = 0.02
    motion.base_quaternion[0] = from_rpy(np.pi, 0, 0)
    task.simulator.reset(motion, [robot])


def random_actions(num_robots: int, num_steps: int) -> np.ndarray:
    """Return actions that are strong enough to make robots stumble."""
    return np.random.default_rng(9).normal(0, 1.5, (num_steps, num_robots, 12))


def differences(one: Transition, other: Transition) -> list[str]:
    """Return fields of transitions and their states that differ in any bit."""
    pairs: list[tuple[str, Any, Any]] = [("", one, other), ("state.", one.state, other.state)]
    return [
        part + field.name
        for part, a, b in pairs
        for field in fields(a)
        if field.name != "state"
        and not np.array_equal(getattr(a, field.name), getattr(b, field.name))
    ]
