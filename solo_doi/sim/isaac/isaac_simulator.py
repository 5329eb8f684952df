"""Solo12 in Isaac Gym, on a GPU. This is the client; Isaac Gym runs in a worker process."""

from __future__ import annotations

import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.sim.domain import Domain
from solo_doi.sim.input_checks import check_finite
from solo_doi.sim.simulator import SimConfig, Simulator, assemble_state
from solo_doi.sim.terrain import Terrain
from solo_doi.solo12.constants import CONTROL_SETUPS, Array
from solo_doi.solo12.rotations import from_xyzw, rotate, rotate_inverse, to_xyzw
from solo_doi.solo12.state import Motion, RobotState, standing

from .setup_message import EDITED_ALL, EDITED_ROOT, array_shapes, setup_message, shape_friction
from .shared_arrays import SharedArrays
from .worker_process import IsaacWorker

# Columns of a root state.
POSITION = slice(0, 3)
QUATERNION = slice(3, 7)
LINEAR = slice(7, 10)
ANGULAR = slice(10, 13)


class IsaacSimulator(Simulator):
    """N robots on a GPU.

    States are edited in shared memory and reach Isaac Gym with the next step, as its rules require.
    The worker loads the model at once and creates the robots at the first step: masses and rotor
    inertias can be set until then. Results have single precision and do not repeat exactly.
    """

    name = "Isaac Gym"
    constant_domain = frozenset({"added_mass", "armature"})

    def __init__(self, config: SimConfig, terrain: Terrain | None = None) -> None:
        """Start the worker and put all robots into the standing pose."""
        super().__init__(config, terrain)
        if config.isaac is None:
            raise SoloError("Isaac Gym runs in a separate Python: name it in `SimConfig.isaac`.")
        boxes = self.terrain.num_boxes
        self._arrays = SharedArrays(array_shapes(config, boxes))
        self._arrays["box_centre"][:] = self.terrain.solid_centre
        self._arrays["box_size"][:] = self.terrain.solid_size
        message = setup_message(config, boxes, config.isaac.device)
        message["arrays"] = self._arrays.layout
        try:
            self.worker = IsaacWorker(config.isaac, self._arrays.file, message)
        finally:
            self._arrays.close()
        self.set_domain(self.domain)
        self.reset(standing(CONTROL_SETUPS["locomotion"], config.num_robots))

    def state(self) -> RobotState:
        """Return a copy of all robots' states."""
        root = self._arrays["root"].astype(np.float64)
        joint = self._arrays["joint"].astype(np.float64)
        quaternion = from_xyzw(root[:, QUATERNION])
        motion = Motion(
            base_position_w=root[:, POSITION],
            base_quaternion=quaternion,
            linear_velocity_b=rotate_inverse(quaternion, root[:, LINEAR]),
            angular_velocity_b=rotate_inverse(quaternion, root[:, ANGULAR]),
            joint_position=joint[..., 0],
            joint_velocity=joint[..., 1],
        )
        check_finite(motion, "The physics diverged: check targets, domain and physics step.")
        torque = self._arrays["torque"].astype(np.float64)
        contact = self._arrays["contact"].astype(np.float64)
        return assemble_state(motion, torque, contact)

    def foot_sensor(self) -> Array:
        """Forces of the foot sensors, (N, 4, 3) [N]: with friction, unlike contact forces."""
        return self._arrays["foot_sensor"].astype(np.float64)

    def close(self) -> None:
        """End the worker."""
        self.worker.close()

    def _step(self, schedule: Array, push_w: Array | None) -> None:
        self._arrays["target"][:] = schedule
        if push_w is not None:
            self._arrays["push"][:] = push_w
        self.worker.request({"do": "step", "push": push_w is not None})

    def _reset(self, robots: np.ndarray, motion: Motion) -> None:
        quaternion = motion.base_quaternion / np.linalg.norm(
            motion.base_quaternion, axis=-1, keepdims=True
        )
        linear_w = rotate(quaternion, motion.linear_velocity_b)
        angular_w = rotate(quaternion, motion.angular_velocity_b)
        parts = [motion.base_position_w, to_xyzw(quaternion), linear_w, angular_w]
        self._arrays["root"][robots] = np.concatenate(parts, axis=-1)
        self._arrays["joint"][robots] = np.stack(
            [motion.joint_position, motion.joint_velocity], axis=-1
        )
        self._arrays["box_centre"][robots] = self.terrain[robots].solid_centre
        self._arrays["edited"][robots] = EDITED_ALL
        for measured in ("torque", "contact", "foot_sensor"):
            self._arrays[measured][robots] = 0.0

    def _kick(self, robots: np.ndarray, linear_w: Array, angular_b: Array) -> None:
        quaternion = from_xyzw(self._arrays["root"][robots, QUATERNION].astype(np.float64))
        gained = np.concatenate([linear_w, rotate(quaternion, angular_b)], axis=-1)
        self._arrays["root"][robots, LINEAR.start :] += gained.astype(np.float32)
        self._arrays["edited"][robots] = np.maximum(self._arrays["edited"][robots], EDITED_ROOT)

    def _apply_domain(self, robots: np.ndarray, domain: Domain) -> None:
        friction = shape_friction(domain.friction).astype(np.float32)
        self._arrays["repaved"][robots] |= self._arrays["friction"][robots] != friction
        self._arrays["friction"][robots] = friction
        self._arrays["kp"][robots] = self.config.kp * domain.kp_scale
        self._arrays["kd"][robots] = self.config.kd * domain.kd_scale
        self._arrays["added_mass"][robots] = domain.added_mass
        self._arrays["armature"][robots] = domain.armature
