"""N robots on a device. A control step is a few graphs between a copy in and a copy out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import mujoco_warp as mjw
import numpy as np
import warp as wp

from solo_doi.sim.simulator import SimConfig
from solo_doi.sim.terrain import Terrain
from solo_doi.sim.warp_config import WarpConfig
from solo_doi.solo12.constants import BASE_NAME, BODY_NAMES, NUM_JOINTS, NUM_LEGS, Array
from solo_doi.solo12.kinematics import HIPS_B, LEG_WIDTH
from solo_doi.solo12.observation import SCAN_SIDE
from solo_doi.solo12.rotations import rotate_inverse
from solo_doi.solo12.state import Motion, feet_in_world

from . import kernels
from .device import RowUpload
from .device_delay import DeviceDelay
from .device_model import device_model, geom_of_box, host_model, part_of_geom
from .packed_state import fields_of, packed_size

NUM_PARTS = NUM_LEGS + len(BODY_NAMES)
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
            self._packed = wp.zeros(packed_size(count), dtype=float)
            self._legs = [wp.array(HIPS_B, dtype=wp.vec3), wp.array(LEG_WIDTH, dtype=float)]
        self._fields = fields_of(self._packed, count)
        self._counters = [self.data.overflow, self._peak_rows, self._substep]
        pinned = self.device.is_cuda
        self._target = wp.zeros_like(self._incoming, device="cpu", pinned=pinned)
        self._state = wp.zeros_like(self._packed, device="cpu", pinned=pinned)
        self._scan = wp.zeros_like(self._height, device="cpu", pinned=pinned)
        self._scan_is_present = False
        self._target_rows = self._target.numpy()
        self.packed = self._state.numpy()
        """All states on the host, in one block."""
        self.state: dict[str, np.ndarray] = fields_of(self.packed, count)
        """Views of the block: states (N, ...) by field."""
        self._pushed = False
        self._base = self.host_model.body(BASE_NAME).id
        self._motion = RowUpload(
            count, self.host_model.nq + self.host_model.nv + 3 * terrain.num_boxes, self.device
        )
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
        return not self.state["alarm"][0]

    def set_motion(self, robots: np.ndarray, motion: Motion, linear_w: Array, boxes: Array) -> None:
        """Put some robots and their boxes (robots, boxes, 3) into given states, at rest inside."""
        self._scan_is_present = False
        for values in self.state.values():
            if len(values) == self._config.num_robots:
                values[robots] = 0.0
        for field in fields(Motion):
            self.state[field.name][robots] = getattr(motion, field.name)
        self.state["linear_velocity_w"][robots] = linear_w
        self._place_feet(robots)
        data = self.data
        qpos = (motion.base_position_w, motion.base_quaternion, motion.joint_position)
        qvel = (linear_w, motion.angular_velocity_b, motion.joint_velocity)
        rows = self._motion.send(robots, *qpos, *qvel, boxes)
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

    def kick(self, robots: np.ndarray, linear_w: Array, angular_b: Array) -> None:
        """Add to linear and angular velocities (robots, 3) of some bases."""
        state = self.state
        linear = state["linear_velocity_w"][robots] + linear_w
        angular = state["angular_velocity_b"][robots] + angular_b
        quaternion = state["base_quaternion"][robots].astype(np.float64)
        state["linear_velocity_w"][robots] = linear
        state["linear_velocity_b"][robots] = rotate_inverse(quaternion, linear)
        state["angular_velocity_b"][robots] = angular
        self._place_feet(robots)
        rows = self._speed.send(robots, linear, angular)
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

    def _place_feet(self, robots: np.ndarray) -> None:
        """Compute feet on the host, as `pack_feet` does, for robots whose motion was set."""
        motion = Motion(
            **{
                field.name: self.state[field.name][robots].astype(np.float64)
                for field in fields(Motion)
            }
        )
        position, velocity = feet_in_world(motion)
        self.state["foot_position_w"][robots] = position
        self.state["foot_velocity_w"][robots] = velocity

    def _edit(self, kernel: wp.Kernel, count: int, arguments: list[object]) -> None:
        wp.launch(kernel, count, arguments, device=self.device)

    def _begin(self) -> None:
        given = [self._incoming, self._push, self._base]
        moved = [self._delay.targets, self.data.xfrc_applied]
        wp.launch(
            kernels.begin_step,
            self._config.num_robots,
            [*given, *moved, *self._counters, self._fields["alarm"]],
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
        count, moved = self._config.num_robots, [data.qpos, data.qvel]
        counted = [data.overflow, self._peak_rows, data.nacon, data.ncollision]
        motion = [*(field.name for field in fields(Motion)), "linear_velocity_w"]
        forces = ["torque", "foot_force_w", "body_force_w"]
        feet = ["foot_position_w", "foot_velocity_w"]
        wp.launch(kernels.pack_motion, count, [*moved, *self._packed_fields(motion)])
        wp.launch(
            kernels.pack_feet,
            (count, NUM_LEGS),
            [*moved, *self._legs, *self._packed_fields(feet)],
        )
        wp.launch(
            kernels.pack_forces,
            count,
            [data.actuator_force, self._force, *self._packed_fields(forces)],
        )
        wp.launch(
            kernels.pack_health,
            count,
            [*moved, *counted, *self._packed_fields(["health", "alarm"])],
        )

    def _packed_fields(self, names: list[str]) -> list[wp.array]:
        return [self._fields[name] for name in names]

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
