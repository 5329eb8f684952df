"""One Solo12 in MuJoCo, with the interface of `BulletRobot`."""

from __future__ import annotations

import mujoco

from solo_doi.sim.mujoco.mujoco_model import build_model, normal_forces
from solo_doi.sim.simulator import SimConfig
from solo_doi.solo12.constants import Array
from solo_doi.solo12.rotations import rotate, rotate_inverse
from solo_doi.solo12.state import Motion


class MujocoBody:
    """One robot in MuJoCo; velocities are in the world frame."""

    def __init__(self, config: SimConfig) -> None:
        """Compile the model."""
        self._model = build_model(config)
        self._data = mujoco.MjData(self._model)

    def read(self) -> tuple[Array, Array, Array, Array, list[float], list[float]]:
        """Return pose and velocity of base_link, joint positions and joint velocities."""
        qpos = self._data.qpos.copy()
        qvel = self._data.qvel.copy()
        quaternion = qpos[3:7]
        angular_w = rotate(quaternion, qvel[3:6])  # MuJoCo has it in the base frame
        return qpos[:3], quaternion, qvel[:3], angular_w, qpos[7:].tolist(), qvel[6:].tolist()

    def place(self, motion: Motion, linear_w: Array, angular_w: Array) -> None:
        """Put the robot into a state."""
        data = self._data
        data.qpos[:3] = motion.base_position_w
        data.qpos[3:7] = motion.base_quaternion
        data.qpos[7:] = motion.joint_position
        data.qvel[:3] = linear_w
        data.qvel[3:6] = rotate_inverse(motion.base_quaternion, angular_w)
        data.qvel[6:] = motion.joint_velocity
        mujoco.mj_forward(self._model, data)

    def step(self, schedule: Array, kp: float, kd: float, push_w: Array | None) -> Array:
        """Run one physics step per row of `schedule`; return the torques of the last."""
        assert push_w is None, "dry runs have no pushes"
        self._model.actuator_gainprm[:, 0] = kp
        self._model.actuator_biasprm[:, 1] = -kp
        self._model.actuator_biasprm[:, 2] = -kd
        for target in schedule:
            self._data.ctrl[:] = target
            mujoco.mj_step(self._model, self._data)
        return self._data.actuator_force.copy()

    def contact_forces(self) -> Array:
        """Normal contact forces on all bodies in the world frame, feet first, (17, 3) [N]."""
        return normal_forces(self._data.sensordata[None])[0]

    def set_physics(self, friction: float, added_mass: float) -> None:
        """Set the friction of all bodies; the mass of a dry run's robot does not change."""
        assert added_mass == 0.0, "dry runs have no added mass"
        self._model.geom_friction[:, 0] = friction

    def look_at(self, position: Array) -> None:
        """Do nothing: there is no window."""

    def disconnect(self) -> None:
        """Do nothing: memory is freed with the object."""
