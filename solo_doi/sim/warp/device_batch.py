"""N robots on a device. A control step is a few graphs between a copy in and a copy out."""

from __future__ import annotations

from collections.abc import Callable

import mujoco_warp as mjw
import numpy as np
import warp as wp

from solo_doi.sim.simulator import SimConfig
from solo_doi.sim.terrain import Terrain
from solo_doi.sim.warp_config import WarpConfig
from solo_doi.solo12.constants import BASE_NAME, BODY_NAMES, NUM_JOINTS, NUM_LEGS, Array
from solo_doi.solo12.observation import SCAN_SIDE

from . import kernels
from .device import RowUpload
from .device_delay import DeviceDelay
from .device_model import device_model, geom_of_box, host_model, part_of_geom

NUM_PARTS = NUM_LEGS + len(BODY_NAMES)
QPOS = slice(0, 7 + NUM_JOINTS)
QVEL = slice(QPOS.stop, QPOS.stop + 6 + NUM_JOINTS)
TORQUE = slice(QVEL.stop, QVEL.stop + NUM_JOINTS)
FORCE = slice(TORQUE.stop, TORQUE.stop + 3 * NUM_PARTS)
HEALTH = slice(FORCE.stop, FORCE.stop + 4)
"""Columns of a packed state. Health: diverged, overflow flags, most constraint rows, and
contacts of all robots or pairs that may touch, whichever are more."""
PHYSICS_COLUMNS = 8
"""Numbers of a domain in the model: friction, mass, inertia (3), armature, kp, kd."""


class DeviceBatch:
    """Model, data and buffers on a device.

    Arrays are written in place and never replaced: the graph has their addresses.
    """

    def __init__(
        self, config: SimConfig, terrain: Terrain, settings: WarpConfig, delay: DeviceDelay
    ) -> None:
        """Put model and data on the device."""
        self.device = delay.age.device
        self.host_model = host_model(config, terrain.num_boxes, settings.solver)
        self._config = config
        self._delay = delay
        count = config.num_robots
        with wp.ScopedDevice(self.device):
            self.model = device_model(self.host_model, terrain)
            self.data = mjw.make_data(
                self.host_model, nworld=count, nconmax=settings.contacts, njmax=settings.rows
            )
            self._parts = wp.array(part_of_geom(self.host_model), dtype=int)
            self._boxes = wp.array(geom_of_box(self.host_model, terrain.num_boxes), dtype=int)
            self._height = wp.zeros((count, SCAN_SIDE**2), dtype=float)
            self._force = wp.zeros((count, NUM_PARTS), dtype=wp.vec3)
            self._peak_rows = wp.zeros(count, dtype=int)
            self._substep = wp.zeros(1, dtype=int)
            self._incoming = wp.zeros((count, NUM_JOINTS), dtype=float)
            self._push = wp.zeros(count, dtype=wp.vec3)
            self._packed = wp.zeros((count + 1, HEALTH.stop), dtype=float)
        self._counters = [self.data.overflow, self._peak_rows, self._substep]
        pinned = self.device.is_cuda
        self._target = wp.zeros_like(self._incoming, device="cpu", pinned=pinned)
        self._state = wp.zeros_like(self._packed, device="cpu", pinned=pinned)
        self._scan = wp.zeros_like(self._height, device="cpu", pinned=pinned)
        self._scan_is_present = False
        self._target_rows = self._target.numpy()
        self._alarm = self._state.numpy()[count:, :1]  # 1 if any robot is not healthy
        self.state = self._state.numpy()[:count]
        """Packed states, (N, columns), on the host."""
        self._pushed = False
        self._base = self.host_model.body(BASE_NAME).id
        self._motion = RowUpload(count, QVEL.stop + 3 * terrain.num_boxes, self.device)
        self._speed = RowUpload(count, 6, self.device)
        self._physics = RowUpload(count, PHYSICS_COLUMNS, self.device)
        derived = 3 * self.host_model.nbody + self.host_model.nv
        self._constants = RowUpload(count, derived, self.device)
        self._graphs: dict[Callable[[], None], wp.Graph] = {}

    def step(self, target: Array, push_w: Array | None) -> bool:
        """Run a control step with targets (N, 12) and base forces (N, 3); `state` has the result.

        Return False if `state` has to be checked, because a robot may not be healthy.
        """
        self._scan_is_present = False
        self._target_rows[:] = target
        wp.copy(self._incoming, self._target)
        if push_w is not None or self._pushed:
            forces = np.zeros((len(target), 3)) if push_w is None else push_w
            self._push.assign(forces.astype(np.float32))
            self._pushed = push_w is not None
        self._replay(self._begin)
        self._replay(self._physics_step, self._config.decimation)
        self._replay(self._end)
        wp.copy(self._state, self._packed)
        wp.synchronize_device(self.device)
        return not self._alarm[0, 0]

    def set_motion(self, robots: np.ndarray, qpos: Array, qvel: Array, boxes: Array) -> None:
        """Put some robots and their boxes (robots, boxes, 3) into given states, at rest inside."""
        self._scan_is_present = False
        self.state[robots] = 0.0
        self.state[robots, QPOS] = qpos
        self.state[robots, QVEL] = qvel
        data = self.data
        rows = self._motion.send(robots, qpos, qvel, boxes)
        self._edit(
            kernels.set_motion,
            len(robots),
            [rows, data.qpos, data.qvel, data.qacc_warmstart, data.mocap_pos],
        )

    def height_scan(self) -> np.ndarray:
        """Return the ground height around all robots, (N, 121), copied once per pose [m]."""
        if not self._scan_is_present:
            self._replay(self._scan_ground)
            wp.copy(self._scan, self._height)
            wp.synchronize_device(self.device)
            self._scan_is_present = True
        return self._scan.numpy()

    def set_base_velocity(self, robots: np.ndarray, velocity: Array) -> None:
        """Set linear and angular velocities (robots, 6) of some bases, as in `qvel`."""
        self.state[robots, QVEL.start : QVEL.start + 6] = velocity
        rows = self._speed.send(robots, velocity)
        self._edit(kernels.set_base_velocity, len(robots), [rows, self.data.qvel])

    def set_physics(self, robots: np.ndarray, columns: Array) -> None:
        """Set model fields of some robots; columns (robots, 8) as in `PHYSICS_COLUMNS`."""
        model = self.model
        rows = self._physics.send(robots, columns)
        gain = _numbers(model.actuator_gainprm)
        bias = _numbers(model.actuator_biasprm)
        fields = [model.geom_friction, model.body_mass, model.body_inertia, model.dof_armature]
        self._edit(
            kernels.set_physics,
            len(robots),
            [rows, self._parts, self._base, *fields, gain, bias],
        )

    def set_constants(self, robots: np.ndarray, columns: Array) -> None:
        """Set what MuJoCo derives from masses, as `derived_constants` returns it."""
        model = self.model
        rows = self._constants.send(robots, columns)
        fields = [model.body_subtreemass, model.body_invweight0, model.dof_invweight0]
        self._edit(kernels.set_constants, len(robots), [rows, *fields])

    def _edit(self, kernel: wp.Kernel, count: int, arguments: list[object]) -> None:
        wp.launch(kernel, count, arguments, device=self.device)

    def _begin(self) -> None:
        given = [self._incoming, self._push, self._base]
        moved = [self._delay.targets, self.data.xfrc_applied]
        wp.launch(
            kernels.begin_step,
            self._config.num_robots,
            [*given, *moved, *self._counters, self._packed],
        )

    def _physics_step(self) -> None:
        data, delay, count = self.data, self._delay, self._config.num_robots
        wp.launch(
            kernels.hold_target,
            (count, NUM_JOINTS),
            [delay.targets, delay.age, self._substep, data.ctrl],
        )
        mjw.step(self.model, data)
        wp.launch(kernels.end_substep, count, [data.nefc, self._peak_rows, self._substep])

    def _end(self) -> None:
        data, contact = self.data, self.data.contact
        self._force.zero_()
        places = [contact.worldid, contact.geom, contact.frame, contact.efc_address]
        wp.launch(
            kernels.add_forces,
            data.naconmax,
            [data.nacon, *places, data.efc.force, self._parts, self._force],
        )
        measured = [data.qpos, data.qvel, data.actuator_force, self._force]
        wp.launch(
            kernels.pack_state,
            self._config.num_robots,
            [*measured, data.overflow, self._peak_rows, data.nacon, data.ncollision, self._packed],
        )

    def _scan_ground(self) -> None:
        boxes = [self.data.mocap_pos, self.model.geom_size, self._boxes]
        wp.launch(kernels.scan_ground, self._height.shape, [self.data.qpos, *boxes, self._height])

    def _replay(self, work: Callable[[], None], times: int = 1) -> None:
        """Do `work` on the device. It is recorded as a graph the first time."""
        if work not in self._graphs:
            with wp.ScopedDevice(self.device), wp.ScopedCapture() as capture:
                work()
            self._graphs[work] = capture.graph
        for _ in range(times):
            wp.capture_launch(self._graphs[work])


def _numbers(parameters: wp.array) -> wp.array:
    """Return a view (N, motors, 10) of parameters that are stored as vectors of ten."""
    count, motors = parameters.shape
    return wp.array(
        ptr=parameters.ptr, dtype=float, shape=(count, motors, 10), device=parameters.device
    )
