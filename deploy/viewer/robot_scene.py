"""Scene with the robot: meshes of its bodies, moved by its joint angles and its orientation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from solo_doi.sim.mujoco.mujoco_model import build_model
from solo_doi.sim.simulator import SimConfig
from solo_doi.solo12.constants import FOOT_NAMES, NUM_JOINTS

GRID_CELL = 0.25
"""Distance between lines on the ground, which move below the robot [m]."""
GRID_SIZE = 4.0
"""Side of the drawn ground [m]."""
CAMERA_PLACE = (0.4, -0.55, 0.3)
CAMERA_TARGET = (0.0, 0.0, 0.15)


@dataclass(frozen=True)
class RobotPose:
    """Pose of the robot; its place on the ground is unknown."""

    joint_position: np.ndarray  # (12,) [rad]
    quaternion: np.ndarray  # (4,) w, x, y, z
    travelled: float = 0.0
    """Estimated way ahead [m]."""


def pose_of(content: dict[str, Any]) -> RobotPose | None:
    """Return a pose from JSON content; None if it is malformed or not finite."""
    try:
        joints = np.array(content["joints"], dtype=np.float64)
        quaternion = np.array(content["quaternion"], dtype=np.float64)
        travelled = float(content["travelled"])
    except (KeyError, TypeError, ValueError):
        return None
    fits = joints.shape == (NUM_JOINTS,) and quaternion.shape == (4,)
    if not fits or not np.isfinite([*joints, *quaternion, travelled]).all():
        return None
    length = float(np.linalg.norm(quaternion))
    if length < 0.5:
        return None
    return RobotPose(joints, quaternion / length, travelled)


class RobotScene:
    """Robot on a ground in a viser server."""

    def __init__(self, server: Any) -> None:  # noqa: ANN401  # viser's types are partial
        """Add ground and meshes."""
        self._server = server
        self._model = build_model(SimConfig(), visual=True)
        self._data = mujoco.MjData(self._model)
        self._feet = [self._model.body(name).id for name in FOOT_NAMES]
        self._ground = server.scene.add_grid(
            "/ground", width=GRID_SIZE, height=GRID_SIZE, cell_size=GRID_CELL
        )
        self._frames = {
            body: server.scene.add_frame(f"/robot/{self._model.body(body).name}", show_axes=False)
            for body in range(1, self._model.nbody)
        }
        for geom in range(self._model.ngeom):
            if self._model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH:
                self._add_mesh(geom)
        server.initial_camera.position = CAMERA_PLACE
        server.initial_camera.look_at = CAMERA_TARGET

    def show(self, pose: RobotPose) -> dict[str, np.ndarray]:
        """Move all bodies; return their places, by name.

        The lowest foot is on the ground.
        """
        data = self._data
        data.qpos[:] = np.concatenate([np.zeros(3), pose.quaternion, pose.joint_position])
        mujoco.mj_kinematics(self._model, data)
        lift = -min(data.xpos[foot][2] for foot in self._feet)
        places = {}
        with self._server.atomic():
            for body, frame in self._frames.items():
                place = data.xpos[body] + [0.0, 0.0, lift]
                frame.position = place
                frame.wxyz = data.xquat[body].copy()
                places[self._model.body(body).name] = place
            self._ground.position = (-(pose.travelled % GRID_CELL), 0.0, 0.0)
        return places

    def _add_mesh(self, geom: int) -> None:
        model = self._model
        mesh = int(model.geom_dataid[geom])
        first = model.mesh_vertadr[mesh]
        vertices = model.mesh_vert[first : first + model.mesh_vertnum[mesh]]
        first = model.mesh_faceadr[mesh]
        faces = model.mesh_face[first : first + model.mesh_facenum[mesh]]
        body = model.body(model.geom_bodyid[geom]).name
        self._server.scene.add_mesh_simple(
            f"/robot/{body}/mesh{geom}",
            vertices=np.array(vertices),
            faces=np.array(faces),
            color=(120, 125, 135),
            flat_shading=True,
            wxyz=np.array(model.geom_quat[geom]),
            position=np.array(model.geom_pos[geom]),
        )
