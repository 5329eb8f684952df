"""Checks of the self-test: MuJoCo Warp against C MuJoCo on the same machine."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from solo_doi.sim import Domain, SimConfig, Simulator, WarpConfig, make_simulator
from solo_doi.solo12.constants import CONTROL_SETUPS, GRAVITY, TOTAL_MASS, Array
from solo_doi.solo12.state import Motion, RobotState, standing

WALKING_SETUP = CONTROL_SETUPS["locomotion"]
STANDING_STEPS = 50
STUMBLING_STEPS = 5
THROUGHPUT_STEPS = 20
"""Control steps of each part."""
LONGEST_MEASUREMENT = 20.0
"""Time after which a simulator's throughput is measured by the steps done so far [s]."""


@dataclass(frozen=True)
class WarpCheck:
    """One property of Warp that the project relies on."""

    name: str
    found: float
    least: float
    most: float

    @property
    def ok(self) -> bool:
        """True if the value is within its range; NaN is not."""
        return self.least <= self.found <= self.most


def stumble(robots: int, steps: int) -> Array:
    """Targets (steps, robots, 12) around the default pose with 0.25 rad of noise."""
    noise = np.random.default_rng(0).normal(
        0, 0.25, (steps, robots, len(WALKING_SETUP.default_pose))
    )
    return WALKING_SETUP.default_pose + np.clip(noise, -0.6, 0.6)


def run_checks(settings: WarpConfig, robots: int) -> list[WarpCheck]:
    """WarpCheck weights of robots with different masses, one control step, and repeated ones."""
    added = np.linspace(-0.3, 0.5, robots)
    setup = SimConfig(num_robots=robots, warp=settings)
    start = standing(WALKING_SETUP, robots)
    still = np.tile(start.joint_position, (STANDING_STEPS, 1, 1))
    moving = stumble(robots, STUMBLING_STEPS)
    with make_simulator("warp", setup) as warp, make_simulator("mujoco", setup) as mujoco:
        for simulator in (warp, mujoco):
            simulator.set_domain(Domain.nominal(robots, added_mass=added))
        stood = _after(warp, start, still)
        reference = _after(mujoco, start, moving)
        first = _after(warp, start, moving)
        again = _after(warp, start, moving)
    weight = stood.foot_force_w[..., 2].sum(axis=1) / ((TOTAL_MASS + added) * GRAVITY)
    gap = np.abs(first.joint_position - reference.joint_position).max(axis=1)
    repeated = np.abs(first.joint_position - again.joint_position).max()
    return [
        WarpCheck("least share of the weight on the feet", float(weight.min()), 0.99, 1.01),
        WarpCheck("largest share of the weight on the feet", float(weight.max()), 0.99, 1.01),
        WarpCheck(
            "joints against C MuJoCo after 0.1 s, median [rad]", float(np.median(gap)), 0, 0.01
        ),
        WarpCheck("joints in a repeated run [rad]: 0 unless on a GPU", float(repeated), 0, 0.1),
    ]


def throughput(engine: str, robots: int, settings: WarpConfig) -> dict[str, float]:
    """Return control steps per second, steps measured, and seconds until the first step is done.

    It takes the time of one step more than `LONGEST_MEASUREMENT` at most, beside the start.
    """
    targets = stumble(robots, THROUGHPUT_STEPS)
    began = time.perf_counter()
    with make_simulator(engine, SimConfig(num_robots=robots, warp=settings)) as simulator:
        simulator.step(targets[0])
        started = time.perf_counter()
        steps = 0
        for target in targets:
            simulator.step(target)
            steps += 1
            elapsed = time.perf_counter() - started
            if elapsed > LONGEST_MEASUREMENT:
                break
    return {
        "control_steps_per_s": round(robots * steps / elapsed),
        "steps": steps,
        "start_s": round(started - began, 2),
    }


def _after(simulator: Simulator, motion: Motion, targets: Array) -> RobotState:
    """Return the state of robots that follow targets from a given motion."""
    simulator.reset(motion)
    for target in targets:
        state = simulator.step(target)
    return state
