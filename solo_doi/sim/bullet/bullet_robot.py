"""One Solo12 with its ground in one PyBullet client; the only file that calls PyBullet."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from solo_doi.common.errors import MissingPackageError, SoloError
from solo_doi.sim.simulator import SimConfig
from solo_doi.sim.substeps import solver_steps
from solo_doi.sim.terrain import Terrain
from solo_doi.solo12.action import joint_torque
from solo_doi.solo12.constants import (
    BASE_NAME,
    CONTACT_BODIES,
    GRAVITY,
    JOINT_NAMES,
    NUM_JOINTS,
    Array,
)
from solo_doi.solo12.rotations import (  # fmt: skip
    conjugate,
    cross,
    cross_matrix,
    from_xyzw,
    matrix,
    multiply,
    right_matrix,
    rotate,
    to_xyzw,
)
from solo_doi.solo12.state import JointCommand, Motion

try:
    import pybullet as p
except ImportError as error:
    raise MissingPackageError(
        "pybullet",
        "The PyBullet simulator",
        "Its wheels stop at Python 3.11 on Linux x86-64: use that, or simulate with MuJoCo "
        "(--sim mujoco).",
    ) from error

WINDOW_DISTANCE = 0.8
"""Distance of the window's camera from the robot [m]."""


class BulletRobot:
    """One robot in PyBullet; velocities are in the world frame, as in Bullet."""

    def __init__(
        self, urdf: Path, config: SimConfig, terrain: Terrain, index: int, *, gui: bool = False
    ) -> None:
        """Connect a new client and load ground, boxes of robot `index`, and the robot."""
        mode = p.GUI if gui else p.DIRECT
        self._client = p.connect(mode)
        if self._client < 0:
            raise SoloError(
                f"PyBullet refused physics client number {index}: "
                "close simulators that are not needed."
            )
        self._config = config
        self._solver_steps = solver_steps(config.physics_dt)
        p.setPhysicsEngineParameter(
            fixedTimeStep=config.physics_dt / self._solver_steps,
            deterministicOverlappingPairs=1,
            physicsClientId=self._client,
        )
        p.setGravity(0, 0, -GRAVITY, physicsClientId=self._client)
        self._add_ground(terrain.solid_centre[index], terrain.solid_size[index])
        # Inertias as written in the file: Bullet would compute its own from the collision shapes.
        self._body = p.loadURDF(
            str(urdf), flags=p.URDF_USE_INERTIA_FROM_FILE, physicsClientId=self._client
        )
        joints = {}
        links = {BASE_NAME: -1}
        for index in range(p.getNumJoints(self._body, self._client)):
            info = p.getJointInfo(self._body, index, self._client)
            joints[info[1].decode()] = info[0]
            links[info[12].decode()] = info[0]
        self._joints = [joints[name] for name in JOINT_NAMES]
        self._row_of_link = {links[name]: row for row, name in enumerate(CONTACT_BODIES)}
        dynamics = p.getDynamicsInfo(self._body, -1, self._client)
        self._base_mass = dynamics[0]
        self._base_inertia = np.array(dynamics[2])
        # Bullet's base is the frame of the principal axes at the centre of mass; ours is base_link.
        self._com_b = np.array(dynamics[3])
        self._axes = from_xyzw(np.array(dynamics[4]))
        self._from_axes = right_matrix(conjugate(self._axes))
        self._make_passive()

    def read(self) -> tuple[Array, Array, Array, Array, list[float], list[float]]:
        """Return pose and velocity of base_link, joint positions and joint velocities."""
        position, axes = p.getBasePositionAndOrientation(self._body, self._client)
        linear, angular = p.getBaseVelocity(self._body, self._client)
        x, y, z, w = axes
        quaternion = self._from_axes @ (w, x, y, z)
        offset_w = matrix(quaternion) @ self._com_b
        angular_w = np.array(angular)
        joints = p.getJointStates(self._body, self._joints, self._client)
        return (
            position - offset_w,
            quaternion,
            linear - cross_matrix(angular_w) @ offset_w,
            angular_w,
            [joint[0] for joint in joints],
            [joint[1] for joint in joints],
        )

    def place(self, motion: Motion, linear_w: Array, angular_w: Array) -> None:
        """Put the robot into a state."""
        position = motion.base_position_w + rotate(motion.base_quaternion, self._com_b)
        axes = to_xyzw(multiply(motion.base_quaternion, self._axes))
        p.resetBasePositionAndOrientation(self._body, position, axes, physicsClientId=self._client)
        self.set_base_velocity(motion.base_quaternion, linear_w, angular_w)
        for joint, angle, rate in zip(
            self._joints, motion.joint_position, motion.joint_velocity, strict=True
        ):
            p.resetJointState(self._body, joint, angle, rate, physicsClientId=self._client)

    def place_boxes(self, centres: Array) -> None:
        """Move the boxes, (boxes, 3) [m]."""
        for box, centre in zip(self._ground[1:], centres, strict=True):
            p.resetBasePositionAndOrientation(
                box, centre, (0, 0, 0, 1), physicsClientId=self._client
            )

    def set_base_velocity(self, quaternion: Array, linear_w: Array, angular_w: Array) -> None:
        """Set the velocity of base_link."""
        of_com = linear_w + cross(angular_w, rotate(quaternion, self._com_b))
        p.resetBaseVelocity(self._body, of_com, angular_w, physicsClientId=self._client)

    def step(self, schedule: Array, kp: float, kd: float, push_w: Array | None) -> Array:
        """Run one physics step per row of `schedule`; return the torques of the last."""
        torque = np.zeros(NUM_JOINTS)
        for target in np.repeat(schedule, self._solver_steps, axis=0):
            joints = p.getJointStates(self._body, self._joints, self._client)
            position, velocity = np.array([(joint[0], joint[1]) for joint in joints]).T
            command = JointCommand(position=target, kp=kp, kd=kd)
            torque = joint_torque(command, position, velocity, self._config.torque_limit)
            p.setJointMotorControlArray(
                self._body,
                self._joints,
                p.TORQUE_CONTROL,
                forces=torque,
                physicsClientId=self._client,
            )
            if push_w is not None:
                place, _ = p.getBasePositionAndOrientation(self._body, self._client)
                p.applyExternalForce(
                    self._body, -1, push_w, place, p.WORLD_FRAME, physicsClientId=self._client
                )
            p.stepSimulation(self._client)
        return torque

    def contact_forces(self) -> Array:
        """Normal contact forces on `CONTACT_BODIES` in the world frame, (17, 3)."""
        forces = np.zeros((len(CONTACT_BODIES), 3))
        for ground in self._ground:
            for contact in p.getContactPoints(self._body, ground, physicsClientId=self._client):
                forces[self._row_of_link[contact[3]]] += contact[9] * np.array(contact[7])
        return forces

    def set_physics(self, friction: float, added_mass: float) -> None:
        """Set the mass of the base and the friction of all bodies.

        Bullet multiplies it with the ground's, which is 1.
        """
        for link in self._row_of_link:
            p.changeDynamics(
                self._body,
                link,
                lateralFriction=friction,
                restitution=0.0,
                physicsClientId=self._client,
            )
        mass = self._base_mass + added_mass
        inertia = (self._base_inertia * mass / self._base_mass).tolist()
        p.changeDynamics(
            self._body, -1, mass=mass, localInertiaDiagonal=inertia, physicsClientId=self._client
        )

    def look_at(self, position: Array) -> None:
        """Point the window's camera at a place, near enough that the robot fills it."""
        p.resetDebugVisualizerCamera(
            WINDOW_DISTANCE, 50.0, -20.0, list(position), physicsClientId=self._client
        )

    def disconnect(self) -> None:
        """Free the client."""
        p.disconnect(self._client)

    def _add_ground(self, centres: Array, sizes: Array) -> None:
        plane = p.createCollisionShape(p.GEOM_PLANE, physicsClientId=self._client)
        self._ground = [p.createMultiBody(0, plane, physicsClientId=self._client)]
        for centre, size in zip(centres, sizes, strict=True):
            half = size / 2
            box = p.createCollisionShape(p.GEOM_BOX, halfExtents=half, physicsClientId=self._client)
            self._ground.append(
                p.createMultiBody(0, box, basePosition=centre, physicsClientId=self._client)
            )
        for ground in self._ground:
            p.changeDynamics(
                ground, -1, lateralFriction=1.0, restitution=0.0, physicsClientId=self._client
            )

    def _make_passive(self) -> None:
        """Remove the motors, damping and speed limits that Bullet adds."""
        p.setJointMotorControlArray(
            self._body,
            self._joints,
            p.VELOCITY_CONTROL,
            forces=[0.0] * NUM_JOINTS,
            physicsClientId=self._client,
        )
        for link in self._row_of_link:
            # Separate calls: combined in one, Bullet silently drops the friction.
            p.changeDynamics(
                self._body, link, linearDamping=0, angularDamping=0, physicsClientId=self._client
            )
            p.changeDynamics(self._body, link, maxJointVelocity=1000, physicsClientId=self._client)
            p.changeDynamics(self._body, link, jointDamping=0, physicsClientId=self._client)
