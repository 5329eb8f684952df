"""Robots of Gymnasium in MuJoCo. One native call steps all of them.

States agree to the last bit with those of Gymnasium's environments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from solo_doi.common.errors import MissingPackageError
from solo_doi.sim.domain import NOMINAL, Domain
from solo_doi.sim.input_checks import SimulationError, check_array
from solo_doi.sim.simulator import SimConfig, Simulator
from solo_doi.solo12.constants import Array
from solo_doi.solo12.state import Motion, RobotState

TORSO = 1
"""Body of the torso; 0 is the world."""


@dataclass(frozen=True, kw_only=True)
class GymModel:
    """Model of one environment."""

    file: str
    """File name among Gymnasium's assets."""
    frame_skip: int
    """Physics steps per control step."""
    planar: bool
    """True if the root moves in the plane of x and z, by slide joints and a hinge."""
    contact_forces: bool = False
    """True to compute the forces of contacts on all bodies."""


@dataclass(frozen=True, kw_only=True)
class GymState(RobotState):
    """State of robots. Joints include those of the root; there are no feet with sensors.

    Base pose: as of MuJoCo's last kinematics, except for x of planar robots, which is that of the
    root's slide joint. Base velocities are not measured: NaN.
    """

    contact_force: Array  # (N, bodies, 6) torque and force of contacts on each body


def gym_motion(joint_position: Array, joint_velocity: Array) -> Motion:
    """Return a start motion of N robots; the joints include those of the root."""
    robots = len(joint_position)
    unknown = np.full((robots, 3), np.nan)
    return Motion(
        base_position_w=unknown,
        base_quaternion=np.full((robots, 4), np.nan),
        linear_velocity_b=unknown,
        angular_velocity_b=unknown,
        joint_position=joint_position,
        joint_velocity=joint_velocity,
    )


class GymSimulator(Simulator):
    """N robots of one environment in a `mujoco.batch.Batch`; controls are motor torques.

    A robot that is halted stays as it is, without contact forces, until its next reset.
    """

    name = "MuJoCo"
    unsupported_domain = frozenset(NOMINAL)
    can_save = True

    def __init__(self, config: SimConfig, robot: GymModel) -> None:
        """Compile Gymnasium's model; robots start in its default pose."""
        super().__init__(config)
        import mujoco
        from mujoco.batch import Batch

        self._robot: GymModel = robot
        self._mujoco = mujoco
        self._model = _compiled(mujoco, robot.file)
        persistent = robot.contact_forces
        self._batch = Batch(self._model, config.num_robots, config.threads, persistent)
        self._qpos = self._batch.bind("qpos")
        self._qvel = self._batch.bind("qvel")
        self._place = self._batch.bind("xpos")
        self._turn = self._batch.bind("xquat")
        self._motors = self._batch.bind("actuator_force")
        self._contact = np.zeros((config.num_robots, self._model.nbody, 6))
        self._data = mujoco.MjData(self._model)
        self.halted = np.zeros(config.num_robots, dtype=bool)
        """Robots that do not move, (N,)."""
        self._batch.reset()
        self._pose = self._read_pose()

    @property
    def control_dt(self) -> float:
        """Duration of a control step [s]."""
        return float(self._model.opt.timestep * self._robot.frame_skip)

    def halt(self, robots: np.ndarray) -> None:
        """Stop robots until their next reset."""
        self.halted[robots] = True
        self._contact[robots] = 0.0

    def state(self) -> GymState:
        """Return a copy of all robots' states."""
        robots = self.num_robots
        unknown = np.full((robots, 3), np.nan)
        return GymState(
            base_position_w=self._pose[:, :3].copy(),
            base_quaternion=self._pose[:, 3:].copy(),
            linear_velocity_b=unknown,
            angular_velocity_b=unknown,
            joint_position=self._qpos.copy(),
            joint_velocity=self._qvel.copy(),
            torque=self._motors.copy(),
            foot_position_w=np.zeros((robots, 0, 3)),
            foot_velocity_w=np.zeros((robots, 0, 3)),
            foot_force_w=np.zeros((robots, 0, 3)),
            body_force_w=self._contact[..., 3:].copy(),
            contact_force=self._contact.copy(),
        )

    def reset(
        self,
        motion: Motion,
        robots: Sequence[int] | np.ndarray | None = None,
        target: Array | None = None,
    ) -> RobotState:
        """Put some robots (default: all) into given states of all joints."""
        robots = self._robots(robots)
        for name, size in (("joint_position", self._model.nq), ("joint_velocity", self._model.nv)):
            check_array(name, getattr(motion, name), (len(robots), size), robots)
        if len(robots):
            self._reset(robots, motion)
        return self.state()

    def step(self, target: Array, push_w: Array | None = None) -> RobotState:
        """Apply controls (N, motors) for a control step."""
        everyone = np.arange(self.num_robots)
        check_array("action", target, (self.num_robots, self._model.nu), everyone)
        moving = np.flatnonzero(~self.halted)
        if len(moving):
            steps = self._robot.frame_skip
            schedule = np.repeat(target[moving, None], steps, axis=1)
            self._batch.rollout(steps, schedule, record=(), ids=moving)
            self._pose = self._read_pose()
            self._measure_contacts(moving)
        # MuJoCo silently resets a simulation that diverges, so check its warnings.
        if self._batch.warning.any():
            robot = np.argwhere(self._batch.warning)[0][0]
            raise SimulationError(f"The physics of robot {robot} diverged. Choose another --seed.")
        return self.state()

    def _read_pose(self) -> Array:
        """Return position and quaternion of the torso, (N, 7)."""
        pose = np.concatenate([self._place[:, TORSO], self._turn[:, TORSO]], axis=1)
        if self._robot.planar:
            pose[:, 0] = self._qpos[:, 0]
        return pose

    def _measure_contacts(self, robots: np.ndarray) -> None:
        """Compute contact forces as Gymnasium does, which is no part of a physics step."""
        if not self._robot.contact_forces:
            return
        for robot in robots:
            self._batch.get_data(int(robot), self._data)
            self._mujoco.mj_rnePostConstraint(self._model, self._data)
            self._contact[robot] = self._data.cfrc_ext

    def _reset(self, robots: np.ndarray, motion: Motion) -> None:
        chosen = np.unique(robots)  # `Batch` requires sorted indices
        self._batch.reset(chosen, stage=self._mujoco.mjtStage.mjSTAGE_NONE)
        self._qpos[robots] = motion.joint_position
        self._qvel[robots] = motion.joint_velocity
        self._batch.forward(chosen)
        self._pose = self._read_pose()
        self._contact[robots] = 0.0
        self.halted[robots] = False

    def _apply_domain(self, robots: np.ndarray, domain: Domain) -> None:
        """Do nothing: all fields are nominal."""

    def _step(self, schedule: Array, push_w: Array | None) -> None:
        raise NotImplementedError  # `step` is overridden

    def _kick(self, robots: np.ndarray, linear_w: Array, angular_b: Array) -> None:
        raise SimulationError("Robots of Gymnasium cannot be pushed.")

    def _save(self) -> dict[str, np.ndarray]:
        return {
            "state": self._batch.state.copy(),
            "pose": self._pose.copy(),
            "contact": self._contact.copy(),
            "halted": self.halted.copy(),
        }

    def _load(self, saved: dict[str, np.ndarray]) -> None:
        self._batch.state[:] = saved["state"]
        # Kinematics lag behind the state, so they cannot be computed from it.
        self._pose = saved["pose"].copy()
        self._contact = saved["contact"].copy()
        self.halted = saved["halted"].copy()


def _compiled(mujoco: Any, file: str) -> Any:  # noqa: ANN401  # MuJoCo has no types
    """Compile a model of Gymnasium's assets."""
    path = _asset(file)
    # MuJoCo would print that the assets use deprecated settings, and log it to a file.
    mujoco.set_mju_user_warning(lambda text: None)
    try:
        return mujoco.MjModel.from_xml_path(str(path))
    finally:
        mujoco.set_mju_user_warning(None)


def _asset(file: str) -> Path:
    """Return the path of a model among Gymnasium's assets."""
    try:
        import gymnasium
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "gymnasium", "A task of Gymnasium", "Run: pip install 'solo-doi[gym]'"
        ) from error
    return Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / file
