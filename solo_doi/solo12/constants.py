"""Solo12 in numbers, each with its source. SI units; the joint order is `JOINT_NAMES` everywhere.

Sources:
  [ERD]     example-robot-data 6.0.0 (PyPI), solo_description/robots/solo12.urdf:
            frames, geometry, meshes.
  [DOMiNiC] martius-lab/dominic, solo12.urdf and configs:
            inertias, limits, gains, poses, rates.
  [ODRI]    open-dynamic-robot-initiative, solo12 driver file:
            motor constant, gear ratio, driver limits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solo_doi.common.errors import SoloError

Array = NDArray[np.float64]


def constant(values: object) -> Array:
    """Return a read-only array."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


# --- Names and order -----------------------------------------------------------------------------
# The order of both URDFs, of the authors' hardware script and of Isaac Gym's depth-first rule.
LEG_NAMES = ("FL", "FR", "HL", "HR")
JOINTS_PER_LEG = ("HAA", "HFE", "KFE")
JOINT_NAMES = tuple(f"{leg}_{joint}" for leg in LEG_NAMES for joint in JOINTS_PER_LEG)
NUM_JOINTS = len(JOINT_NAMES)
NUM_LEGS = len(LEG_NAMES)
BASE_NAME = "base_link"
FOOT_NAMES = tuple(f"{leg}_FOOT" for leg in LEG_NAMES)
BODY_NAMES = (
    BASE_NAME,
    *(f"{leg}_{link}" for leg in LEG_NAMES for link in ("SHOULDER", "UPPER_LEG", "LOWER_LEG")),
)
"""Bodies other than feet, in the order of contact arrays."""
CONTACT_BODIES = (*FOOT_NAMES, *BODY_NAMES)
"""All bodies that may touch something, feet first."""


def check_joint_names(names: Iterable[str], where: str) -> None:
    """Refuse joints in another order than `JOINT_NAMES`: values would reach the wrong motors."""
    found = tuple(names)
    if found != JOINT_NAMES:
        raise SoloError(
            f"{where}: joints {', '.join(found)} are not Solo12's in this project's order "
            f"{', '.join(JOINT_NAMES)}. Reorder per-joint values by name."
        )


# +1 for left and front, -1 for right and hind: the robot is symmetric about both planes.
SIDE = constant([1, -1, 1, -1])
FRONT = constant([1, 1, -1, -1])

# --- Geometry [ERD] ------------------------------------------------------------------------------
# HAA turns about +x, HFE and KFE about +y in every leg: no axis is mirrored.
HAA_X = 0.1946
HAA_Y = 0.0875
HFE_Y = 0.014
KFE_Y = 0.03745
KFE_Z = -0.16
ANKLE_Y = 0.008
ANKLE_Z = -0.16
FOOT_RADIUS = 0.016
"""Radius of the foot's disc, from the mesh, and of the collision sphere [m]."""
BASE_BOX = (0.45, 0.10, 0.04)
"""Collision box of the base [DOMiNiC]."""
DOMINIC_HAA_X = 0.2141
DOMINIC_ANKLE_Y = 0.009
"""Hip and ankle frames of DOMiNiC's file, to which its centres of mass refer [m]."""

# --- Inertia [DOMiNiC] ---------------------------------------------------------------------------
TOTAL_MASS = 2.529048
GRAVITY = 9.81
UP_W = constant([0.0, 0.0, GRAVITY])
"""Acceleration that an accelerometer at rest measures, in the world frame [m/s^2]."""


@dataclass(frozen=True)
class Inertia:
    """Inertia of a link, in the link's frame."""

    mass: float  # [kg]
    com: Array  # (3,) centre of mass [m]
    moments: Array  # (xx, xy, xz, yy, yz, zz) about the centre of mass [kg m^2]


def _reflected(
    mass: float, com: tuple[float, ...], moments: tuple[float, ...], signs: Array
) -> Inertia:
    """Return a link's inertia from the front-left link's, by the signs of its coordinates."""
    sx, sy, sz = signs
    moment_signs = [1, sx * sy, sx * sz, 1, sy * sz, 1]
    return Inertia(
        mass, constant(np.array(com) * signs), constant(np.array(moments) * moment_signs)
    )


def link_inertias() -> dict[str, Inertia]:
    """Return the inertia of every link, by name.

    Centres of mass are those of DOMiNiC's file at zero pose, expressed in ERD's frames.
    """
    links = {
        BASE_NAME: Inertia(
            1.25123725,
            constant([-0.00082966, 0.00000105, -0.00060210]),
            constant([0.00266220, -0.00003684, -0.00001716, 0.01388510, -0.00000009, 0.01605370]),
        )
    }
    hip_shift = DOMINIC_HAA_X - HAA_X  # 19.5 mm between the two files' hip frames
    foot_shift = DOMINIC_ANKLE_Y - ANKLE_Y  # 1 mm between their foot frames
    for leg, side, front in zip(LEG_NAMES, SIDE, FRONT, strict=True):
        # The four shoulders are one part, turned about x or y.
        turned = constant([front, side, front * side])
        # Thighs come in a left and a right part, the same in front and behind.
        sided = constant([side, side, 1])
        links[f"{leg}_SHOULDER"] = _reflected(
            0.14196048,
            (-0.09407251 + hip_shift, -0.00438935, 0.00001384),
            (0.00002802, 0.00003687, -0.00000009, 0.00038264, 0.0, 0.00038050),
            turned,
        )
        links[f"{leg}_UPPER_LEG"] = _reflected(
            0.14737324,
            (0.00001530, 0.01767640, -0.07838230),
            (0.00041540, 0.0, 0.00000010, 0.00041637, -0.00004589, 0.00002982),
            sided,
        )
        links[f"{leg}_LOWER_LEG"] = _reflected(
            0.02318294,
            (0.0, 0.00776716, -0.07003876),
            (0.00008508, 0.0, 0.0, 0.00008580, -0.00000200, 0.00000139),
            sided,
        )
        links[f"{leg}_FOOT"] = _reflected(
            0.00693606,
            (0.0, foot_shift, 0.00035767),
            (0.00000057, 0.0, 0.0, 0.00000084, 0.0, 0.00000053),
            sided,
        )
    return links


# --- Control -------------------------------------------------------------------------------------
PHYSICS_DT = 0.005
"""Physics step in training [DOMiNiC]."""
DECIMATION = 4
"""Physics steps per control step [DOMiNiC]: the policy runs at 50 Hz."""
CONTROL_DT = PHYSICS_DT * DECIMATION
SENSE_DT = 0.001
"""Period at which a robot reads its sensors, estimates and drives its motors [s]."""
MOTOR_LAG = 0.015
"""Delay from policy to motor in training, three physics steps [DOMiNiC]."""
ACTION_SCALE = 0.25
"""Radians per unit of policy output [DOMiNiC]."""


@dataclass(frozen=True)
class ControlSetup:
    """Pose at zero action and joint gains of a task."""

    default_pose: Array
    kp: float
    """Position gain [N m/rad]."""
    kd: float
    """Velocity gain [N m s/rad]."""
    standing_height: float
    """Base height in the default pose with feet on the ground, before the joints sag [m]."""


def symmetric_pose(haa: float, hfe: float, kfe: float) -> Array:
    """Return the 12 joint angles of a symmetric pose, given the front-left leg's angles [rad]."""
    return constant(np.stack([SIDE * haa, FRONT * hfe, FRONT * kfe], axis=1).ravel())


CONTROL_SETUPS = {
    "locomotion": ControlSetup(
        symmetric_pose(0.05, 0.6, -1.4), kp=5.0, kd=0.1, standing_height=0.256
    ),
    # DOMiNiC's position task has kp 2.5 and HFE pi/4, KFE -pi/2. Ours has the values of locomotion:
    # its policies start from the walking expert, and a robot climbed with these gains.
    "navigation": ControlSetup(
        symmetric_pose(0.05, 0.6, -1.4), kp=5.0, kd=0.1, standing_height=0.256
    ),
}
"""Poses, gains and heights of the two tasks [locomotion: DOMiNiC's velocity task]."""
