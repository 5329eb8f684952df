"""Solo12 in MuJoCo, the default simulator. One native call steps all robots on all cores."""

from __future__ import annotations

import mujoco
import numpy as np
from mujoco.batch import Batch

from solo_doi.sim.domain import Domain
from solo_doi.sim.input_checks import SimulationError
from solo_doi.sim.simulator import SimConfig, Simulator, assemble_state
from solo_doi.sim.terrain import Terrain
from solo_doi.solo12.constants import (
    BASE_NAME,
    CONTROL_SETUPS,
    NUM_JOINTS,
    Array,
    check_joint_names,
)
from solo_doi.solo12.rotations import rotate, rotate_inverse
from solo_doi.solo12.state import Motion, RobotState, standing

from .mujoco_model import build_model, normal_forces


class MujocoSimulator(Simulator):
    """N robots in a `mujoco.batch.Batch`.

    Its state rows are views of live memory. Model fields that differ per robot are expanded.
    """

    name = "MuJoCo"
    can_save = True

    def __init__(self, config: SimConfig, terrain: Terrain | None = None) -> None:
        """Compile the model and put all robots into the standing pose."""
        super().__init__(config, terrain)
        self._model = build_model(config, self.terrain.num_boxes)
        actuated = (self._model.actuator(index).name for index in range(self._model.nu))
        check_joint_names(actuated, "The MuJoCo model's motors")
        self._batch = Batch(self._model, config.num_robots, config.threads)
        self._base = self._model.body(BASE_NAME).id
        self._robot_geoms = np.flatnonzero(self._model.geom_conaffinity)
        batch = self._batch
        self._qpos = batch.bind("qpos")
        self._qvel = batch.bind("qvel")
        self._applied = batch.bind("xfrc_applied")
        self._actuators = batch.bind("actuator_force")
        self._sensors = batch.bind("sensordata")
        self._friction = batch.expand("geom_friction")
        self._mass = batch.expand("body_mass")
        self._inertia = batch.expand("body_inertia")
        self._armature = batch.expand("dof_armature")
        self._gain = batch.expand("actuator_gainprm")
        self._bias = batch.expand("actuator_biasprm")
        self._torque = np.zeros((config.num_robots, NUM_JOINTS))
        self._forces = np.zeros((config.num_robots, self._model.nsensor, 3))
        if self.terrain.num_boxes:
            self._size_boxes()
        self.set_domain(self.domain)
        self.reset(standing(CONTROL_SETUPS["locomotion"], config.num_robots))

    def state(self) -> RobotState:
        """Return a copy of all robots' states."""
        qpos = self._qpos.copy()
        qvel = self._qvel.copy()
        quaternion = qpos[:, 3:7]
        motion = {
            "base_position_w": qpos[:, :3],
            "base_quaternion": quaternion,
            # MuJoCo's free joint: linear velocity in the world frame, angular in the base frame.
            "linear_velocity_b": rotate_inverse(quaternion, qvel[:, :3]),
            "angular_velocity_b": qvel[:, 3:6],
            "joint_position": qpos[:, 7:],
            "joint_velocity": qvel[:, 6:],
        }
        return assemble_state(Motion(**motion), self._torque, self._forces)

    def _step(self, schedule: Array, push_w: Array | None) -> None:
        if push_w is not None:
            self._applied[:, self._base, :3] = push_w
        self._batch.rollout(self.config.decimation, schedule, record=())
        if push_w is not None:
            self._applied[:, self._base, :3] = 0.0
        self._torque = self._actuators.copy()
        self._forces = normal_forces(self._sensors)
        # MuJoCo silently resets a simulation that diverges, so check its warnings.
        if self._batch.warning.any():
            robot = np.argwhere(self._batch.warning)[0][0]
            raise SimulationError(
                f"The physics of robot {robot} diverged: check its domain {self.domain[[robot]]}."
            )

    def _reset(self, robots: np.ndarray, motion: Motion) -> None:
        # `Batch.reset` requires sorted indices.
        self._batch.reset(np.unique(robots), stage=mujoco.mjtStage.mjSTAGE_NONE)
        if self.terrain.num_boxes:  # box poses are part of the state that was just reset
            self._batch.bind("mocap_pos")[robots] = self.terrain[robots].solid_centre
        quaternion = motion.base_quaternion / np.linalg.norm(
            motion.base_quaternion, axis=-1, keepdims=True
        )
        self._qpos[robots] = np.concatenate(
            [motion.base_position_w, quaternion, motion.joint_position], axis=-1
        )
        linear_w = rotate(quaternion, motion.linear_velocity_b)
        self._qvel[robots] = np.concatenate(
            [linear_w, motion.angular_velocity_b, motion.joint_velocity], axis=-1
        )
        self._torque[robots] = 0.0
        self._forces[robots] = 0.0

    def _kick(self, robots: np.ndarray, linear_w: Array, angular_b: Array) -> None:
        self._qvel[robots, :6] += np.concatenate([linear_w, angular_b], axis=-1)

    def _save(self) -> dict[str, np.ndarray]:
        return {
            "state": self._batch.state.copy(),
            "forces": self._forces.copy(),
            "torque": self._torque.copy(),
        }

    def _load(self, saved: dict[str, np.ndarray]) -> None:
        self._batch.state[:] = saved["state"]
        self._torque = saved["torque"].copy()
        self._forces = saved["forces"].copy()

    def _apply_domain(self, robots: np.ndarray, domain: Domain) -> None:
        model = self._model
        self._friction[np.ix_(robots, self._robot_geoms, np.array([0]))] = domain.friction[
            :, None, None
        ]
        mass = model.body_mass[self._base] + domain.added_mass
        self._mass[robots, self._base] = mass
        self._inertia[robots, self._base] = (
            model.body_inertia[self._base] * (mass / model.body_mass[self._base])[:, None]
        )
        self._armature[robots, 6:] = domain.armature[:, None]
        kp = self.config.kp * domain.kp_scale[:, None]
        kd = self.config.kd * domain.kd_scale[:, None]
        self._gain[robots, :, 0] = kp
        self._bias[robots, :, 1] = -kp
        self._bias[robots, :, 2] = -kd
        self._batch.set_const(np.unique(robots))

    def _size_boxes(self) -> None:
        half = self.terrain.solid_size / 2
        boxes = [self._model.geom(f"box{box}").id for box in range(self.terrain.num_boxes)]
        self._batch.expand("geom_size")[:, boxes] = half
        # The compiler derives bounding sphere and box from the size; without them collisions are
        # missed.
        self._batch.expand("geom_rbound")[:, boxes] = np.linalg.norm(half, axis=-1)
        self._batch.expand("geom_aabb")[:, boxes, 3:] = half
