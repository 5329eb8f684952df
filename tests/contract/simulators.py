"""Helpers of the contract suite: simulators by name, initial motions, comparison of states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from math import pi

import numpy as np

from solo_doi.sim import Simulator
from solo_doi.solo12.constants import (
    CONTROL_SETUPS,
    JOINT_NAMES,
    Array,
    ControlSetup,
    symmetric_pose,
)
from solo_doi.solo12.state import Motion, RobotState, standing

ENGINES = ("mujoco", "pybullet", "isaacgym", "warp")
"""All simulators under the contract; add new ones here. Isaac Gym is its double, MuJoCo Warp runs
on the processor."""
SINGLE_PRECISION = ("isaacgym", "warp")

Make = Callable[..., Simulator]
LOCOMOTION = CONTROL_SETUPS["locomotion"]
SQUARE = ControlSetup(symmetric_pose(0.0, pi / 4, -pi / 2), kp=2.5, kd=0.1, standing_height=0.242)
"""Pose of DOMiNiC's position task, with feet below the hips."""
KNEE = JOINT_NAMES.index("FL_KFE")
MILLISECOND = {"physics_dt": 0.001, "decimation": 1}
"""One physics step per control step, short enough for every engine to use a single step."""


def in_the_air(num_robots: int = 1, height: float = 5.0) -> Motion:
    """Return robots at rest far above the ground.

    In free fall, gravity does not load their joints.
    """
    motion = standing(LOCOMOTION, num_robots)
    return replace(motion, base_position_w=motion.base_position_w + np.array([0, 0, height]))


def default_targets(num_robots: int) -> Array:
    """Return targets that hold the default pose."""
    return np.tile(LOCOMOTION.default_pose, (num_robots, 1))


def random_targets(num_robots: int, num_steps: int, seed: int = 0) -> Array:
    """Return targets (steps, robots, 12) around the default pose that make robots stumble."""
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
    """Return the fields in which two states differ by at least a bit."""
    return [
        f.name
        for f in fields(one)
        if not np.array_equal(getattr(one, f.name), getattr(other, f.name))
    ]
