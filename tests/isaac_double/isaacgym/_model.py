"""The MuJoCo model behind an environment: robot, ground, boxes, contact sensors on every link."""

from __future__ import annotations

import mujoco
import numpy as np

from ._asset import Asset

SLOTS = 8
"""Number of contacts reported per link."""
CONTACT_TIME = 0.01
_FIELDS = ("mjCONDATA_FORCE", "mjCONDATA_NORMAL", "mjCONDATA_TANGENT")
_DATA = sum(1 << int(getattr(mujoco.mjtConDataField, name)) for name in _FIELDS)
_STRONGEST_FIRST = 2
GROUND, ROBOT = 1, 2


def build_model(
    asset: Asset, num_boxes: int, gravity: tuple[float, ...], dt: float, *, self_collision: bool
) -> object:
    """Compile the model."""
    spec = mujoco.MjSpec.from_string(_readable(asset))
    spec.option.timestep, spec.option.gravity = dt, gravity
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.noslip_iterations = 3
    spec.worldbody.add_geom(
        name="ground",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[0, 0, 1],
        contype=GROUND,
        conaffinity=0,
    )
    for box in range(num_boxes):
        body = spec.worldbody.add_body(name=f"box{box}", mocap=True)
        body.add_geom(
            name=f"box{box}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=[1, 1, 1],
            contype=GROUND,
            conaffinity=0,
        )
    spec.body(asset.bodies[0]).add_freejoint()
    for link in asset.body_of_link:
        for geom in spec.body(link).geoms:
            geom.contype, geom.conaffinity = (
                (ROBOT, GROUND | ROBOT) if self_collision else (0, GROUND)
            )
            geom.priority, geom.solref[0] = 1, CONTACT_TIME
        sensor = spec.add_sensor(
            name=link,
            type=mujoco.mjtSensor.mjSENS_CONTACT,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            objname=link,
        )
        sensor.intprm[:3] = [_DATA, _STRONGEST_FIRST, SLOTS]
    return spec.compile()


def contact_forces(sensordata: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Forces along the normals, and all of them, on every link, both (N, links, 3)."""
    force, normal, tangent = np.split(sensordata.reshape(len(sensordata), -1, SLOTS, 9), 3, axis=-1)
    axes = np.stack([normal, tangent, np.cross(normal, tangent)], axis=-2)
    # Normals point from the link to the other body; the force on the link is opposite.
    along = -np.einsum("nls,nlsi->nli", force[..., 0], normal)
    return along, -np.einsum("nlsa,nlsai->nli", force, axes)


def _readable(asset: Asset) -> str:
    """Return the URDF for MuJoCo, with capsules instead of cylinders if the options require it."""
    urdf = asset.urdf
    if asset.options.replace_cylinder_with_capsule:
        urdf = urdf.replace("<cylinder", "<capsule")
    head, tail = urdf.split("<link", 1)
    return (
        f'{head}<mujoco><compiler fusestatic="false" balanceinertia="false"/></mujoco><link{tail}'
    )
