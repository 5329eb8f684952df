"""Host time of our layer around MuJoCo Warp. No physics runs: graphs and copies are counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import warp as wp

from solo_doi.sim import SimConfig, Simulator, WarpConfig, make_simulator
from solo_doi.tasks import task_type

from .harness import MIN_PAIRS, Pairs, benchmark, interleaved, seconds
from .sim import random_targets

ROBOTS = 4096
FEW_ROBOTS = 64
STEPS = 200
"""Steps per measurement. The fastest counts, because other processes use the cores at times."""
BUDGET = 150e-6
"""Budget of a control step [s]."""
CALLS = ["copy", *["capture_launch"] * 6, "copy"]
"""Calls of a control step: targets in, six graphs, states out."""
SCAN_CALLS = ["capture_launch", "copy"]
"""Calls of a height scan: one graph, heights out."""


@benchmark(unit="s per control step", at_most=1.0)
def warp_host_time() -> Pairs:
    """Host time of our layer per control step of 4096 robots in MuJoCo Warp against 150 us."""
    with simulator_of(ROBOTS) as simulator:
        return [(fastest(simulator), BUDGET) for _ in range(MIN_PAIRS)]


@benchmark(unit="s per control step")
def warp_host_growth() -> Pairs:
    """Host time of our layer per control step of 4096 robots in MuJoCo Warp against that of 64."""
    with simulator_of(ROBOTS) as many, simulator_of(FEW_ROBOTS) as few:
        return interleaved(lambda: fastest(many), lambda: fastest(few))


@benchmark(unit="s per control step", at_most=1.0)
def warp_step_time() -> Pairs:
    """The same with checks of targets and states of 4096 robots in numpy arrays, against 150 us."""
    with simulator_of(ROBOTS) as simulator:
        return [(fastest_whole_step(simulator), BUDGET) for _ in range(MIN_PAIRS)]


@benchmark(unit="s per control step")
def warp_state_time() -> Pairs:
    """Time to unpack the states of 4096 robots from MuJoCo Warp against that from MuJoCo."""
    mujoco = make_simulator("mujoco", SimConfig(num_robots=ROBOTS))
    with simulator_of(ROBOTS) as warp, mujoco:
        return interleaved(lambda: quickest_state(warp), lambda: quickest_state(mujoco))


@benchmark(unit="s per control step")
def warp_scan_time() -> Pairs:
    """Host time of a height scan of 4096 robots in MuJoCo Warp against that in MuJoCo."""
    mujoco = navigation("mujoco")
    with navigation("warp") as warp, mujoco:
        state = mujoco.state()
        warp.height_scan(warp.state())  # records the graph
        return interleaved(
            lambda: fastest_scan(warp),
            lambda: min(seconds(lambda: mujoco.height_scan(state)) for _ in range(STEPS // 4)),
        )


def navigation(engine: str) -> Simulator:
    """Return a simulator with the boxes of the navigation task."""
    config = SimConfig(num_robots=ROBOTS, warp=WarpConfig(device="cpu"))
    return task_type("navigation").make_simulator(engine, config)


def quickest_state(simulator: Simulator) -> float:
    """Return the time of the fastest of many calls [s]."""
    return min(seconds(simulator.state) for _ in range(STEPS // 4))


@contextmanager
def simulator_of(robots: int) -> Iterator[Simulator]:
    """A simulator on the processor whose graphs are recorded."""
    config = SimConfig(num_robots=robots, warp=WarpConfig(device="cpu"))
    with make_simulator("warp", config) as simulator:
        simulator.step(random_targets(robots, 1)[0])
        yield simulator


def fastest(simulator: Simulator) -> float:
    """Return the time of the fastest step [s], without checks of targets and without states.

    Graphs and copies are only counted: a GPU does them while the host goes on.
    """
    schedule = random_targets(simulator.num_robots, 1)[0][:, None]
    times = []
    with counted() as calls:
        for _ in range(STEPS):
            calls.clear()
            times.append(seconds(lambda: simulator._step(schedule, None)))
            assert calls == CALLS
    return float(np.min(times))


def fastest_whole_step(simulator: Simulator) -> float:
    """Return the host time of the fastest `step`, its checks and its result included [s]."""
    target = random_targets(simulator.num_robots, 1)[0]
    times = []
    with counted() as calls:
        for _ in range(STEPS):
            calls.clear()
            times.append(seconds(lambda: simulator.step(target)))
            assert calls == CALLS
    return float(np.min(times))


def fastest_scan(simulator: Simulator) -> float:
    """Return the host time of the fastest height scan [s]; each follows a step."""
    schedule = random_targets(simulator.num_robots, 1)[0][:, None]
    state = simulator.state()
    times = []
    with counted() as calls:
        for _ in range(STEPS // 4):
            simulator._step(schedule, None)
            calls.clear()
            times.append(seconds(lambda: simulator.height_scan(state)))
            assert calls == SCAN_CALLS
    return float(np.min(times))


@contextmanager
def counted() -> Iterator[list[str]]:
    """Replace graphs and copies by a list of their names."""
    calls: list[str] = []
    with (
        patch.object(wp, "copy", lambda *_: calls.append("copy")),
        patch.object(wp, "capture_launch", lambda *_: calls.append("capture_launch")),
    ):
        yield calls
