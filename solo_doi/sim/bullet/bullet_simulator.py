"""Solo12 in PyBullet: the second simulator, and the robot of dry runs. One client per robot."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.sim.domain import Domain
from solo_doi.sim.input_checks import check_finite
from solo_doi.sim.simulator import SimConfig, Simulator, assemble_state
from solo_doi.sim.terrain import Terrain
from solo_doi.solo12.constants import CONTACT_BODIES, CONTROL_SETUPS, NUM_JOINTS, Array
from solo_doi.solo12.rotations import rotate, rotate_inverse
from solo_doi.solo12.state import Motion, RobotState, standing
from solo_doi.solo12.urdf import solo12_urdf

from .bullet_robot import BulletRobot

MAX_CLIENTS = 1000
"""PyBullet allows 1024 physics clients in a process."""


class BulletSimulator(Simulator):
    """N robots in N physics clients, which share nothing, so simulators can coexist."""

    name = "PyBullet"
    # Bullet's articulated bodies have no rotor inertia.
    unsupported_domain = frozenset({"armature"})

    def __init__(
        self, config: SimConfig, terrain: Terrain | None = None, *, gui: bool = False
    ) -> None:
        """Load one robot per client, standing; `gui` opens a window on the first."""
        super().__init__(config, terrain)
        if config.num_robots > MAX_CLIENTS:
            raise SoloError(
                f"PyBullet holds at most {MAX_CLIENTS} robots in a process, "
                f"{config.num_robots} were asked for: use fewer, or MuJoCo."
            )
        with tempfile.TemporaryDirectory() as folder:
            urdf = Path(folder) / "solo12.urdf"
            urdf.write_text(solo12_urdf(visual=gui))
            self._bodies = [
                BulletRobot(urdf, config, self.terrain, robot, gui=gui and robot == 0)
                for robot in range(config.num_robots)
            ]
        self._torque = np.zeros((config.num_robots, NUM_JOINTS))
        self._forces = np.zeros((config.num_robots, len(CONTACT_BODIES), 3))
        self.set_domain(self.domain)
        self.reset(standing(CONTROL_SETUPS["locomotion"], config.num_robots))

    def state(self) -> RobotState:
        """Return a copy of all robots' states."""
        poses = [body.read() for body in self._bodies]
        position_w, quaternion, linear_w, angular_w, joints, rates = (
            np.array(part) for part in zip(*poses, strict=True)
        )
        motion = Motion(
            base_position_w=position_w,
            base_quaternion=quaternion,
            linear_velocity_b=rotate_inverse(quaternion, linear_w),
            angular_velocity_b=rotate_inverse(quaternion, angular_w),
            joint_position=joints,
            joint_velocity=rates,
        )
        check_finite(motion, "The physics diverged: check targets, domain and physics step.")
        return assemble_state(motion, self._torque, self._forces)

    def close(self) -> None:
        """Disconnect every client."""
        for body in self._bodies:
            body.disconnect()
        self._bodies = []

    def _step(self, schedule: Array, push_w: Array | None) -> None:
        kp = self.config.kp * self.domain.kp_scale
        kd = self.config.kd * self.domain.kd_scale
        for index, body in enumerate(self._bodies):
            push = None
            if push_w is not None:
                push = push_w[index]
            self._torque[index] = body.step(
                schedule[index], float(kp[index]), float(kd[index]), push
            )
            self._forces[index] = body.contact_forces()

    def _reset(self, robots: np.ndarray, motion: Motion) -> None:
        linear_w = rotate(motion.base_quaternion, motion.linear_velocity_b)
        angular_w = rotate(motion.base_quaternion, motion.angular_velocity_b)
        boxes = self.terrain[robots].solid_centre
        for row, index in enumerate(robots):
            self._bodies[index].place_boxes(boxes[row])
            self._bodies[index].place(motion[row], linear_w[row], angular_w[row])
        self._torque[robots] = 0.0
        self._forces[robots] = 0.0

    def _kick(self, robots: np.ndarray, linear_w: Array, angular_b: Array) -> None:
        for row, index in enumerate(robots):
            _, quaternion, linear, angular, *_ = self._bodies[index].read()
            angular = angular + rotate(quaternion, angular_b[row])
            self._bodies[index].set_base_velocity(quaternion, linear + linear_w[row], angular)

    def _apply_domain(self, robots: np.ndarray, domain: Domain) -> None:
        for row, index in enumerate(robots):
            self._bodies[index].set_physics(
                float(domain.friction[row]), float(domain.added_mass[row])
            )
