"""Simulated Solo12 in MuJoCo with rotor inertia and friction, on a crane until it is lowered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mujoco
import numpy as np

from solo_doi.sim import SimConfig
from solo_doi.sim.mujoco.mujoco_model import build_model, normal_forces
from solo_doi.solo12.constants import BASE_NAME, GRAVITY, NUM_LEGS, TOTAL_MASS, Array
from solo_doi.solo12.limits import GEAR_RATIO
from solo_doi.solo12.rotations import IDENTITY, rotate_inverse
from solo_doi.solo12.state import CONTACT_THRESHOLD, Motion, mechanical_power

from .crane import Crane

DRIVER_STEPS = 2
"""Number of physics steps, each with an evaluation of the drivers' control law, per tick."""
PLANT_STEP = 0.001 / DRIVER_STEPS
"""Physics step [s]."""
ROTOR_INERTIA = 1e-5
"""Inertia of one motor with its gears, assumed [kg m^2]."""
COULOMB_FRICTION = 0.03
"""Coulomb friction of a joint, assumed [N m]."""
VISCOUS_FRICTION = 0.01
"""Viscous friction of a joint, assumed [N m s/rad]."""
HOLDING_FRICTION = 5.0
"""Friction of joints that a tool holds in place [N m]."""
STRONGEST = 8.0
"""Torque limit of the model, above the largest torque of any command [N m]."""
NO_SENSORS = int(mujoco.mjtDisableBit.mjDSBL_SENSOR)

Torques = Callable[[Array, Array], Array]
Observe = Callable[[Array, Array], None]


class BodyMotion(NamedTuple):
    """Motion of the base as measured by an IMU."""

    rotation_wb: Array  # (3, 3) base vectors to world vectors
    angular_velocity_b: Array  # (3,) [rad/s]
    acceleration_w: Array  # (3,) without gravity [m/s^2]


class Plant:
    """One robot: joint torques in, joint and base motion out."""

    def __init__(self, pose: Array, height: float = 0.45) -> None:
        """Hang the robot from a crane at rest, with the base at a height [m], in a pose [rad]."""
        self._model = build_model(SimConfig(physics_dt=PLANT_STEP, torque_limit=STRONGEST))
        # The drivers' control law is evaluated in `MotorDrivers`, so actuators only apply torques.
        self._model.actuator_gainprm[:, 0] = 1.0
        self._model.actuator_biasprm[:] = 0.0
        self._model.dof_armature[6:] = ROTOR_INERTIA * GEAR_RATIO**2
        self._model.dof_damping[6:] = VISCOUS_FRICTION
        self.hold_joints(held=False)
        # Contact sensors take a fifth of a step, and only `belly_on_ground` needs them.
        self._model.opt.disableflags |= NO_SENSORS
        self._data = mujoco.MjData(self._model)
        self._data.qpos[:] = np.concatenate([[0, 0, height], IDENTITY, pose])
        self.crane = Crane(height, TOTAL_MASS * GRAVITY)
        mujoco.mj_forward(self._model, self._data)
        self._view()

    def _view(self) -> None:
        """Store views of the simulator's arrays, since each access by name makes a new view."""
        data = self._data
        base = self._model.body(BASE_NAME).id
        self._position = data.qpos[7:]
        self._velocity = data.qvel[6:]
        self._control = data.ctrl
        self._place = data.qpos[:7]
        self._quaternion = data.qpos[3:7]
        self._linear_w = data.qvel[:3]
        self._angular_b = data.qvel[3:6]
        self._acceleration_w = data.qacc[:3]
        self._rotation_wb = data.xmat[base].reshape(3, 3)
        self._wrench = data.xfrc_applied[base]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy with views of the copied simulator."""
        self.__dict__.update(state)
        self._view()

    @property
    def joint_position(self) -> Array:
        """True joint angles, (12,) [rad]."""
        return self._position.copy()

    @property
    def joint_velocity(self) -> Array:
        """True joint velocities, (12,) [rad/s]."""
        return self._velocity.copy()

    @property
    def power(self) -> float:
        """Sum of the magnitudes of all joints' mechanical powers [W]."""
        return float(mechanical_power(self._control, self._velocity))

    def belly_on_ground(self) -> bool:
        """Return True if a part other than the feet touched the ground in the last physics step."""
        self._model.opt.disableflags &= ~NO_SENSORS
        mujoco.mj_sensorAcc(self._model, self._data)
        self._model.opt.disableflags |= NO_SENSORS
        forces = normal_forces(self._data.sensordata[None])[0, NUM_LEGS:]
        return bool((np.linalg.norm(forces, axis=-1) > CONTACT_THRESHOLD).any())

    def motion(self) -> Motion:
        """Return the true motion of the robot."""
        qpos = self._data.qpos.copy()
        qvel = self._data.qvel.copy()
        return Motion(
            base_position_w=qpos[:3],
            base_quaternion=qpos[3:7],
            linear_velocity_b=rotate_inverse(qpos[3:7], qvel[:3]),
            angular_velocity_b=qvel[3:6],
            joint_position=qpos[7:],
            joint_velocity=qvel[6:],
        )

    def tick(self, torques: Torques, observe: Observe) -> None:
        """Advance by a millisecond.

        Each physics step applies the result of `torques`, then calls `observe`. Both get joint
        positions and velocities, as the simulator's own arrays, which change in the next step.
        """
        for _ in range(DRIVER_STEPS):
            self._control[:] = torques(self._position, self._velocity)
            self._pull()
            mujoco.mj_step(self._model, self._data)
            observe(self._position, self._velocity)

    def hold_joints(self, *, held: bool) -> None:
        """Hold all joints in place, as by a tool, or release them."""
        self._model.dof_frictionloss[6:] = HOLDING_FRICTION if held else COULOMB_FRICTION

    def put_joints(self, pose: Array) -> None:
        """Set all joints to a pose [rad] with zero velocity, as a person would by hand."""
        self._position[:] = pose
        self._velocity[:] = 0.0

    def lower(self) -> None:
        """Lower the robot to the ground and release it."""
        self.crane.lower()

    def body(self) -> BodyMotion:
        """Return the motion of the base in the last physics step."""
        rotation = np.empty(9)
        mujoco.mju_quat2Mat(rotation, self._quaternion)
        # The acceleration of a free joint is in the world frame in MuJoCo.
        return BodyMotion(
            rotation.reshape(3, 3), self._angular_b.copy(), self._acceleration_w.copy()
        )

    def _pull(self) -> None:
        if self.crane.released:
            self._wrench.fill(0.0)
            return
        # MuJoCo's free joint: linear velocity in the world frame, angular in the base frame.
        angular_w = self._rotation_wb @ self._angular_b
        self._wrench[:] = self.crane.wrench(
            self._place.tolist(), self._linear_w.tolist(), angular_w.tolist(), PLANT_STEP
        )

    def push(self, velocity_w: Array) -> None:
        """Add a velocity to the base at once [m/s]."""
        self._linear_w += velocity_w
