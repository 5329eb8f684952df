"""Simulators: joint targets in, robot states out, N robots at once."""

from __future__ import annotations

import importlib

from solo_doi.common.errors import MissingPackageError, UnknownNameError

from .domain import Domain
from .input_checks import SimulationError
from .isaac_config import IsaacConfig
from .simulator import SimConfig, Simulator
from .terrain import Terrain, make_terrain

__all__ = [
    "SIMULATORS",
    "Domain",
    "IsaacConfig",
    "SimConfig",
    "SimulationError",
    "Simulator",
    "Terrain",
    "make_simulator",
    "make_terrain",
]

SIMULATORS = {
    "mujoco": "mujoco.mujoco_simulator.MujocoSimulator",
    "bullet": "bullet.bullet_simulator.BulletSimulator",
    "isaac": "isaac.isaac_simulator.IsaacSimulator",
}
"""Class of each simulator, by name, below `solo_doi.sim`."""
ALIASES = {"pybullet": "bullet", "isaacgym": "isaac"}
"""Names on command lines and in recipes."""
REMEDIES = {"mujoco": "Run: pip install 'mujoco>=4'"}


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
