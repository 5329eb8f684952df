"""Forward kinematics and Jacobians, by table, by differences, and against two engines."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from solo_doi.solo12.constants import BASE_NAME, FOOT_NAMES, JOINT_NAMES, TOTAL_MASS, symmetric_pose
from solo_doi.solo12.kinematics import foot_jacobians, foot_motion, foot_positions
from solo_doi.solo12.limits import MECHANICAL_POSITION
from solo_doi.solo12.rotations import from_xyzw, multiply, rotate, to_xyzw
from solo_doi.solo12.state import Motion, feet_in_world
from solo_doi.solo12.urdf import solo12_urdf

NUM_POSES = 200


def random_motion(seed: int, num_robots: int = NUM_POSES) -> Motion:
    """Return robots at any pose and velocity, with joints within their mechanical range."""
    rng = np.random.default_rng(seed)
    quaternion = rng.standard_normal((num_robots, 4))
    return Motion(
        base_position_w=rng.uniform(-2, 2, (num_robots, 3)),
        base_quaternion=quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True),
        linear_velocity_b=rng.uniform(-2, 2, (num_robots, 3)),
        angular_velocity_b=rng.uniform(-4, 4, (num_robots, 3)),
        joint_position=rng.uniform(-1, 1, (num_robots, 12)) * MECHANICAL_POSITION,
        joint_velocity=rng.uniform(-10, 10, (num_robots, 12)),
    )


@pytest.mark.parametrize(
    ("pose", "front_left"),
    [
        ((0.0, 0.0, 0.0), (0.19460, 0.14695, -0.32000)),
        ((0.0, np.pi / 4, -np.pi / 2), (0.19460, 0.14695, -0.22627)),
        ((0.05, 0.6, -1.4), (0.21903, 0.15905, -0.24025)),
    ],
    ids=["zero", "navigation", "locomotion"],
)
def test_feet_are_where_the_published_table_has_them(
    pose: tuple[float, float, float], front_left: tuple[float, float, float]
) -> None:
    """The positions were computed independently from example-robot-data's file, to 0.01 mm."""
    expected = front_left * np.array([[1, 1, 1], [1, -1, 1], [-1, 1, 1], [-1, -1, 1]])
    np.testing.assert_allclose(foot_positions(symmetric_pose(*pose)), expected, atol=1e-5)


def test_hip_abduction_swings_the_leg_about_the_x_axis() -> None:
    """A quarter turn of HAA from zero pose.

    The foot's (y, z) relative to the hip changes from (0.05945, -0.32) to (0.32, 0.05945).
    """
    joints = np.zeros(12)
    joints[JOINT_NAMES.index("FL_HAA")] = np.pi / 2
    expected = (0.1946, 0.0875 + 0.32, 0.05945)
    np.testing.assert_allclose(foot_positions(joints)[0], expected, atol=1e-12)


def test_joint_velocity_gives_the_derivative_of_foot_position() -> None:
    """Velocity and Jacobian agree with central differences along the motion."""
    motion, step = random_motion(0), 1e-6
    q, rates = motion.joint_position, motion.joint_velocity
    by_difference = (foot_positions(q + step * rates) - foot_positions(q - step * rates)) / (
        2 * step
    )
    position, velocity = foot_motion(q, rates)
    by_jacobian = np.einsum("nlij,nlj->nli", foot_jacobians(q), rates.reshape(-1, 4, 3))
    np.testing.assert_allclose(velocity, by_difference, atol=1e-7)
    np.testing.assert_allclose(velocity, by_jacobian, atol=1e-12)
    np.testing.assert_array_equal(position, foot_positions(q))


def test_jacobian_columns_are_differences_by_single_joints() -> None:
    """Each column belongs to one joint.

    Random motions alone might not detect swapped columns.
    """
    q, step = random_motion(1).joint_position, 1e-6
    jacobian = foot_jacobians(q)
    for leg in range(4):
        for joint in range(3):
            moved = np.zeros(12)
            moved[3 * leg + joint] = step
            difference = (foot_positions(q + moved) - foot_positions(q - moved)) / (2 * step)
            np.testing.assert_allclose(difference[:, leg], jacobian[:, leg, :, joint], atol=1e-8)
            others = np.delete(difference, leg, axis=1)
            np.testing.assert_array_equal(others, 0.0)


def test_one_robot_equals_a_row_of_a_batch() -> None:
    """The controller has one robot without a leading dimension, training has thousands."""
    motion = random_motion(2, num_robots=5)
    batch_position, batch_velocity = feet_in_world(motion)
    position, velocity = feet_in_world(motion[3])
    np.testing.assert_array_equal(position, batch_position[3])
    np.testing.assert_array_equal(velocity, batch_velocity[3])
    np.testing.assert_array_equal(
        foot_jacobians(motion.joint_position[3]), foot_jacobians(motion.joint_position)[3]
    )


def test_feet_and_mass_agree_with_mujoco() -> None:
    """The reference is the engine's kinematics of the same file, for 200 random states."""
    mujoco = pytest.importorskip("mujoco")
    from solo_doi.sim import SimConfig
    from solo_doi.sim.mujoco.mujoco_model import build_model

    model = build_model(SimConfig())
    data = mujoco.MjData(model)
    motion = random_motion(3)
    positions, velocities = feet_in_world(motion)
    linear_w = rotate(motion.base_quaternion, motion.linear_velocity_b)
    for row in range(NUM_POSES):
        data.qpos[:] = [
            *motion.base_position_w[row],
            *motion.base_quaternion[row],
            *motion.joint_position[row],
        ]
        data.qvel[:] = [
            *linear_w[row],
            *motion.angular_velocity_b[row],
            *motion.joint_velocity[row],
        ]
        mujoco.mj_forward(model, data)
        for foot, name in enumerate(FOOT_NAMES):
            jacobian = np.zeros((3, model.nv))
            mujoco.mj_jacBody(model, data, jacobian, None, model.body(name).id)
            np.testing.assert_allclose(positions[row, foot], data.body(name).xpos, atol=1e-9)
            np.testing.assert_allclose(velocities[row, foot], jacobian @ data.qvel, atol=1e-9)
    assert mujoco.mj_getTotalmass(model) == pytest.approx(TOTAL_MASS, abs=1e-6)
    assert [model.joint(index).name for index in range(1, model.njnt)] == list(JOINT_NAMES)


def test_feet_and_mass_agree_with_pybullet(tmp_path: Path) -> None:
    """Compare 200 states with an engine that has its own parser and conventions."""
    p = pytest.importorskip("pybullet")
    urdf = tmp_path / "solo12.urdf"
    urdf.write_text(solo12_urdf())
    client = p.connect(p.DIRECT)
    try:
        body = p.loadURDF(str(urdf), flags=p.URDF_USE_INERTIA_FROM_FILE, physicsClientId=client)
        info = [
            p.getJointInfo(body, joint, client) for joint in range(p.getNumJoints(body, client))
        ]
        joints = {entry[1].decode(): entry[0] for entry in info}
        links = {entry[12].decode(): entry[0] for entry in info}
        motion = random_motion(3)
        positions, velocities = feet_in_world(motion)
        for row in range(NUM_POSES):
            for name, angle, rate in zip(
                JOINT_NAMES, motion.joint_position[row], motion.joint_velocity[row], strict=True
            ):
                p.resetJointState(body, joints[name], angle, rate, physicsClientId=client)
            place_bullet_base(p, client, body, motion[row])
            for foot, name in enumerate(FOOT_NAMES):
                link = p.getLinkState(body, links[name], 1, 1, client)
                # Bullet has single precision in places; velocity 6 is that of the link's centre of
                # mass.
                velocity = link[6] + np.cross(link[7], np.subtract(link[4], link[0]))
                np.testing.assert_allclose(positions[row, foot], link[4], atol=1e-6)
                np.testing.assert_allclose(velocities[row, foot], velocity, atol=1e-5)
        masses = [p.getDynamicsInfo(body, link, client)[0] for link in (-1, *links.values())]
        assert sum(masses) == pytest.approx(TOTAL_MASS, abs=1e-6)
        assert p.getBodyInfo(body, client)[0].decode() == BASE_NAME
    finally:
        p.disconnect(client)


def place_bullet_base(p: ModuleType, client: int, body: int, motion: Motion) -> None:
    """Place base_link; Bullet's base is the frame of the principal axes."""
    com, axes = (np.array(part) for part in p.getDynamicsInfo(body, -1, client)[3:5])
    offset_w = rotate(motion.base_quaternion, com)
    turned = to_xyzw(multiply(motion.base_quaternion, from_xyzw(axes)))
    p.resetBasePositionAndOrientation(
        body, motion.base_position_w + offset_w, turned, physicsClientId=client
    )
    angular_w = rotate(motion.base_quaternion, motion.angular_velocity_b)
    linear_w = rotate(motion.base_quaternion, motion.linear_velocity_b) + np.cross(
        angular_w, offset_w
    )
    p.resetBaseVelocity(body, linear_w, angular_w, physicsClientId=client)
