"""Speed of simulators through their common interface.

It includes contacts, lag and states.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np

from solo_doi.sim import SimConfig, Simulator, make_simulator
from solo_doi.solo12.action import joint_target
from solo_doi.solo12.constants import ACTION_SCALE, CONTROL_SETUPS, NUM_JOINTS, Array
from solo_doi.solo12.state import standing

from .bare_loop import BareLoop
from .harness import Pairs, benchmark, interleaved, seconds

SETUP = CONTROL_SETUPS["locomotion"]
NUM_CORES = len(os.sched_getaffinity(0))
BATCH = 1024
STEPS = 20
MEMORY_SIZES = (512, 2048, 4096)
MEMORY_PROGRAM = "from tests.bench.sim import resident_bytes; print(resident_bytes({}))"


def random_targets(num_robots: int, num_steps: int = STEPS) -> Array:
    """Targets (steps, robots, 12) around the default pose with 0.25 rad of noise.

    They stay within the training limits.
    """
    actions = np.random.default_rng(0).normal(
        0, 0.25 / ACTION_SCALE, (num_steps, num_robots, NUM_JOINTS)
    )
    return joint_target(actions, SETUP)


def control_rate(simulator: Simulator, targets: Array) -> Callable[[], float]:
    """Return a function that stands the robots up and follows the targets.

    It returns the number of control steps per second.
    """

    def measure() -> float:
        simulator.reset(standing(SETUP, simulator.num_robots))
        elapsed = seconds(lambda: [simulator.step(target) for target in targets])
        return targets.shape[0] * targets.shape[1] / elapsed

    return measure


@benchmark(unit="control steps/s", at_least=0.85)
def mujoco_batch() -> Pairs:
    """MuJoCo, 1024 robots, 5 ms x 4, against a bare C loop of `mj_step` on as many cores."""
    config, targets = SimConfig(num_robots=BATCH, threads=NUM_CORES), random_targets(BATCH)
    bare, start = BareLoop(config), standing(SETUP, 1)

    def bare_rate() -> float:
        return BATCH * STEPS / seconds(lambda: bare.run(start, targets, NUM_CORES))

    with make_simulator("mujoco", config) as simulator:
        pairs = interleaved(control_rate(simulator, targets), bare_rate)
        # Both did the same work if all robots ended in the same place, to the last bit.
        np.testing.assert_array_equal(
            simulator.state().joint_position, bare.run(start, targets, NUM_CORES)[:, 7:]
        )
        return pairs


@benchmark(unit="control steps/s per core")
def mujoco_vs_pybullet() -> Pairs:
    """MuJoCo against PyBullet, each on one core."""
    mujoco = make_simulator("mujoco", SimConfig(num_robots=64, threads=1))
    pybullet = make_simulator("pybullet", SimConfig(num_robots=8))
    with mujoco, pybullet:
        return interleaved(
            control_rate(mujoco, random_targets(64, 50)),
            control_rate(pybullet, random_targets(8)),
        )


@benchmark(unit="bytes per robot", at_most=1.25)
def mujoco_memory() -> Pairs:
    """Memory per robot between 2048 and 4096 robots, against that between 512 and 2048.

    The ratio is one if memory grows linearly.
    """
    few, some, many = MEMORY_SIZES
    pairs = []
    for _ in range(5):
        used = [int(_in_new_process(MEMORY_PROGRAM.format(size))) for size in MEMORY_SIZES]
        pairs.append(((used[2] - used[1]) / (many - some), (used[1] - used[0]) / (some - few)))
    return pairs


def resident_bytes(num_robots: int) -> int:
    """Memory of this process once a simulator of that many robots has taken a step."""
    simulator = make_simulator("mujoco", SimConfig(num_robots=num_robots))
    simulator.step(standing(SETUP, num_robots).joint_position)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _in_new_process(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
