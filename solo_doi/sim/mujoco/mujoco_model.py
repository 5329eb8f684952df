"""MuJoCo model of Solo12: ground, boxes, joint controllers, contact sensors."""

from __future__ import annotations

import mujoco
import numpy as np

from solo_doi.sim.simulator import SimConfig
from solo_doi.solo12.constants import BASE_NAME, BODY_NAMES, FOOT_NAMES, GRAVITY, JOINT_NAMES
from solo_doi.solo12.urdf import solo12_urdf

# Settings and the measurements behind them:
# - Elliptic cones: pyramidal ones are 20 % faster, but normal forces of sliding feet chatter
#   (standard deviation 3 N on 25 N).
# - Three no-slip iterations: without them the feet of a standing robot creep outwards at 8 mm/s.
#   They cost 10 % of the speed; impratio 100 has the same effect and costs 30 %.
# - Newton's iterations are not capped: capped solvers are no faster here and let robots fly.
# - `implicitfast` keeps the velocity gain stable (kd dt / I is 0.9 at the knee).
NO_SLIP_ITERATIONS = 3
CONTACT_TIME = 0.01
"""Time constant of contacts, twice the physics step of training [s]."""
SLOTS = 8
"""Contacts that a sensor reports per body: two boxes (base, obstacle) touch in up to eight."""
# Contact force in the contact's frame, and contact normal in the world frame.
_FIELDS = (mujoco.mjtConDataField.mjCONDATA_FORCE, mujoco.mjtConDataField.mjCONDATA_NORMAL)
_FORCE_AND_NORMAL = sum(1 << int(field) for field in _FIELDS)
_STRONGEST_FIRST = 2


def build_model(config: SimConfig, num_boxes: int = 0, *, visual: bool = False) -> mujoco.MjModel:
    """Compile the model; `visual` adds meshes for rendering, which changes no physics."""
    spec = mujoco.MjSpec.from_string(_urdf_for_mujoco(visual))
    spec.option.timestep = config.physics_dt
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.noslip_iterations = NO_SLIP_ITERATIONS
    spec.option.gravity = [0, 0, -GRAVITY]
    _add_ground(spec, num_boxes)
    if visual:
        _decorate(spec)
    spec.body(BASE_NAME).add_freejoint()
    _set_contacts(spec)
    for joint in JOINT_NAMES:
        _add_controller(spec, joint, config)
    for body in (*FOOT_NAMES, *BODY_NAMES):
        sensor = spec.add_sensor(
            name=body,
            type=mujoco.mjtSensor.mjSENS_CONTACT,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            objname=body,
        )
        sensor.intprm[:3] = [_FORCE_AND_NORMAL, _STRONGEST_FIRST, SLOTS]
    return spec.compile()


def _urdf_for_mujoco(visual: bool) -> str:
    discard = str(not visual).lower()
    compiler = (
        '<compiler fusestatic="false" balanceinertia="false" '
        f'discardvisual="{discard}" strippath="false"/>'
    )
    head, tail = solo12_urdf(visual=visual).split("<link", 1)
    return f"{head}<mujoco>{compiler}</mujoco><link{tail}"


def _add_ground(spec: mujoco.MjSpec, num_boxes: int) -> None:
    floor = spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1])
    floor.contype = 1
    floor.conaffinity = 0
    for box in range(num_boxes):
        # Mocap bodies: their poses are part of the state, so they can differ between robots.
        body = spec.worldbody.add_body(name=f"box{box}", mocap=True)
        geom = body.add_geom(name=f"box{box}", type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.5, 0.5, 0.5])
        geom.contype = 1
        geom.conaffinity = 0


def _decorate(spec: mujoco.MjSpec) -> None:
    """Give pictures a chequered floor and light."""
    spec.add_texture(
        name="floor",
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=[0.82, 0.86, 0.9],
        rgb2=[0.7, 0.75, 0.8],
        width=256,
        height=256,
    )
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.95, 0.97, 1],
        rgb2=[1, 1, 1],
        width=256,
        height=256,
    )
    material = spec.add_material(name="floor", texrepeat=[5, 5], texuniform=True)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "floor"
    spec.geom("floor").material = "floor"
    spec.worldbody.add_light(
        pos=[0, 0, 4], dir=[0.2, 0.3, -1], type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
    )


def _set_contacts(spec: mujoco.MjSpec) -> None:
    """Let robot and ground collide, with the robot's friction; disable self-collisions."""
    for name in (*FOOT_NAMES, *BODY_NAMES):
        for geom in spec.body(name).geoms:
            if geom.type == mujoco.mjtGeom.mjGEOM_MESH:
                geom.contype = geom.conaffinity = 0
                continue
            geom.name = name
            geom.contype = 0
            geom.conaffinity = 1
            geom.priority = 1
            geom.solref[0] = CONTACT_TIME
            geom.group = 3  # not drawn


def _add_controller(spec: mujoco.MjSpec, joint: str, config: SimConfig) -> None:
    actuator = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    actuator.gaintype = mujoco.mjtGain.mjGAIN_FIXED
    actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
    actuator.gainprm[0] = config.kp
    actuator.biasprm[1:3] = [-config.kp, -config.kd]
    actuator.forcelimited = True
    actuator.forcerange = [-config.torque_limit, config.torque_limit]


def normal_forces(sensordata: np.ndarray) -> np.ndarray:
    """Sum of contact forces along the normals, (N, 17, 3), feet first [N]."""
    slots = sensordata.reshape(len(sensordata), -1, SLOTS, 6)
    # Normals point from the robot's body into the ground; the force on the robot is opposite.
    return -np.einsum("nbs,nbsi->nbi", slots[..., 0], slots[..., 3:])
