"""Kernels of MuJoCo Warp, compiled once for all processes of a test run."""

from __future__ import annotations

import fcntl
from pathlib import Path

import numpy as np

from solo_doi.sim import SimConfig, Terrain, WarpConfig, make_simulator

CPU = WarpConfig(device="cpu")
TERRAINS = (Terrain.flat(1), Terrain(np.full((1, 1, 2), 9.0), np.ones((1, 1, 3))))
"""Ground without and with a box: other shapes collide, by other kernels."""


def compiled_warp() -> WarpConfig:
    """Return settings for the processor. One process compiles, the others wait and read its files.

    Compilation takes about a minute, so two processes must not do it at the same time.
    """
    import warp as wp

    wp.config.log_level = wp.LOG_WARNING
    wp.init()
    cache = Path(wp.config.kernel_cache_dir)
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "solo-doi-tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for terrain in TERRAINS:
            with make_simulator("warp", SimConfig(warp=CPU), terrain) as simulator:
                simulator.step(simulator.state().joint_position)
    return CPU
