"""Simulators: joint targets in, robot states out, N robots at once."""

from __future__ import annotations

import importlib

from solo_doi.common.errors import MissingPackageError, UnknownNameError

from .domain import Domain
from .input_checks import SimulationError
from .isaac_config import IsaacConfig
from .simulator import SimConfig, Simulator
from .terrain import Terrain
from .warp_config import WarpConfig

__all__ = [
    "SIMULATORS",
    "Domain",
    "IsaacConfig",
    "SimConfig",
    "SimulationError",
    "Simulator",
    "Terrain",
    "WarpConfig",
    "make_simulator",
]

SIMULATORS = {
    "mujoco": "mujoco.mujoco_simulator.MujocoSimulator",
    "bullet": "bullet.bullet_simulator.BulletSimulator",
    "isaac": "isaac.isaac_simulator.IsaacSimulator",
    "warp": "warp.warp_simulator.WarpSimulator",
}
"""Class of each simulator, by name, below `solo_doi.sim`."""
ALIASES = {"pybullet": "bullet", "isaacgym": "isaac"}
"""Names on command lines and in recipes."""
_WARP_REMEDY = "Run: pip install 'solo-doi[gpu]'"
REMEDIES = {
    "mujoco": "Run: pip install 'mujoco>=4'",
    "mujoco_warp": _WARP_REMEDY,
    "warp": _WARP_REMEDY,
}


def make_simulator(name: str, config: SimConfig, terrain: Terrain | None = None) -> Simulator:
    """Return a simulator by name; only its own engine is imported."""
    backend = ALIASES.get(name, name)
    if backend not in SIMULATORS:
        raise UnknownNameError("simulator", name, (*SIMULATORS, *ALIASES))
    module, _, class_name = SIMULATORS[backend].rpartition(".")
    try:
        simulator = getattr(importlib.import_module(f"solo_doi.sim.{module}"), class_name)
    except ModuleNotFoundError as error:
        package = (error.name or backend).split(".")[0]
        remedy = REMEDIES.get(package, f"Run: pip install {package}")
        raise MissingPackageError(package, f"The simulator {name!r}", remedy) from error
    return simulator(config, terrain)
