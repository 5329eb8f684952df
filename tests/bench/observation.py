"""Cost of building observations, relative to the simulation that they describe."""

from __future__ import annotations

import numpy as np

from solo_doi.sim import SimConfig, Terrain, make_simulator
from solo_doi.solo12.observation import LAYOUTS, Inputs, scan_points
from solo_doi.solo12.state import RobotState
from solo_doi.tasks.navigation import NavigationTask

from .harness import Pairs, benchmark, interleaved, seconds
from .sim import random_targets

NUM_ROBOTS = 4096
REPEATS = 5
"""Observations built per measurement: one alone is too short to time."""


def compare(task: str, terrain: Terrain | None = None) -> Pairs:
    """Seconds for observations with noise of a task, against a control step of the same robots."""
    layout, rng = LAYOUTS[task], np.random.default_rng(0)
    targets = random_targets(NUM_ROBOTS, 4)
    with make_simulator("mujoco", SimConfig(num_robots=NUM_ROBOTS)) as simulator:
        state = simulator.step(targets[0])

        def build() -> np.ndarray:
            return layout.build(inputs_of(state, terrain), rng)

        return interleaved(
            lambda: seconds(lambda: [build() for _ in range(REPEATS)]) / REPEATS,
            lambda: seconds(lambda: [simulator.step(target) for target in targets]) / len(targets),
        )


def inputs_of(state: RobotState, terrain: Terrain | None) -> Inputs:
    """Return the inputs of both tasks; with a terrain, they include its heights."""
    points = None if terrain is None else scan_points(state.base_position_w, state.base_quaternion)
    return Inputs(
        motion=state,
        previous_action=np.zeros((NUM_ROBOTS, 12)),
        command=np.zeros((NUM_ROBOTS, 3)),
        scan_height=np.zeros((NUM_ROBOTS, 121))
        if terrain is None or points is None
        else terrain.height(points),
        target=np.zeros((NUM_ROBOTS, 4)),
        time_left=np.zeros((NUM_ROBOTS, 1)),
    )


@benchmark(unit="s", at_most=0.05)
def observation_locomotion() -> Pairs:
    """48 numbers with noise for 4096 robots, against their control step in MuJoCo."""
    return compare("locomotion")


@benchmark(unit="s", at_most=0.05)
def observation_navigation() -> Pairs:
    """171 numbers with noise for 4096 robots, against their control step in MuJoCo."""
    return compare("navigation")


@benchmark(unit="s")
def height_scan() -> Pairs:
    """171 numbers with 121 looked-up ground heights for each robot, against their control step."""
    return compare("navigation", NavigationTask.make_terrain(NUM_ROBOTS))
