"""The simulated robot: what its sensors show, when commands act, and what a witness sees of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from deploy.common.poses import LYING, LYING_HEIGHT
from deploy.common.robot_constants import TICK
from solo_doi.solo12.constants import CONTROL_SETUPS, GRAVITY, NUM_JOINTS
from solo_doi.solo12.limits import TRAINING
from solo_doi.solo12.rotations import projected_gravity
from solo_doi.solo12.sensors import SensorNoise
from solo_doi.solo12.state import JointCommand, standing

pytest.importorskip("pybullet")
from deploy.robots.simulated.bullet_solo import BulletSolo  # needs PyBullet
from deploy.robots.simulated.ground_truth import GroundTruth

SILENT = SensorNoise(angular_velocity=0.0, acceleration=0.0, attitude=0.0, joint_velocity=0.0)


def hold(kp: float = 5.0, offset: float = 0.0) -> JointCommand:
    """Stay as you lie, or a little further."""
    return JointCommand(position=LYING + offset, kp=kp, kd=0.2)


@pytest.fixture
def robot() -> Iterator[BulletSolo]:
    """A robot without noise, whose clock starts at 3 s."""
    solo = BulletSolo(noise=SILENT, epoch=3.0)
    yield solo
    solo.close()


def rest(robot: BulletSolo, ticks: int) -> None:
    """Let it lie damped."""
    for _ in range(ticks):
        robot.drive(hold(kp=0.0), robot.time)


def test_it_starts_lying_at_its_epoch(robot: BulletSolo) -> None:
    """And its clock goes by ticks of its own, whoever is late."""
    seen = robot.sense()
    assert seen.time == 3.0
    np.testing.assert_allclose(seen.joint_position, LYING, atol=1e-9)
    assert robot.motion.base_position_w[2] == pytest.approx(LYING_HEIGHT)
    rest(robot, 5)
    assert robot.sense().time == pytest.approx(3.005)


def test_sensors_show_the_truth_but_for_noise(robot: BulletSolo) -> None:
    """At rest the accelerometer shows gravity upwards; sensing twice changes nothing."""
    rest(robot, 500)
    seen, again, motion = robot.sense(), robot.sense(), robot.motion
    np.testing.assert_array_equal(seen.acceleration_b, again.acceleration_b)
    np.testing.assert_allclose(seen.joint_position, motion.joint_position)
    np.testing.assert_allclose(seen.joint_velocity, motion.joint_velocity)
    np.testing.assert_allclose(seen.angular_velocity_b, motion.angular_velocity_b)
    np.testing.assert_allclose(
        projected_gravity(seen.quaternion), projected_gravity(motion.base_quaternion)
    )
    np.testing.assert_allclose(seen.acceleration_b, [0, 0, GRAVITY], atol=0.5)
    assert seen.ready.all()
    assert np.isnan(seen.voltage)


def test_noise_is_of_its_size_and_seed() -> None:
    """The same seed shows the same numbers, another one others; positions have none."""
    shown = []
    for seed in (1, 1, 2):
        solo = BulletSolo(seed=seed)
        shown.append([solo.sense() for _ in range(200)])
        solo.close()
    one, same, other = (np.array([seen.angular_velocity_b for seen in series]) for series in shown)
    np.testing.assert_array_equal(one, same)
    assert (one != other).all()
    assert one.std() == pytest.approx(0.01, rel=0.15)
    velocities = np.array([seen.joint_velocity for seen in shown[0]])
    assert velocities.std() == pytest.approx(0.05, rel=0.15)
    assert np.ptp([seen.joint_position for seen in shown[0]], axis=0).max() == 0.0


@pytest.mark.parametrize("age", [0, 5, 15])
def test_a_command_acts_when_its_measurement_is_as_old_as_in_training(age: int) -> None:
    """15 ms after it, however much of that the way here has taken.

    What acts is told by its measurement's time.
    """
    robot = BulletSolo(noise=SILENT)
    rest(robot, 100)
    acting = []
    for k in range(40):
        now = robot.time
        acting.append(robot.drive(hold(offset=0.1), now - age * TICK) - now)
        if k == 0 and age < 15:
            assert np.abs(robot.torque).max() < 0.3  # still damped
    robot.close()
    np.testing.assert_allclose(acting[-20:], -0.015, atol=1e-9)


def test_a_command_that_comes_too_late_acts_at_once(robot: BulletSolo) -> None:
    """Its delay is then longer than in training, and told so."""
    assert robot.drive(hold(), robot.time - 0.030) == pytest.approx(robot.time - TICK - 0.030)


def test_damping_acts_at_once_and_forgets_what_waits(robot: BulletSolo) -> None:
    """Safety does not wait for 15 ms."""
    for _ in range(30):
        robot.drive(hold(offset=0.3), robot.time)
    assert np.abs(robot.torque).max() > 0.5
    now = robot.time
    assert robot.drive(hold(kp=0.0), now) == now
    velocity = robot.motion.joint_velocity
    rest(robot, 20)
    assert np.abs(robot.torque).max() <= 0.2 * np.abs(velocity).max() + 0.5
    assert robot.drive(hold(kp=0.0), robot.time) == robot.time - TICK


def test_torques_are_those_of_the_joint_law_within_the_limit(robot: BulletSolo) -> None:
    """However far the target is."""
    rest(robot, 50)
    for _ in range(20):
        robot.drive(JointCommand(position=np.full(NUM_JOINTS, 0.5), kp=10.0, kd=0.0), robot.time)
    assert np.abs(robot.torque).max() <= TRAINING.torque + 1e-9
    assert np.abs(robot.torque).max() > 0.9 * TRAINING.torque


# --- GroundTruth
# -------------------------------------------------------------------------------------


def test_a_witness_counts_while_a_skill_has_the_robot(robot: BulletSolo) -> None:
    """A robot that lies and has none has walked for no time.

    One that lies and has one has fallen once.
    """
    witness = GroundTruth(robot)
    for _ in range(100):
        rest(robot, 1)
        witness.update(-1)
    assert witness.summary().to_json() == {
        "walked_seconds": 0.0,
        "distance": 0.0,
        "velocity": 0.0,
        "falls": 0,
        "energy": 0.0,
    }
    rest(robot, 400)
    assert robot.belly_on_ground()
    for _ in range(100):
        rest(robot, 1)
        witness.update(0)
    summary = witness.summary()
    assert summary.walked_seconds == pytest.approx(0.1)
    assert summary.falls == 1
    assert summary.distance < 0.02


def test_a_witness_counts_the_energy_of_every_joint() -> None:
    """Half of them drive, the others brake: together that is not nothing."""
    velocity = np.tile([1.0, -1.0], NUM_JOINTS // 2)
    motion = replace(standing(CONTROL_SETUPS["locomotion"], 1)[0], joint_velocity=velocity)
    robot = SimpleNamespace(
        motion=motion, torque=np.full(NUM_JOINTS, 0.5), belly_on_ground=lambda: False
    )
    witness = GroundTruth(robot)  # type: ignore[arg-type]  # all that a witness looks at
    for skill in (-1, 0, 0):
        witness.update(skill)
    assert witness.summary().energy == pytest.approx(2 * TICK * NUM_JOINTS * 0.5)
