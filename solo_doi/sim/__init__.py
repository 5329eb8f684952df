"""Simulators: joint targets in, robot states out, N robots at once."""

from __future__ import annotations

import importlib

from solo_doi.errors import MissingPackageError, UnknownNameError

from .domain import Domain
from .isaac_config import IsaacConfig
from .simulator import SimConfig, SimulationError, Simulator
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

SIMULATORS = {"mujoco": "MujocoSimulator", "bullet": "BulletSimulator", "isaac": "IsaacSimulator"}
ALIASES = {"pybullet": "bullet", "isaacgym": "isaac"}
REMEDIES = {"mujoco": "Run: pip install 'mujoco>=4'"}


def make_simulator(name: str, config: SimConfig, terrain: Terrain | None = None) -> Simulator:
    """Return a simulator by name; engines are imported only when asked for."""
    module = ALIASES.get(name, name)
    if module not in SIMULATORS:
        raise UnknownNameError("simulator", name, (*SIMULATORS, *ALIASES))
    try:
        simulator = getattr(importlib.import_module(f"solo_doi.sim.{module}"), SIMULATORS[module])
    except ModuleNotFoundError as error:
        package = (error.name or module).split(".")[0]
        remedy = REMEDIES.get(package, f"Run: pip install {package}")
        raise MissingPackageError(package, f"The simulator {name!r}", remedy) from error
    return simulator(config, terrain)
