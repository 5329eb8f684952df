"""Contents of the simulation: solver, ground, robots and boxes, all added before `finish`."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import isaacgym.gymapi as gymapi
import isaacgym.gymutil as gymutil
import numpy as np

SELF_COLLISION_OFF = 1
"""Collision filter of a robot's shapes: shapes with a common bit do not collide."""
COLLIDES_WITH_ALL = 0
"""Collision filter without a bit."""


class Scene:
    """One simulation with N environments, each with a robot and its boxes."""

    def __init__(self, gym: gymapi.Gym, setup: dict[str, Any]) -> None:
        """Create the simulation, its ground and the robot's asset."""
        self.gym = gym
        self.setup = setup
        kind, number = gymutil.parse_device_str(setup["device"])
        self.uses_gpu = kind == "cuda"
        # No graphics device: nothing is drawn, and Vulkan is not needed.
        self.sim = gym.create_sim(number, -1, gymapi.SIM_PHYSX, self._parameters())
        if self.sim is None:
            raise RuntimeError(
                f"create_sim failed on {setup['device']}: Isaac Gym needs a free NVIDIA GPU and "
                "driver 470 or newer. `nvidia-smi` shows both."
            )
        self._add_ground()
        self.robot = self._load_robot()
        self.joint_columns = _columns(gym.get_asset_dof_names(self.robot), setup["joints"], "joint")
        self._add_foot_sensors()
        self._environments: list[Any] = []
        self._actors: list[int] = []
        self._boxes: list[list[int]] = []

    def finish(self, arrays: dict[str, np.ndarray]) -> None:
        """Create all robots with their current parameters and boxes; start the solver."""
        gym = self.gym
        spacing = self.setup["spacing"] / 2
        low = gymapi.Vec3(-spacing, -spacing, 0.0)
        high = gymapi.Vec3(spacing, spacing, spacing)
        row = math.ceil(math.sqrt(self.setup["robots"]))
        for index in range(self.setup["robots"]):
            environment = gym.create_env(self.sim, low, high, row)
            self._environments.append(environment)
            self._actors.append(self._add_robot(environment, index, arrays))
            boxes = []
            for box in range(self.setup["boxes"]):
                actor = self._add_box(
                    environment,
                    index,
                    arrays["box_centre"][index, box],
                    arrays["box_size"][index, box],
                )
                boxes.append(actor)
            self._boxes.append(boxes)
        if not gym.prepare_sim(self.sim):
            raise RuntimeError(
                "prepare_sim failed: is there enough memory on the GPU for so many robots?"
            )

    def actor_indices(self) -> np.ndarray:
        """Rows of the robots in the table of all actors."""
        indices = []
        for environment, actor in zip(self._environments, self._actors):
            indices.append(self.gym.get_actor_index(environment, actor, gymapi.DOMAIN_SIM))
        return np.array(indices, dtype=np.int32)

    def box_indices(self) -> np.ndarray:
        """Rows of the boxes in the table of all actors, (robots, boxes)."""
        indices = []
        for environment, boxes in zip(self._environments, self._boxes):
            get = self.gym.get_actor_index
            indices.append([get(environment, box, gymapi.DOMAIN_SIM) for box in boxes])
        return np.array(indices, dtype=np.int32).reshape(len(self._boxes), -1)

    def body_columns(self, names: list[str]) -> list[int]:
        """Indices of bodies within an environment; all environments are alike."""
        first = self._environments[0]
        actor = self._actors[0]
        return [
            self.gym.find_actor_rigid_body_index(first, actor, name, gymapi.DOMAIN_ENV)
            for name in names
        ]

    def set_friction(self, index: int, friction: float) -> None:
        """Change the friction of a robot that exists."""
        environment, actor = self._environments[index], self._actors[index]
        shapes = self.gym.get_actor_rigid_shape_properties(environment, actor)
        self.gym.set_actor_rigid_shape_properties(
            environment, actor, _with_friction(shapes, friction)
        )

    def _parameters(self) -> gymapi.SimParams:
        setup, parameters = self.setup, gymapi.SimParams()
        parameters.dt, parameters.substeps = setup["dt"], 1
        parameters.up_axis = gymapi.UP_AXIS_Z
        parameters.gravity = gymapi.Vec3(0.0, 0.0, -setup["gravity"])
        parameters.use_gpu_pipeline = self.uses_gpu
        parameters.physx.use_gpu = self.uses_gpu
        parameters.physx.contact_collection = gymapi.CC_LAST_SUBSTEP
        for name, value in setup["physx"].items():
            setattr(parameters.physx, name, value)
        return parameters

    def _add_ground(self) -> None:
        plane = gymapi.PlaneParams()
        plane.normal, plane.distance = gymapi.Vec3(0.0, 0.0, 1.0), 0.0
        plane.static_friction = plane.dynamic_friction = self.setup["ground_friction"]
        plane.restitution = 0.0
        self.gym.add_ground(self.sim, plane)

    def _load_robot(self) -> gymapi.Asset:
        options = gymapi.AssetOptions()
        options.default_dof_drive_mode = int(gymapi.DOF_MODE_EFFORT)
        options.collapse_fixed_joints = True  # except the feet's, marked dont_collapse
        options.replace_cylinder_with_capsule = True
        options.fix_base_link = options.disable_gravity = options.flip_visual_attachments = False
        # Isaac Gym's defaults add damping, inertia and a margin, and limit speeds.
        options.angular_damping = options.linear_damping = options.armature = options.thickness = (
            0.0
        )
        options.max_angular_velocity = options.max_linear_velocity = 1000.0
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "robot.urdf").write_text(self.setup["urdf"])
            asset = self.gym.load_asset(self.sim, folder, "robot.urdf", options)
        if asset is None:
            raise RuntimeError(
                "load_asset refused the robot's URDF; Isaac Gym's own message is above."
            )
        return asset

    def _add_foot_sensors(self) -> None:
        properties = gymapi.ForceSensorProperties()
        properties.enable_forward_dynamics_forces = False  # such as gravity
        properties.enable_constraint_solver_forces = True  # contacts
        properties.use_world_frame = True
        names = self.gym.get_asset_rigid_body_names(self.robot)
        _columns(names, self.setup["contact_bodies"], "body")
        for foot in self.setup["feet"]:
            body = self.gym.find_asset_rigid_body_index(self.robot, foot)
            self.gym.create_asset_force_sensor(self.robot, body, gymapi.Transform(), properties)

    def _add_robot(self, environment: gymapi.Env, index: int, arrays: dict[str, np.ndarray]) -> int:
        gym = self.gym
        # Set on the asset: robots with equal friction then share one of the few materials.
        shapes = _with_friction(
            gym.get_asset_rigid_shape_properties(self.robot), float(arrays["friction"][index])
        )
        gym.set_asset_rigid_shape_properties(self.robot, shapes)
        pose = gymapi.Transform()
        pose.p = gymapi.Vec3(*arrays["root"][index, :3].tolist())
        actor = gym.create_actor(
            environment, self.robot, pose, "robot", index, SELF_COLLISION_OFF, 0
        )
        joints = gym.get_asset_dof_properties(self.robot)
        joints["driveMode"].fill(int(gymapi.DOF_MODE_EFFORT))
        for name in ("stiffness", "damping", "friction"):
            joints[name].fill(0.0)
        joints["velocity"].fill(self.setup["joint_speed"])
        joints["effort"].fill(self.setup["torque_limit"])
        joints["armature"].fill(float(arrays["armature"][index]))
        gym.set_actor_dof_properties(environment, actor, joints)
        self._add_mass(environment, actor, float(arrays["added_mass"][index]))
        return actor

    def _add_mass(self, environment: gymapi.Env, actor: int, added: float) -> None:
        bodies = self.gym.get_actor_rigid_body_properties(environment, actor)
        base = bodies[
            self.gym.get_actor_rigid_body_names(environment, actor).index(self.setup["base"])
        ]
        growth = (base.mass + added) / base.mass
        base.mass = base.mass * growth
        base.invMass = base.invMass / growth
        base.inertia = _scaled(base.inertia, growth)
        base.invInertia = _scaled(base.invInertia, 1.0 / growth)
        # False: do not recompute the inertia from the collision shapes.
        if not self.gym.set_actor_rigid_body_properties(environment, actor, bodies, False):
            raise RuntimeError(f"Isaac Gym refused a base of {base.mass} kg")

    def _add_box(
        self, environment: gymapi.Env, index: int, centre: np.ndarray, size: np.ndarray
    ) -> int:
        options = gymapi.AssetOptions()
        options.fix_base_link = True
        options.thickness = 0.0
        width, depth, height = size.tolist()
        box = self.gym.create_box(self.sim, width, depth, height, options)
        shapes = self.gym.get_asset_rigid_shape_properties(box)
        self.gym.set_asset_rigid_shape_properties(
            box, _with_friction(shapes, self.setup["ground_friction"])
        )
        pose = gymapi.Transform()
        pose.p = gymapi.Vec3(*centre.tolist())
        return self.gym.create_actor(environment, box, pose, "box", index, COLLIDES_WITH_ALL, 0)


def _with_friction(shapes: list[Any], friction: float) -> list[Any]:
    for shape in shapes:
        shape.friction = friction
        shape.restitution = 0.0
        shape.rolling_friction = shape.torsion_friction = 0.0
    return shapes


def _scaled(matrix: gymapi.Mat33, factor: float) -> gymapi.Mat33:
    scaled = gymapi.Mat33()
    for name in ("x", "y", "z"):
        row = getattr(matrix, name)
        setattr(scaled, name, gymapi.Vec3(row.x * factor, row.y * factor, row.z * factor))
    return scaled


def _columns(found: list[str], wanted: list[str], what: str) -> list[int]:
    """Return the indices of our names in Isaac Gym's list, which has another order."""
    missing = [name for name in wanted if name not in found]
    if missing:
        raise RuntimeError(
            f"Isaac Gym found no {what} {', '.join(missing)} in the robot's URDF, "
            f"only {', '.join(found)}. A body vanishes if its fixed joint lacks dont_collapse."
        )
    return [found.index(name) for name in wanted]
