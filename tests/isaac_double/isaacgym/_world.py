"""All environments of a simulation, stepped by MuJoCo.

States are relative to their environment.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import mujoco
import numpy as np
from mujoco.batch import Batch

from ._asset import Asset
from ._model import build_model, contact_forces

FEW = 64
"""Number of environments below which several threads are slower than one."""


@dataclass
class Robot:
    """Parameters of the robot in one environment."""

    pose: np.ndarray  # (7,) position, quaternion xyzw
    friction: float
    """Friction of its shapes, before averaging with the ground's."""
    joints: np.ndarray
    """Properties of its joints."""
    growth: dict[str, float] = field(default_factory=dict)
    """Factor on mass and inertia of bodies."""
    boxes: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    """Position and half size of its boxes."""


class World:
    """N environments with one kind of robot."""

    def __init__(
        self, asset: Asset, robots: list[Robot], ground_friction: float,
        gravity: tuple[float, ...], dt: float,
        *, self_collision: bool,
    ) -> None:  # fmt: skip
        """Compile one model, and give each environment its own masses, frictions and boxes."""
        self._asset, self._robots, self._ground_friction = asset, robots, ground_friction
        self._num_boxes = len(robots[0].boxes)
        self._model = build_model(
            asset, self._num_boxes, gravity, dt, self_collision=self_collision
        )
        self._batch = Batch(self._model, len(robots), 1 if len(robots) < FEW else 0)
        self._qpos, self._qvel = self._batch.bind("qpos"), self._batch.bind("qvel")
        self._applied, self._torque = (
            self._batch.bind("xfrc_applied"),
            self._batch.bind("qfrc_applied"),
        )
        self._sensors = self._batch.bind("sensordata")
        joints = [self._model.joint(name) for name in asset.joints]
        self._joint_qpos = np.array([joint.qposadr[0] for joint in joints])
        self._joint_qvel = np.array([joint.dofadr[0] for joint in joints])
        self._bodies = np.array([self._model.body(name).id for name in asset.bodies])
        links = list(asset.body_of_link)
        self._belongs = np.array(
            [[asset.body_of_link[link] == body for link in links] for body in asset.bodies]
        )
        self._friction = self._batch.expand("geom_friction")
        self._geoms = [
            g
            for g in range(self._model.ngeom)
            if self._model.geom_bodyid[g] in self._link_ids(links)
        ]
        for index, robot in enumerate(robots):
            self.set_friction(index, robot.friction)
        self._give_masses()
        self._size_boxes()
        self.place(np.arange(len(robots)))
        self.set_root(
            np.arange(len(robots)), np.array([[*robot.pose, 0, 0, 0, 0, 0, 0] for robot in robots])
        )

    def place(self, environments: np.ndarray) -> None:
        """Reset some environments, except for the positions of their boxes."""
        self._batch.reset(environments, stage=mujoco.mjtStage.mjSTAGE_NONE)
        if self._num_boxes:
            places = np.array(
                [[place for place, _ in self._robots[index].boxes] for index in environments]
            )
            self._batch.bind("mocap_pos")[environments] = places

    def move_box(self, environment: int, box: int, place: np.ndarray) -> None:
        """Move a box of an environment."""
        _, half = self._robots[environment].boxes[box]
        self._robots[environment].boxes[box] = (place.copy(), half)
        self._batch.bind("mocap_pos")[environment, box] = place

    def set_root(self, environments: np.ndarray, rows: np.ndarray) -> None:
        """Place bases.

        Rows of position, quaternion xyzw, linear and angular velocity, world axes.
        """
        quaternion = np.roll(rows[:, 3:7], 1, axis=-1)
        quaternion /= np.linalg.norm(quaternion, axis=-1, keepdims=True)
        self._qpos[environments, :7] = np.concatenate([rows[:, :3], quaternion], axis=-1)
        self._qvel[environments, :3] = rows[:, 7:10]
        # MuJoCo has the angular velocity in the base's own axes.
        self._qvel[environments, 3:6] = np.einsum(
            "nji,nj->ni", _matrices(quaternion), rows[:, 10:13]
        )

    def set_joints(self, environments: np.ndarray, rows: np.ndarray) -> None:
        """Set joints, (..., joints, 2) positions and velocities."""
        self._qpos[np.ix_(environments, self._joint_qpos)] = rows[..., 0]
        self._qvel[np.ix_(environments, self._joint_qvel)] = rows[..., 1]

    def set_friction(self, index: int, friction: float) -> None:
        """Set the friction of a robot's shapes; PhysX averages it with the ground's."""
        self._friction[index, self._geoms, 0] = (friction + self._ground_friction) / 2

    def step(self, effort: np.ndarray, force_w: np.ndarray) -> None:
        """Advance by one step with torques (N, joints) and forces on bodies (N, bodies, 3)."""
        self._torque[:, self._joint_qvel] = effort
        self._applied[:, self._bodies, :3] = force_w
        self._batch.step()

    def root(self) -> np.ndarray:
        """Root states, (N, 13)."""
        turned = np.einsum("nij,nj->ni", _matrices(self._qpos[:, 3:7]), self._qvel[:, 3:6])
        parts = [
            self._qpos[:, :3],
            np.roll(self._qpos[:, 3:7], -1, axis=-1),
            self._qvel[:, :3],
            turned,
        ]
        return np.concatenate(parts, axis=-1)

    def joints(self) -> np.ndarray:
        """Joint positions and velocities, (N, joints, 2)."""
        return np.stack([self._qpos[:, self._joint_qpos], self._qvel[:, self._joint_qvel]], axis=-1)

    def contacts(self) -> tuple[np.ndarray, np.ndarray]:
        """Contact forces on bodies, (N, bodies, 3): along the normals, and with friction."""
        along, total = (
            np.einsum("bl,nli->nbi", self._belongs, f) for f in contact_forces(self._sensors)
        )
        return along, total

    def _link_ids(self, links: list[str]) -> set[int]:
        return {self._model.body(link).id for link in links}

    def _give_masses(self) -> None:
        mass, inertia = self._batch.expand("body_mass"), self._batch.expand("body_inertia")
        armature = self._batch.expand("dof_armature")
        for index, robot in enumerate(self._robots):
            for body, growth in robot.growth.items():
                mass[index, self._model.body(body).id] *= growth
                inertia[index, self._model.body(body).id] *= growth
            armature[index, self._joint_qvel] = robot.joints["armature"]
        self._batch.set_const(np.arange(len(self._robots)))

    def _size_boxes(self) -> None:
        if not self._num_boxes:
            return
        half = np.array([[size for _, size in robot.boxes] for robot in self._robots])
        geoms = [self._model.geom(f"box{box}").id for box in range(self._num_boxes)]
        self._batch.expand("geom_size")[:, geoms] = half
        self._batch.expand("geom_rbound")[:, geoms] = np.linalg.norm(half, axis=-1)
        self._batch.expand("geom_aabb")[:, geoms, 3:] = half


def _matrices(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrices of quaternions with the scalar first."""
    w, x, y, z = quaternion.T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), -1, 0)
