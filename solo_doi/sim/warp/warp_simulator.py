"""Solo12 in MuJoCo Warp, for GPUs: the MuJoCo backend's model in single precision."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.sim.domain import Domain
from solo_doi.sim.input_checks import SimulationError
from solo_doi.sim.simulator import SimConfig, Simulator
from solo_doi.sim.terrain import Terrain
from solo_doi.sim.warp_config import warp_from_environment
from solo_doi.solo12.constants import CONTROL_SETUPS, Array
from solo_doi.solo12.rotations import rotate
from solo_doi.solo12.state import Motion, RobotState, standing

from .device import announce_compilation, find_device
from .device_batch import DeviceBatch
from .device_delay import DeviceDelay
from .health import check_health
from .inertia import BaseInertia
from .packed_state import STATE_FIELDS, fields_of


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
        try:
            self._batch = DeviceBatch(config, self.terrain, self._settings, self._delay)
        except RuntimeError as error:
            if "allocate" not in str(error):
                raise
            raise SoloError(
                f"{config.num_robots} robots with {self._settings.contacts} contacts and "
                f"{self._settings.rows} constraint rows each do not fit into the memory of "
                f"{self._device}: {error}. Simulate fewer robots."
            ) from error
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
        state = self._batch.state
        return RobotState(**{name: state[name].astype(np.float64) for name in STATE_FIELDS})

    def height_scan(self, motion: Motion) -> Array:
        """Return the ground height around all robots, (N, 121) [m], computed on the device."""
        place, turn = motion.base_position_w, motion.base_quaternion
        state = self._batch.state
        elsewhere = (place != state["base_position_w"], turn != state["base_quaternion"])
        if elsewhere[0].any() or elsewhere[1].any():
            robot = np.argmax(elsewhere[0].any(axis=-1) | elsewhere[1].any(axis=-1))
            raise SimulationError(
                f"A height scan at {place[robot]}, {turn[robot]} of robot {robot} was asked for, "
                f"which is at {state['base_position_w'][robot]}, "
                f"{state['base_quaternion'][robot]}: MuJoCo Warp scans where its robots are. Pass "
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
            check_health(self._batch.state["health"], self.domain, self._settings)

    def _reset(self, robots: np.ndarray, motion: Motion) -> None:
        quaternion = motion.base_quaternion / np.linalg.norm(
            motion.base_quaternion, axis=-1, keepdims=True
        )
        motion = replace(motion, base_quaternion=quaternion)
        linear_w = rotate(quaternion, motion.linear_velocity_b)
        self._batch.set_motion(robots, motion, linear_w, self.terrain[robots].solid_centre)

    def _kick(self, robots: np.ndarray, linear_w: Array, angular_b: Array) -> None:
        self._batch.kick(robots, linear_w, angular_b)

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
        return {"packed": self._batch.packed.copy(), "warmstart": warmstart.copy()}

    def _load(self, saved: dict[str, np.ndarray]) -> None:
        state = fields_of(saved["packed"], self.num_robots)
        motion = Motion(**{field.name: state[field.name] for field in fields(Motion)})
        everyone = np.arange(self.num_robots)
        boxes = self.terrain.solid_centre
        self._batch.set_motion(everyone, motion, state["linear_velocity_w"], boxes)
        self._batch.packed[:] = saved["packed"]
        self._batch.data.qacc_warmstart.assign(saved["warmstart"])
