"""Helpers of the contract suite.

Simulators by name, motions to start from, states to compare.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np

from solo_doi.sim import Simulator
from solo_doi.solo12.constants import CONTROL_SETUPS, Array
from solo_doi.solo12.state import Motion, RobotState, standing

ENGINES = ("mujoco", "pybullet", "isaacgym")
"""Every simulator that must keep the contract: a new one is added here. Isaac Gym is its double."""

Make = Callable[..., Simulator]
LOCOMOTION, NAVIGATION = CONTROL_SETUPS["locomotion"], CONTROL_SETUPS["navigation"]


def in_the_air(num_robots: int = 1, height: float = 5.0) -> Motion:
    """Robots at rest far above the ground: falling freely, their joints feel no gravity."""
    motion = standing(LOCOMOTION, num_robots)
    return replace(motion, base_position_w=motion.base_position_w + np.array([0, 0, height]))


def default_targets(num_robots: int) -> Array:
    """Targets that hold the default pose."""
    return np.tile(LOCOMOTION.default_pose, (num_robots, 1))


def random_targets(num_robots: int, num_steps: int, seed: int = 0) -> Array:
    """Targets (steps, robots, 12) around the default pose, strong enough to make robots stumble."""
    noise = np.random.default_rng(seed).normal(0, 0.25, (num_steps, num_robots, 12))
    return LOCOMOTION.default_pose + np.clip(noise, -0.6, 0.6)


def hold(
    simulator: Simulator, seconds: float, target: Array | None = None, push_w: Array | None = None
) -> RobotState:
    """Hold targets (the default pose if none) and a push for a while; return the last state."""
    target = default_targets(simulator.num_robots) if target is None else target
    for _ in range(round(seconds / simulator.config.control_dt)):
        state = simulator.step(target, push_w)
    return state


def differences(one: RobotState, other: RobotState) -> list[str]:
    """Fields in which two states differ by as much as a bit."""
    return [
        f.name
        for f in fields(one)
        if not np.array_equal(getattr(one, f.name), getattr(other, f.name))
    ]
