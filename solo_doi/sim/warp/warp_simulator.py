"""Solo12 in MuJoCo Warp, for GPUs: the MuJoCo backend's model in single precision."""

from __future__ import annotations

import numpy as np

from solo_doi.sim.domain import Domain
from solo_doi.sim.input_checks import SimulationError
from solo_doi.sim.simulator import SimConfig, Simulator, assemble_state
from solo_doi.sim.terrain import Terrain
from solo_doi.sim.warp_config import warp_from_environment
from solo_doi.solo12.constants import CONTROL_SETUPS, Array
from solo_doi.solo12.rotations import rotate, rotate_inverse
from solo_doi.solo12.state import Motion, RobotState, standing

from .device import announce_compilation, find_device
from .device_batch import FORCE, HEALTH, QPOS, QVEL, TORQUE, DeviceBatch
from .device_delay import DeviceDelay
from .health import check_health
from .inertia import BaseInertia


class WarpSimulator(Simulator):
    """N robots on a device of Warp.

    Results have single precision. They repeat on a processor; on a GPU they need not, since the
    order of contacts and sums may differ.
    """

    name = "MuJoCo Warp"

    def __init__(self, config: SimConfig, terrain: Terrain | None = None) -> None:
        """Put the model on the device and all robots into the standing pose."""
        self._settings = config.warp or warp_from_environment()
        self._device = find_device(self._settings.device)
        self.can_save = not self._device.is_cuda
        announce_compilation(self._device)
        super().__init__(config, terrain)
        assert isinstance(self._delay, DeviceDelay)
        self._batch = DeviceBatch(config, self.terrain, self._settings, self._delay)
        self._inertia = BaseInertia(self._batch.host_model)
        self._inertial = np.zeros((config.num_robots, 2))  # added mass and armature in the model
        self.set_domain(self.domain)
        self.reset(standing(CONTROL_SETUPS["locomotion"], config.num_robots))

    @property
    def provenance(self) -> dict[str, str]:
        """Kind and name of the device, and solver."""
        return {**self._settings.provenance, "device_name": self._device.name}

    def state(self) -> RobotState:
        """Return a copy of all robots' states."""
        packed = self._batch.state.astype(np.float64)
        quaternion = packed[:, QPOS][:, 3:7]
        motion = Motion(
            base_position_w=packed[:, QPOS][:, :3],
            base_quaternion=quaternion,
            # As in MuJoCo: linear velocity in the world frame, angular in the base frame.
            linear_velocity_b=rotate_inverse(quaternion, packed[:, QVEL][:, :3]),
            angular_velocity_b=packed[:, QVEL][:, 3:6],
            joint_position=packed[:, QPOS][:, 7:],
            joint_velocity=packed[:, QVEL][:, 6:],
        )
        forces = packed[:, FORCE].reshape(self.num_robots, -1, 3)
        return assemble_state(motion, packed[:, TORQUE], forces)

    def height_scan(self, motion: Motion) -> Array:
        """Return the ground height around all robots, (N, 121) [m], computed on the device."""
        pose = np.concatenate([motion.base_position_w, motion.base_quaternion], axis=-1)
        moved = pose != self._batch.state[:, :7]
        if moved.any():
            robot = np.argwhere(moved)[0][0]
            raise SimulationError(
                f"A height scan at pose {pose[robot]} of robot {robot} was asked for, which is at "
                f"{self._batch.state[robot, :7]}: MuJoCo Warp scans where its robots are. Pass "
                "the state that the last step or reset returned."
            )
        return self._batch.height_scan().astype(np.float64)

    def _make_delay(self, longest_lag: float) -> DeviceDelay:
        config = self.config
        return DeviceDelay(
            config.num_robots, config.physics_dt, config.decimation, longest_lag, self._device
        )

    def _step(self, schedule: Array, push_w: Array | None) -> None:
        healthy = self._batch.step(schedule[:, 0], push_w)
        if not healthy:
            check_health(self._batch.state[:, HEALTH], self.domain, self._settings)

    def _reset(self, robots: np.ndarray, motion: Motion) -> None:
        quaternion = motion.base_quaternion / np.linalg.norm(
            motion.base_quaternion, axis=-1, keepdims=True
        )
        qpos = np.concatenate([motion.base_position_w, quaternion, motion.joint_position], axis=-1)
        linear_w = rotate(quaternion, motion.linear_velocity_b)
        qvel = np.concatenate([linear_w, motion.angular_velocity_b, motion.joint_velocity], axis=-1)
        self._batch.set_motion(robots, qpos, qvel, self.terrain[robots].solid_centre)

    def _kick(self, robots: np.ndarray, linear_w: Array, angular_b: Array) -> None:
        velocity = self._batch.state[robots, QVEL.start : QVEL.start + 6]
        self._batch.set_base_velocity(
            robots, velocity + np.concatenate([linear_w, angular_b], axis=-1)
        )

    def _apply_domain(self, robots: np.ndarray, domain: Domain) -> None:
        columns = [
            domain.friction,
            self._inertia.mass(domain),
            *self._inertia.inertia(domain).T,
            domain.armature,
            self.config.kp * domain.kp_scale,
            self.config.kd * domain.kd_scale,
        ]
        self._batch.set_physics(robots, np.stack(columns, axis=-1))
        inertial = np.stack([domain.added_mass, domain.armature], axis=-1)
        changed = (self._inertial[robots] != inertial).any(axis=-1)
        if changed.any():
            derived = self._inertia.derived_constants(domain[changed])
            self._batch.set_constants(robots[changed], derived)
            self._inertial[robots] = inertial

    def _save(self) -> dict[str, np.ndarray]:
        if not self.can_save:
            return super()._save()
        warmstart = self._batch.data.qacc_warmstart.numpy()
        return {"packed": self._batch.state.copy(), "warmstart": warmstart.copy()}

    def _load(self, saved: dict[str, np.ndarray]) -> None:
        packed = saved["packed"]
        everyone = np.arange(self.num_robots)
        boxes = self.terrain.solid_centre
        self._batch.set_motion(everyone, packed[:, QPOS], packed[:, QVEL], boxes)
        self._batch.state[:] = packed
        self._batch.data.qacc_warmstart.assign(saved["warmstart"])
