"""The part of gymapi that is used, with its names, argument orders and defaults."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path

import mujoco
import numpy as np

from ._asset import Asset, box_asset, urdf_asset
from ._rules import require, require_doubled
from ._sim import Actor, Env, Sim, Tensor, columns_of
from ._types import (
    AssetOptions,
    ContactCollection,
    CoordinateSpace,
    DofDriveMode,
    ForceSensorProperties,
    IndexDomain,
    Mat33,
    PhysXParams,
    PlaneParams,
    Quat,
    RigidBodyProperties,
    RigidShapeProperties,
    SimParams,
    SimType,
    Transform,
    UpAxis,
    Vec3,
    Version,
    copied,
)

SIM_PHYSX, SIM_FLEX = SimType.SIM_PHYSX, SimType.SIM_FLEX
UP_AXIS_Y, UP_AXIS_Z = UpAxis.UP_AXIS_Y, UpAxis.UP_AXIS_Z
DOF_MODE_NONE, DOF_MODE_POS = DofDriveMode.DOF_MODE_NONE, DofDriveMode.DOF_MODE_POS
DOF_MODE_VEL, DOF_MODE_EFFORT = DofDriveMode.DOF_MODE_VEL, DofDriveMode.DOF_MODE_EFFORT
CC_NEVER, CC_LAST_SUBSTEP = ContactCollection.CC_NEVER, ContactCollection.CC_LAST_SUBSTEP
CC_ALL_SUBSTEPS = ContactCollection.CC_ALL_SUBSTEPS
ENV_SPACE, LOCAL_SPACE, GLOBAL_SPACE = CoordinateSpace
DOMAIN_ACTOR, DOMAIN_ENV, DOMAIN_SIM = IndexDomain

__all__ = [
    "Actor", "Asset", "AssetOptions", "Env", "ForceSensorProperties", "Gym", "Mat33",
    "PhysXParams", "PlaneParams", "Quat", "RigidBodyProperties", "RigidShapeProperties", "Sim",
    "SimParams", "Tensor", "Transform", "Vec3", "acquire_gym",
]  # fmt: skip


class Gym:
    """Isaac Gym's one object."""

    def get_version(self) -> Version:
        return Version()

    # --- building --------------------------------------------------------------------------------
    def create_sim(
        self, compute_device: int = 0, graphics_device: int = 0, type: SimType = SIM_FLEX,
        params: SimParams | None = None,
    ) -> Sim:  # fmt: skip
        return Sim(type, copy.deepcopy(params or SimParams()))

    def add_ground(self, sim: Sim, params: PlaneParams) -> None:
        sim.require_building("add_ground")
        require(
            columns_of(params.normal) == [0, 0, 1],
            "the ground's normal is not the z axis: it is Y by default",
        )
        sim.ground = copy.deepcopy(params)

    def load_asset(
        self, sim: Sim, rootpath: str, filename: str, options: AssetOptions | None = None
    ) -> Asset:
        sim.require_building("load_asset")
        return urdf_asset(Path(rootpath) / filename, options or AssetOptions())

    def create_box(
        self,
        sim: Sim,
        width: float,
        height: float,
        depth: float,
        options: AssetOptions | None = None,
    ) -> Asset:
        sim.require_building("create_box")
        return box_asset((width, height, depth), options or AssetOptions())

    def create_asset_force_sensor(
        self, asset: Asset, body_idx: int, local_pose: Transform,
        props: ForceSensorProperties | None = None
    ) -> int:  # fmt: skip
        require_doubled(local_pose == Transform(), "force sensors away from the body's origin")
        return asset.add_sensor(body_idx, props or ForceSensorProperties())

    def create_env(self, arg0: Sim, arg1: Vec3, arg2: Vec3, arg3: int) -> Env:
        arg0.require_building("create_env")
        require(
            arg2.x > arg1.x and arg2.y > arg1.y,
            "environments without extent lie in one place: pairs explode",
        )
        arg0.environments.append(Env(arg0, len(arg0.environments)))
        return arg0.environments[-1]

    def create_actor(
        self, env: Env, asset: Asset, pose: Transform, name: str | None = None,
        group: int = -1, filter: int = -1,
        segmentationId: int = 0,
    ) -> int:  # fmt: skip
        env.sim.require_building("create_actor")
        env.sim.add_material(asset.shapes)
        first = sum(len(actor.asset.bodies) for actor in env.actors)
        place = np.array(columns_of(pose.p) + columns_of(pose.r))
        shapes, joints = copied(asset.shapes), asset.joint_properties.copy()
        bodies = copied(_bodies(asset.urdf, tuple(asset.bodies)))
        env.actors.append(Actor(asset, place, group, filter, first, shapes, joints, bodies))
        return len(env.actors) - 1

    def prepare_sim(self, arg0: Sim) -> bool:
        return arg0.prepare()

    # --- properties ------------------------------------------------------------------------------
    def get_asset_dof_names(self, arg0: Asset) -> list[str]:
        return list(arg0.joints)

    def get_asset_dof_properties(self, arg0: Asset) -> np.ndarray:
        return arg0.joint_properties.copy()

    def get_asset_rigid_body_names(self, arg0: Asset) -> list[str]:
        return list(arg0.bodies)

    def find_asset_rigid_body_index(self, arg0: Asset, arg1: str) -> int:
        return arg0.bodies.index(arg1) if arg1 in arg0.bodies else -1

    def get_asset_rigid_shape_properties(self, arg0: Asset) -> list[RigidShapeProperties]:
        return copied(arg0.shapes)

    def set_asset_rigid_shape_properties(
        self, arg0: Asset, arg1: list[RigidShapeProperties]
    ) -> bool:
        arg0.shapes = copied(arg1)
        return True

    def get_actor_rigid_body_names(self, arg0: Env, arg1: int) -> list[str]:
        return list(arg0.actors[arg1].asset.bodies)

    def get_actor_rigid_body_properties(self, arg0: Env, arg1: int) -> list[RigidBodyProperties]:
        return copied(arg0.actors[arg1].bodies)

    def set_actor_rigid_body_properties(
        self,
        env: Env,
        actorHandle: int,
        props: list[RigidBodyProperties],
        recomputeInertia: bool = False,
    ) -> bool:
        env.sim.require_building("a change of mass")
        actor = env.actors[actorHandle]
        for body, old, new in zip(actor.asset.bodies, actor.bodies, props, strict=True):
            growth = new.mass / old.mass
            before, after = (
                np.array([columns_of(row) for row in columns_of(p.inertia)]) for p in (old, new)
            )
            given = np.allclose(after, before * growth, rtol=1e-5, atol=0)
            require_doubled(
                given or recomputeInertia, "inertias that are not in proportion to the mass"
            )
            actor.growth[body] = actor.growth.get(body, 1.0) * growth
        actor.bodies = copied(props)
        return True

    def get_actor_rigid_shape_properties(self, arg0: Env, arg1: int) -> list[RigidShapeProperties]:
        return copied(arg0.actors[arg1].shapes)

    def set_actor_rigid_shape_properties(
        self, arg0: Env, arg1: int, arg2: list[RigidShapeProperties]
    ) -> bool:
        actor = arg0.actors[arg1]
        arg0.sim.add_material(arg2)
        require_doubled(
            len({shape.friction for shape in arg2}) == 1,
            "shapes of one actor with different frictions",
        )
        actor.shapes = copied(arg2)
        if arg0.sim.is_prepared:
            arg0.sim.world.set_friction(arg0.index, arg2[0].friction)
        return True

    def set_actor_dof_properties(self, arg0: Env, arg1: int, arg2: np.ndarray) -> bool:
        arg0.sim.require_building("a change of joints")
        require_doubled(
            not arg2["stiffness"].any() and not arg2["damping"].any(),
            "joints with drives of their own",
        )
        arg0.actors[arg1].joints = arg2.copy()
        return True

    def get_actor_index(self, arg0: Env, arg1: int, arg2: IndexDomain) -> int:
        return arg1 + (arg0.index * len(arg0.actors) if arg2 == DOMAIN_SIM else 0)

    def find_actor_rigid_body_index(
        self, arg0: Env, arg1: int, arg2: str, arg3: IndexDomain
    ) -> int:
        actor, per_env = arg0.actors[arg1], sum(len(actor.asset.bodies) for actor in arg0.actors)
        start = {
            DOMAIN_ACTOR: 0,
            DOMAIN_ENV: actor.first_body,
            DOMAIN_SIM: arg0.index * per_env + actor.first_body,
        }
        return start[arg3] + actor.asset.bodies.index(arg2)

    # --- tensors ---------------------------------------------------------------------------------
    def acquire_actor_root_state_tensor(self, arg0: Sim) -> Tensor:
        return arg0.acquire("root")

    def acquire_dof_state_tensor(self, arg0: Sim) -> Tensor:
        return arg0.acquire("joint")

    def acquire_net_contact_force_tensor(self, arg0: Sim) -> Tensor:
        return arg0.acquire("contact")

    def acquire_force_sensor_tensor(self, arg0: Sim) -> Tensor:
        return arg0.acquire("sensor")

    def refresh_actor_root_state_tensor(self, arg0: Sim) -> bool:
        return arg0.refresh("root")

    def refresh_dof_state_tensor(self, arg0: Sim) -> bool:
        return arg0.refresh("joint")

    def refresh_net_contact_force_tensor(self, arg0: Sim) -> bool:
        return arg0.refresh("contact")

    def refresh_force_sensor_tensor(self, arg0: Sim) -> bool:
        return arg0.refresh("sensor")

    def set_actor_root_state_tensor_indexed(
        self, arg0: Sim, arg1: Tensor, arg2: Tensor, arg3: int
    ) -> bool:
        def read() -> tuple[np.ndarray, np.ndarray]:
            states = arg1.read("root states", "float32", arg0.buffers["root"].shape)
            actors = arg2.read("actor indices", "int32", (arg3,))
            return actors, states.astype(np.float64)

        read()  # now, and again on use
        return arg0.set_once("set_actor_root_state_tensor_indexed", lambda: _place(arg0, *read()))

    def set_dof_state_tensor_indexed(
        self, arg0: Sim, arg1: Tensor, arg2: Tensor, arg3: int
    ) -> bool:
        def read() -> tuple[np.ndarray, np.ndarray]:
            states = arg1.read("joint states", "float32", arg0.buffers["joint"].shape)
            return _robots(arg0, arg2, arg3), states.astype(np.float64)

        read()
        return arg0.set_once("set_dof_state_tensor_indexed", lambda: _bend(arg0, *read()))

    def set_dof_actuation_force_tensor(self, arg0: Sim, arg1: Tensor) -> bool:
        shape = arg0.buffers["joint"].shape[:2]
        arg1.read("efforts", "float32", shape)
        return arg0.set_once(
            "set_dof_actuation_force_tensor",
            lambda: arg0.set_efforts(arg1.read("efforts", "float32", shape)),
        )

    def apply_rigid_body_force_tensors(
        self, sim: Sim, forceTensor: Tensor | None = None, torqueTensor: Tensor | None = None,
        space: CoordinateSpace = ENV_SPACE,
    ) -> bool:  # fmt: skip
        require_doubled(
            torqueTensor is None and space == ENV_SPACE,
            "torques on bodies, and forces in other axes",
        )
        shape = sim.buffers["contact"].shape
        assert forceTensor is not None
        forceTensor.read("forces", "float32", shape)
        return sim.set_once(
            "apply_rigid_body_force_tensors",
            lambda: sim.set_forces(forceTensor.read("forces", "float32", shape)),
        )

    def simulate(self, arg0: Sim) -> None:
        arg0.simulate()

    def destroy_sim(self, arg0: Sim) -> None:
        arg0.is_prepared = False  # tensors no longer exist

    def fetch_results(self, arg0: Sim, arg1: bool) -> None:
        arg0.fetch()


_GYM = Gym()


def acquire_gym() -> Gym:
    """Return the one object."""
    return _GYM


def _robots(sim: Sim, indices: Tensor, count: int) -> np.ndarray:
    """Environments of the robots among actors that indices name."""
    actors = indices.read("actor indices", "int32", (count,))
    require(not (actors % sim.num_actors).any(), "actor indices name a box, which has no joints")
    return actors // sim.num_actors


def _place(sim: Sim, actors: np.ndarray, states: np.ndarray) -> None:
    environments, actor = np.divmod(actors, sim.num_actors)
    for environment, box in zip(environments[actor > 0], actor[actor > 0], strict=True):
        sim.move_box(int(environment), int(box), states[environment, box, :3])
    robots = environments[actor == 0]
    joints = sim.world.joints()[robots]
    sim.world.place(robots)  # a robot at a new position has no memory of contacts
    sim.world.set_joints(robots, joints)
    sim.world.set_root(robots, states[robots, 0])


def _bend(sim: Sim, environments: np.ndarray, states: np.ndarray) -> None:
    sim.world.set_joints(environments, states[environments])


@cache
def _bodies(urdf: str, names: tuple[str, ...]) -> list[RigidBodyProperties]:
    """Masses of an asset's bodies, as MuJoCo reads them; only their proportions matter later."""
    if not urdf:
        return [RigidBodyProperties(mass=1.0, invMass=1.0)]
    found = []
    spec = mujoco.MjSpec.from_string(urdf)
    for name in names:
        mass = float(spec.body(name).mass)
        full = spec.body(name).fullinertia
        xx, yy, zz, xy, xz, yz = (float(number) for number in full)
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        found.append(
            RigidBodyProperties(
                mass, 1 / mass, Vec3(), _rows(inertia), _rows(np.linalg.inv(inertia))
            )
        )
    return found


def _rows(matrix: np.ndarray) -> Mat33:
    return Mat33(*(Vec3(*row) for row in matrix.tolist()))
