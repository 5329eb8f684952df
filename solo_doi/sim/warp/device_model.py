"""MuJoCo backend's model on a device: fields that differ per robot, checks of known limits."""

from __future__ import annotations

import mujoco
import mujoco_warp as mjw
import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.sim.mujoco.mujoco_model import build_model
from solo_doi.sim.simulator import SimConfig
from solo_doi.sim.terrain import Terrain
from solo_doi.sim.warp_config import Solver
from solo_doi.solo12.constants import BODY_NAMES, FOOT_NAMES

SOLVERS = {"newton": mujoco.mjtSolver.mjSOL_NEWTON, "cg": mujoco.mjtSolver.mjSOL_CG}
_SET_PER_ROBOT = (
    "geom_friction",
    "body_mass",
    "body_inertia",
    "dof_armature",
    "actuator_gainprm",
    "actuator_biasprm",
)
_DERIVED_FROM_MASS = ("body_subtreemass", "body_invweight0", "dof_invweight0")
# MuJoCo derives bounding sphere and box from the size; without them collisions are missed.
_BOX_SIZES = ("geom_size", "geom_rbound", "geom_aabb")
# Contact forces are read from the contacts, which saves the sensors' kernels. With "native"
# collision, Warp uses a general convex algorithm for two boxes; without it, that of C MuJoCo.
# Dampers stay enabled, although there are none: disabling them would also disable the implicit
# integration of the motors' velocity gain.
_UNUSED = (
    mujoco.mjtDisableBit.mjDSBL_SENSOR,
    mujoco.mjtDisableBit.mjDSBL_NATIVECCD,
)


def host_model(config: SimConfig, num_boxes: int, solver: Solver) -> mujoco.MjModel:
    """Return the MuJoCo backend's model, with a solver, without features that are not used."""
    model = build_model(config, num_boxes)
    for flag in _UNUSED:
        model.opt.disableflags |= int(flag)
    model.opt.solver = SOLVERS[solver]
    check_model(model)
    return model


def check_model(model: mujoco.MjModel) -> None:
    """Refuse models that MuJoCo 4.0.0 computes wrongly, or MuJoCo Warp not at all."""
    if mujoco.mj_isSparse(model):
        raise SoloError(
            f"The model's constraint Jacobian is sparse ({model.nv} degrees of freedom), which "
            "MuJoCo 4.0.0 factorises wrongly. Set `option.jacobian` to dense."
        )
    discrete = model.opt.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE
    if discrete and model.opt.noslip_iterations > 0:
        raise SoloError(
            f"MuJoCo Warp has no no-slip solver ({model.opt.noslip_iterations} iterations set) "
            "for the integrator 'discrete'. Use 'implicitfast', as this project's model does."
        )


def device_model(model: mujoco.MjModel, terrain: Terrain) -> mjw.Model:
    """Copy the model to the device in use, with separate fields for each robot."""
    fields = [*_SET_PER_ROBOT, *_DERIVED_FROM_MASS]
    if terrain.num_boxes:
        fields.extend(_BOX_SIZES)
    copy = mjw.put_model(model, batch_sizes=dict.fromkeys(fields, terrain.num_robots))
    copy.opt.warn_overflow = 0  # it prints from inside kernels; `health` reports instead
    if terrain.num_boxes:
        _size_boxes(copy, model, terrain)
    return copy


def _size_boxes(copy: mjw.Model, model: mujoco.MjModel, terrain: Terrain) -> None:
    half = terrain.solid_size / 2
    boxes = geom_of_box(model, terrain.num_boxes)
    size = copy.geom_size.numpy().copy()
    size[:, boxes] = half
    copy.geom_size.assign(size)
    radius = copy.geom_rbound.numpy().copy()
    radius[:, boxes] = np.linalg.norm(half, axis=-1)
    copy.geom_rbound.assign(radius)
    bounds = copy.geom_aabb.numpy().copy()
    bounds[:, boxes, 1] = half
    copy.geom_aabb.assign(bounds)


def geom_of_box(model: mujoco.MjModel, num_boxes: int) -> np.ndarray:
    """Return the geom of each box of the ground."""
    return np.array([model.geom(f"box{box}").id for box in range(num_boxes)], dtype=np.int32)


def part_of_geom(model: mujoco.MjModel) -> np.ndarray:
    """Return the robot's part of each geom, feet first, and -1 for the ground."""
    parts = np.full(model.ngeom, -1, dtype=np.int32)
    for part, name in enumerate((*FOOT_NAMES, *BODY_NAMES)):
        parts[model.geom(name).id] = part
    return parts
