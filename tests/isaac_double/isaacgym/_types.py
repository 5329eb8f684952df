"""Plain structures of gymapi.

Like the real ones, they refuse unknown attributes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np


class SimType(IntEnum):
    """Physics engines."""

    SIM_PHYSX = 0
    SIM_FLEX = 1


class UpAxis(IntEnum):
    """Axis that points up."""

    UP_AXIS_Y = 0
    UP_AXIS_Z = 1


class DofDriveMode(IntEnum):
    """Drive mode of a joint."""

    DOF_MODE_NONE = 0
    DOF_MODE_POS = 1
    DOF_MODE_VEL = 2
    DOF_MODE_EFFORT = 3


class ContactCollection(IntEnum):
    """Substeps in which contacts are collected."""

    CC_NEVER = 0
    CC_LAST_SUBSTEP = 1
    CC_ALL_SUBSTEPS = 2


class CoordinateSpace(IntEnum):
    """Axes of forces."""

    ENV_SPACE = 0
    LOCAL_SPACE = 1
    GLOBAL_SPACE = 2


class IndexDomain(IntEnum):
    """Domain of an index."""

    DOMAIN_ACTOR = 0
    DOMAIN_ENV = 1
    DOMAIN_SIM = 2


@dataclass(slots=True)
class Vec3:
    """Three numbers."""

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0


@dataclass(slots=True)
class Quat:
    """A quaternion, x first."""

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    w: float = 1.0


@dataclass(slots=True)
class Transform:
    """A position and an attitude."""

    p: Vec3 = field(default_factory=Vec3)
    r: Quat = field(default_factory=Quat)


@dataclass(slots=True)
class Mat33:
    """Three rows."""

    x: Vec3 = field(default_factory=Vec3)
    y: Vec3 = field(default_factory=Vec3)
    z: Vec3 = field(default_factory=Vec3)


@dataclass(slots=True)
class PhysXParams:
    """Solver; defaults are not those of the real one where a user must set them anyway."""

    always_use_articulations: bool = False
    bounce_threshold_velocity: float = 0.2
    contact_collection: ContactCollection = ContactCollection.CC_ALL_SUBSTEPS
    contact_offset: float = 0.02
    default_buffer_size_multiplier: float = 2.0
    friction_correlation_distance: float = 0.025
    friction_offset_threshold: float = 0.04
    max_depenetration_velocity: float = 100.0
    max_gpu_contact_pairs: int = 1024 * 1024
    num_position_iterations: int = 4
    num_subscenes: int = 0
    num_threads: int = 0
    num_velocity_iterations: int = 1
    rest_offset: float = 0.001
    solver_type: int = 1
    use_gpu: bool = False


@dataclass(slots=True)
class SimParams:
    """Simulation; Y is up by default, as in the real one."""

    dt: float = 1 / 60
    substeps: int = 2
    gravity: Vec3 = field(default_factory=lambda: Vec3(0.0, -9.8, 0.0))
    up_axis: UpAxis = UpAxis.UP_AXIS_Y
    num_client_threads: int = 0
    use_gpu_pipeline: bool = False
    physx: PhysXParams = field(default_factory=PhysXParams)


@dataclass(slots=True)
class PlaneParams:
    """The ground."""

    normal: Vec3 = field(default_factory=lambda: Vec3(0.0, 1.0, 0.0))
    distance: float = 0.0
    static_friction: float = 1.0
    dynamic_friction: float = 1.0
    restitution: float = 0.0
    segmentation_id: int = 0


@dataclass(slots=True)
class AssetOptions:
    """Options with which an asset is loaded.

    Defaults are the real ones, with some damping and a collision margin.
    """

    angular_damping: float = 0.5
    armature: float = 0.0
    collapse_fixed_joints: bool = False
    default_dof_drive_mode: int = 0
    density: float = 1000.0
    disable_gravity: bool = False
    fix_base_link: bool = False
    flip_visual_attachments: bool = True
    linear_damping: float = 0.0
    max_angular_velocity: float = 64.0
    max_linear_velocity: float = 1000.0
    replace_cylinder_with_capsule: bool = False
    thickness: float = 0.02


@dataclass(slots=True)
class ForceSensorProperties:
    """Forces that a sensor reports."""

    enable_constraint_solver_forces: bool = True
    enable_forward_dynamics_forces: bool = True
    use_world_frame: bool = False


@dataclass(slots=True)
class RigidBodyProperties:
    """Mass of a body."""

    mass: float = 0.0
    invMass: float = 0.0  # noqa: N815  # Isaac Gym's name
    com: Vec3 = field(default_factory=Vec3)
    inertia: Mat33 = field(default_factory=Mat33)
    invInertia: Mat33 = field(default_factory=Mat33)  # noqa: N815
    flags: int = 0


@dataclass(slots=True)
class RigidShapeProperties:
    """Material and filter of a shape."""

    friction: float = 1.0
    rolling_friction: float = 0.0
    torsion_friction: float = 0.0
    restitution: float = 0.0
    compliance: float = 0.0
    thickness: float = 0.0
    contact_offset: float = 0.02
    rest_offset: float = 0.0
    filter: int = 0


def copied(values: list) -> list:
    """Copy a list of structures with all they hold.

    `copy.deepcopy` takes a minute for 4096 robots.
    """
    return [_copied(value) for value in values]


def _copied(value: object) -> object:
    names = getattr(value, "__slots__", None)
    return type(value)(*(_copied(getattr(value, name)) for name in names)) if names else value


@dataclass(frozen=True)
class Version:
    """Version of Isaac Gym."""

    major: int = 1
    minor: int = 0


DOF_PROPERTIES = np.dtype(
    [
        ("hasLimits", "?"),
        ("lower", "<f4"),
        ("upper", "<f4"),
        ("driveMode", "<i4"),
        ("velocity", "<f4"),
        ("effort", "<f4"),
        ("stiffness", "<f4"),
        ("damping", "<f4"),
        ("friction", "<f4"),
        ("armature", "<f4"),
    ]
)
