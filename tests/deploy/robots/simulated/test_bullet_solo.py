"""The simulated robot: sensors, delays of commands, and its ground truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from deploy.common.poses import LYING, LYING_HEIGHT
from deploy.common.robot_constants import TICK
from solo_doi.solo12.constants import CONTROL_SETUPS, GRAVITY, NUM_JOINTS
from solo_doi.solo12.limits import TRAINING_LIMITS
from solo_doi.solo12.rotations import projected_gravity
from solo_doi.solo12.sensors import SensorNoise
from solo_doi.solo12.state import JointCommand, standing

pytest.importorskip("pybullet")
from deploy.robots.simulated.bullet_solo import BulletSolo  # needs PyBullet
from deploy.robots.simulated.ground_truth import GroundTruth
from deploy.robots.simulated.mujoco_solo import MujocoSolo

SILENT = SensorNoise(angular_velocity=0.0, acceleration=0.0, attitude=0.0, joint_velocity=0.0)


def hold(kp: float = 5.0, offset: float = 0.0) -> JointCommand:
    """Return a command that holds the lying pose, with an offset."""
    return JointCommand(position=LYING + offset, kp=kp, kd=0.2)


@pytest.fixture(params=[BulletSolo, MujocoSolo])
def robot(request: pytest.FixtureRequest) -> Iterator[BulletSolo]:
    """A robot without noise and with a clock that starts at 3 s, in both physics engines."""
    solo: BulletSolo = request.param(noise=SILENT, epoch=3.0)
    yield solo
    solo.close()


def rest(robot: BulletSolo, ticks: int) -> None:
    """Let the robot lie damped."""
    for _ in range(ticks):
        robot.drive(hold(kp=0.0), robot.time)


def test_it_starts_lying_at_its_epoch(robot: BulletSolo) -> None:
    """Its clock advances with its own ticks, independent of the wall clock."""
    seen = robot.sense()
    assert seen.time == 3.0
    np.testing.assert_allclose(seen.joint_position, LYING, atol=1e-9)
    assert robot.motion.base_position_w[2] == pytest.approx(LYING_HEIGHT)
    rest(robot, 5)
    assert robot.sense().time == pytest.approx(3.005)


def test_sensors_show_the_truth_but_for_noise(robot: BulletSolo) -> None:
    """At rest the accelerometer measures gravity upwards; sensing twice gives the same numbers."""
    rest(robot, 1000)  # after 500 it still sinks
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
    """Equal seeds give equal noise, other seeds other noise; positions have no noise."""
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
    """A command acts 15 ms after its measurement, for any message delay.

    The time of that measurement is reported.
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
    """Its delay is longer than in training, and is reported."""
    assert robot.drive(hold(), robot.time - 0.030) == pytest.approx(robot.time - TICK - 0.030)


def test_damping_acts_at_once_and_forgets_what_waits(robot: BulletSolo) -> None:
    """Damping does not wait for 15 ms."""
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
    """The limit holds for any distance of the target."""
    rest(robot, 50)
    for _ in range(20):
        robot.drive(JointCommand(position=np.full(NUM_JOINTS, 0.5), kp=10.0, kd=0.0), robot.time)
    assert np.abs(robot.torque).max() <= TRAINING_LIMITS.torque + 1e-9
    assert np.abs(robot.torque).max() > 0.9 * TRAINING_LIMITS.torque


# --- GroundTruth
# -------------------------------------------------------------------------------------


def test_a_witness_counts_while_a_skill_has_the_robot(robot: BulletSolo) -> None:
    """A robot that lies without a skill has walked for no time.

    One that lies with a skill has fallen once.
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
    """Half of the joints drive and the others brake; their energies add up."""
    velocity = np.tile([1.0, -1.0], NUM_JOINTS // 2)
    motion = replace(standing(CONTROL_SETUPS["locomotion"], 1)[0], joint_velocity=velocity)
    robot = SimpleNamespace(
        motion=motion, torque=np.full(NUM_JOINTS, 0.5), belly_on_ground=lambda: False
    )
    witness = GroundTruth(robot)  # type: ignore[arg-type]  # all that a witness looks at
    for skill in (-1, 0, 0):
        witness.update(skill)
    assert witness.summary().energy == pytest.approx(2 * TICK * NUM_JOINTS * 0.5)
