"""Simulators on a GPU: number of robots that they simulate together, settings of MuJoCo Warp."""

from __future__ import annotations

from solo_doi.sim.warp_config import WarpConfig, warp_from_environment

GPU_SIMULATORS = ("isaacgym", "warp")
"""Names on command lines."""
GPU_NUM_ROBOTS = 4096
"""Default number of robots: enough to keep a GPU busy."""


def warp_config(sim: str) -> WarpConfig | None:
    """Return the settings of MuJoCo Warp if it is the simulator, None otherwise."""
    if sim != "warp":
        return None
    return warp_from_environment()
