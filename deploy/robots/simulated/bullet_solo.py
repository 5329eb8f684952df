"""Solo12 in PyBullet as a robot at 1 kHz, for dry runs and tests."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from deploy.common.known_defects import KnownDefects
from deploy.common.latency_padding import LatencyPadding
from deploy.common.poses import LYING, LYING_HEIGHT
from deploy.common.robot_constants import LARGEST_GAINS, STOPPED, TICK, damping_command
from deploy.common.sensors import Sensors
from solo_doi.sim.simulator import SimConfig
from solo_doi.sim.terrain import Terrain
from solo_doi.solo12.constants import MOTOR_LAG, NUM_JOINTS, NUM_LEGS, UP_W, Array
from solo_doi.solo12.limits import GEAR_RATIO, TORQUE_PER_AMPERE, TRAINING_LIMITS
from solo_doi.solo12.rotations import IDENTITY, matrix, right_matrix
from solo_doi.solo12.sensors import SensorNoise
from solo_doi.solo12.state import CONTACT_THRESHOLD, JointCommand, Motion
from solo_doi.solo12.urdf import solo12_urdf

if TYPE_CHECKING:
    from solo_doi.sim.bullet.bullet_robot import BulletRobot

    from .mujoco_body import MujocoBody

CAMERA_TICKS = 20
"""Ticks between two movements of the window's camera, which follows the robot."""


class BulletSolo:
    """One simulated robot that starts lying on the ground.

    `sense` measures the state after the last `drive`.
    """

    paces = False
    largest_gains = LARGEST_GAINS

    def __init__(
        self,
        *,
        lag: float = MOTOR_LAG,
        epoch: float = 0.0,
        noise: SensorNoise | None = None,
        seed: int = 0,
        defects: int | None = None,
        gui: bool = False,
    ) -> None:
        """Load the robot into a separate physics client; its clock starts at `epoch` [s].

        `defects` is the seed of the sensors' known defects; None for sensors without them.
        """
        self.epoch = epoch
        self._lag = LatencyPadding(lag, damping_command())
        self._noise = noise or SensorNoise()
        self._rng = np.random.default_rng(seed)
        self._defects = None if defects is None else KnownDefects(defects)
        config = SimConfig(physics_dt=TICK, decimation=1, torque_limit=TRAINING_LIMITS.torque)
        self._body = self._make_body(config, gui=gui)
        self._gui = gui
        self._body.set_physics(friction=1.0, added_mass=0.0)
        self._body.place(_lying(), np.zeros(3), np.zeros(3))
        self._torque = np.zeros(NUM_JOINTS)
        self._acceleration_w = np.zeros(3)
        self._ticks = 0
        self._read()

    def _make_body(self, config: SimConfig, *, gui: bool) -> BulletRobot | MujocoBody:
        """Load the robot into a physics engine; a subclass may choose another one."""
        from solo_doi.sim.bullet.bullet_robot import BulletRobot  # needs PyBullet

        with tempfile.TemporaryDirectory() as folder:
            urdf = Path(folder) / "solo12.urdf"
            urdf.write_text(solo12_urdf(visual=gui))
            return BulletRobot(urdf, config, Terrain.flat(1), 0, gui=gui)

    @property
    def rejected(self) -> Counter[str]:
        """Nothing: there is no driver that replaces measurements."""
        return Counter()

    @property
    def time(self) -> float:
        """Time on the simulated clock [s]."""
        return self.epoch + self._ticks * TICK

    def start_clock(self, first_tick: float) -> None:
        """Set the simulated clock to the host's time of the first tick [s]."""
        self.epoch = first_tick

    @property
    def motion(self) -> Motion:
        """True motion of the robot."""
        return self._motion

    @property
    def torque(self) -> Array:
        """Torques of the last tick, (12,) [N m]."""
        return self._torque

    def sense(self) -> Sensors:
        """Return the measurement of this tick, with noise and defects; call once per tick."""
        measured = self._noisy()
        if self._defects is None:
            return measured
        return _defective(measured, self._defects)

    def _noisy(self) -> Sensors:
        noise = self._noise
        rng = self._rng
        motion = self._motion
        # A small random rotation, to first order.
        wobble = right_matrix(np.array([1.0, *(noise.attitude / 2 * rng.standard_normal(3))]))
        return Sensors(
            time=self.time,
            joint_position=motion.joint_position,
            joint_velocity=motion.joint_velocity
            + noise.joint_velocity * rng.standard_normal(NUM_JOINTS),
            joint_torque=self._torque,
            angular_velocity_b=motion.angular_velocity_b
            + noise.angular_velocity * rng.standard_normal(3),
            acceleration_b=(self._acceleration_w + UP_W) @ self._turn
            + noise.acceleration * rng.standard_normal(3),
            quaternion=wobble @ motion.base_quaternion,
            ready=np.ones(NUM_JOINTS, dtype=bool),
        )

    def drive(self, command: JointCommand, observed: float) -> float:
        """Simulate one tick; a command acts when its measurement is as old as in training.

        Return the measurement time of the command that acts now [s].
        """
        acting, observed = self._lag.push(command, observed, self.time)
        self._step(acting)
        return observed

    def _step(self, command: JointCommand) -> None:
        before_w = self._linear_w
        self._torque = self._body.step(
            command.position[None], float(command.kp), float(command.kd), None
        )
        self._ticks += 1
        self._read()
        if self._gui and self._ticks % CAMERA_TICKS == 0:
            self._body.look_at(self._motion.base_position_w)
        self._acceleration_w = (self._linear_w - before_w) / TICK

    def belly_on_ground(self) -> bool:
        """Return True if a part other than the feet touches the ground."""
        forces = np.linalg.norm(self._body.contact_forces()[NUM_LEGS:], axis=-1)
        return bool((forces > CONTACT_THRESHOLD).any())

    def stop(self, cause: str = STOPPED) -> None:
        """Do nothing: the robot starts no motion by itself."""

    def close(self) -> None:
        """Free the physics client."""
        self._body.disconnect()

    def _read(self) -> None:
        position, quaternion, linear_w, angular_w, joints, rates = self._body.read()
        self._linear_w: Array = np.asarray(linear_w)
        self._turn = matrix(quaternion)
        self._motion = Motion(
            base_position_w=np.asarray(position),
            base_quaternion=quaternion,
            linear_velocity_b=self._linear_w @ self._turn,
            angular_velocity_b=angular_w @ self._turn,
            joint_position=np.array(joints),
            joint_velocity=np.array(rates),
        )


def _defective(sensors: Sensors, defects: KnownDefects) -> Sensors:
    """Return measurements with the defects of real boards; every motor's zero is at its joint's."""
    angle = GEAR_RATIO * sensors.joint_position
    position = defects.position(angle) / GEAR_RATIO
    if defects.zero_frame():
        position = np.zeros(NUM_JOINTS)
    changed = replace(
        sensors,
        joint_position=position,
        joint_velocity=defects.velocity(angle, GEAR_RATIO * sensors.joint_velocity) / GEAR_RATIO,
        joint_torque=sensors.joint_torque + TORQUE_PER_AMPERE * defects.current_offset,
    )
    if not defects.zero_frame():
        return changed
    zero = np.zeros(3)
    return replace(changed, angular_velocity_b=zero, acceleration_b=zero, quaternion=IDENTITY)


def _lying() -> Motion:
    zero = np.zeros(3)
    return Motion(
        base_position_w=np.array([0.0, 0.0, LYING_HEIGHT]),
        base_quaternion=IDENTITY,
        linear_velocity_b=zero,
        angular_velocity_b=zero,
        joint_position=LYING,
        joint_velocity=np.zeros(NUM_JOINTS),
    )
