"""A simulation that is built, prepared and stepped.

It owns the tensors and raises errors for broken rules of Isaac Gym.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._asset import Asset
from ._rules import require, require_doubled
from ._types import (
    PlaneParams,
    RigidBodyProperties,
    RigidShapeProperties,
    SimParams,
    SimType,
    UpAxis,
)
from ._world import Robot, World

MAX_MATERIALS = 64000
FROZEN = os.environ.get("ISAAC_DOUBLE_FROZEN") == "1"
"""Disable physics, to measure the rest."""


@dataclass
class Tensor:
    """An address of numbers, with their owner."""

    values: np.ndarray
    kind: str = "float32"
    owner: weakref.ref | None = None

    def read(self, what: str, kind: str, shape: tuple[int, ...]) -> np.ndarray:
        """Return the numbers, if they still exist and have the expected kind."""
        require(
            self.owner is None or self.owner() is not None,
            f"{what}: the tensor was freed, keep a reference to it",
        )
        require(self.kind == kind, f"{what}: expected {kind}, found {self.kind}")
        require(
            self.values.size == np.prod(shape),
            f"{what}: expected shape {shape}, found {self.values.shape}",
        )
        return self.values.reshape(shape)


@dataclass
class Actor:
    """One actor of an environment."""

    asset: Asset
    place: np.ndarray
    group: int
    filter: int
    first_body: int
    shapes: list[RigidShapeProperties]
    joints: np.ndarray
    bodies: list[RigidBodyProperties]
    growth: dict[str, float] = field(default_factory=dict)


@dataclass(eq=False)
class Env:
    """An environment: a robot first, then boxes."""

    sim: Sim
    index: int
    actors: list[Actor] = field(default_factory=list)


class Sim:
    """All environments and tensors."""

    exists = False
    """True if this process has made a simulation, even a destroyed one."""

    def __init__(self, kind: SimType, params: SimParams) -> None:
        """Check parameters with unsafe defaults."""
        require(
            not Sim.exists,
            "one simulation per process: a second create_sim breaks the GPU's memory",
        )
        require(
            kind == SimType.SIM_PHYSX,
            "SIM_FLEX, the default of create_sim, has no tensor interface",
        )
        require(
            params.up_axis == UpAxis.UP_AXIS_Z,
            "up_axis is Y, the default: Z-up robots would lie down",
        )
        require(
            params.gravity.z < 0 == params.gravity.x == params.gravity.y,
            "gravity does not point down the z axis",
        )
        require_doubled(params.substeps == 1, "substeps")
        Sim.exists = True
        self.params, self.environments, self.is_prepared = params, list[Env](), False
        self.ground: PlaneParams | None = None
        self.materials: set[tuple[float, ...]] = set()
        self._set_since: set[str] = set()
        self._pending: list[Callable[[], None]] = []
        self._needs_fetch = False

    def require_building(self, what: str) -> None:
        """Refuse changes after `prepare_sim`."""
        require(not self.is_prepared, f"{what} must come before prepare_sim")

    def add_material(self, shapes: list[RigidShapeProperties]) -> None:
        """Count materials: shapes with equal numbers share one."""
        self.materials |= {
            (shape.friction, shape.restitution, shape.compliance) for shape in shapes
        }
        require(
            len(self.materials) <= MAX_MATERIALS,
            f"PhysX has room for {MAX_MATERIALS} materials: use buckets",
        )

    def prepare(self) -> bool:
        """Make the world and the tensors."""
        self.require_building("prepare_sim")
        require_doubled(
            self.ground is not None and bool(self.environments), "worlds without ground or robots"
        )
        first = self.environments[0].actors
        robot = first[0].asset
        groups = [env.actors[0].group for env in self.environments]
        require(
            len(set(groups)) == len(groups) and -1 not in groups,
            "robots share a collision group: they would meet",
        )
        self.num_actors, self.num_bodies = (
            len(first),
            sum(len(actor.asset.bodies) for actor in first),
        )
        self.world = World(
            robot, [self._robot(env) for env in self.environments], self.ground.static_friction,  # type: ignore[union-attr]
            (0.0, 0.0, self.params.gravity.z), self.params.dt,
            self_collision=not first[0].filter & first[0].filter,
        )  # fmt: skip
        count, joints = len(self.environments), len(robot.joints)
        self.buffers = {
            "root": np.zeros((count, self.num_actors, 13), np.float32),
            "joint": np.zeros((count, joints, 2), np.float32),
            "contact": np.zeros((count, self.num_bodies, 3), np.float32),
            "sensor": np.zeros((count, len(robot.sensors), 6), np.float32),
        }
        self._sensor_bodies = [robot.bodies.index(body) for body in robot.sensors]
        self._obey = np.array([env.actors[0].joints["driveMode"] == 3 for env in self.environments])
        self._effort, self._force = (
            np.zeros((count, joints)),
            np.zeros((count, len(robot.bodies), 3)),
        )
        self.is_prepared = True
        return True

    def acquire(self, name: str) -> Tensor:
        """Return a buffer, flat as in Isaac Gym."""
        require(self.is_prepared, "tensors exist only after prepare_sim")
        values = self.buffers[name]
        return Tensor(values.reshape(-1, values.shape[-1]))

    def refresh(self, name: str) -> bool:
        """Copy from the world into a buffer."""
        require(self.is_prepared, "tensors exist only after prepare_sim")
        require(
            not self._set_since,
            f"refresh after {', '.join(sorted(self._set_since))}: stale until simulate",
        )
        require(not self._needs_fetch, "on the CPU, fetch_results must follow simulate")
        if FROZEN:
            return True
        if name == "root":
            self.buffers["root"][:, 0] = self.world.root()
            for box in range(1, self.num_actors):
                self.buffers["root"][:, box, :3] = [
                    env.actors[box].place[:3] for env in self.environments
                ]
        elif name == "joint":
            self.buffers["joint"][:] = self.world.joints()
        else:
            along, total = self.world.contacts()
            if name == "contact":
                self.buffers["contact"][:, : along.shape[1]] = along
            else:
                self.buffers["sensor"][..., :3] = total[:, self._sensor_bodies]
                self.buffers["sensor"][..., 3:] = np.nan  # torques are not doubled
        return True

    def set_once(self, name: str, apply: Callable[[], None]) -> bool:
        """Add a setter for the next `simulate`."""
        require(self.is_prepared, f"{name} must come after prepare_sim")
        require(
            name not in self._set_since,
            f"{name} was called twice since the last simulate: unite the indices",
        )
        self._set_since.add(name)
        self._pending.append(apply)
        return True

    def move_box(self, environment: int, box: int, place: np.ndarray) -> None:
        """Move a box; the tensor of roots shows its new place after the next refresh."""
        self.environments[environment].actors[box].place[:3] = place
        self.world.move_box(environment, box - 1, place)

    def set_efforts(self, values: np.ndarray) -> None:
        """Take efforts for the next step; joints that are driven otherwise ignore them."""
        self._effort[:] = np.where(self._obey, values, 0.0)

    def set_forces(self, values: np.ndarray) -> None:
        """Take forces on the robots' bodies for the next step."""
        self._force[:] = values[:, : self._force.shape[1]]

    def simulate(self) -> None:
        """Apply the setters and advance; efforts and forces are consumed."""
        require(self.is_prepared, "simulate must come after prepare_sim")
        if not FROZEN:
            for apply in self._pending:
                apply()
            self.world.step(self._effort, self._force)
            self._effort[:], self._force[:] = 0.0, 0.0
        self._pending, self._set_since = [], set()
        self._needs_fetch = not self.params.use_gpu_pipeline

    def fetch(self) -> None:
        """Make results of a CPU simulation visible."""
        self._needs_fetch = False

    def _robot(self, env: Env) -> Robot:
        robot, *boxes = env.actors
        assert self.ground is not None
        for box in boxes:
            require(
                box.group == robot.group,
                "a box in another collision group than its robot: they never touch",
            )
            require(
                not box.filter & robot.filter,
                "filters of box and robot have a common bit: they never touch",
            )
            require_doubled(
                box.shapes[0].friction
                == self.ground.static_friction
                == self.ground.dynamic_friction,
                "boxes with another friction than the ground",
            )
        frictions = {shape.friction for shape in robot.shapes}
        require_doubled(len(frictions) == 1, "shapes of one robot with different frictions")
        placed = [(box.place[:3], np.array(box.asset.size) / 2) for box in boxes]
        return Robot(robot.place, frictions.pop(), robot.joints, robot.growth, placed)


def columns_of(value: Any) -> list[float]:  # Vec3 or Quat
    """Numbers of a small structure."""
    return [getattr(value, name) for name in ("x", "y", "z", "w") if hasattr(value, name)]
