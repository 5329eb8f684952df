"""The estimator, against hand-computed cases."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solo_doi.solo12.constants import (
    CONTROL_SETUPS,
    FOOT_RADIUS,
    GRAVITY,
    NUM_JOINTS,
    TOTAL_MASS,
    Array,
)
from solo_doi.solo12.estimator import Estimate, Estimator, EstimatorConfig
from solo_doi.solo12.kinematics import foot_jacobians, foot_positions
from solo_doi.solo12.rotations import cross, from_rpy, projected_gravity

POSE = CONTROL_SETUPS["locomotion"].default_pose
UP = np.array([0.0, 0.0, GRAVITY])
DT = 0.001
ONE_TURNS = np.eye(NUM_JOINTS)[5]
"""Joint velocities of a robot that is not at rest."""


def carrying(position: Array, newtons: Array | float, gravity_b: Array | None = None) -> Array:
    """Return joint torques for a given force of each foot on the ground [N]."""
    down = np.array([0.0, 0.0, -1.0]) if gravity_b is None else gravity_b
    force = -np.broadcast_to(newtons, 4)[:, None] * down  # of the ground on the foot
    torque: Array = -np.einsum("lij,li->lj", foot_jacobians(position), force).ravel()
    return torque


@dataclass
class Measured:
    """Sensor values, by default at rest with a quarter of the weight on each foot."""

    position: Array = field(default_factory=lambda: POSE.copy())
    velocity: Array = field(default_factory=lambda: np.zeros(NUM_JOINTS))
    torque: Array = field(default_factory=lambda: carrying(POSE, TOTAL_MASS * GRAVITY / 4))
    gyro: Array = field(default_factory=lambda: np.zeros(3))
    acceleration: Array = field(default_factory=lambda: UP.copy())

    def feed(self, estimator: Estimator, ticks: int = 1, dt: float = DT) -> Estimate:
        """Feed the values for some ticks; return the last estimate."""
        for _ in range(ticks):
            estimate = estimator.update(
                self.position, self.velocity, self.torque, self.gyro, self.acceleration, dt
            )
        return estimate


def settled(**changes: float) -> Estimator:
    """Return an estimator of a level robot that has been at rest for hours.

    Its initial average no longer changes.
    """
    estimator = Estimator(EstimatorConfig(**changes))
    Measured().feed(estimator, dt=1e4)
    return estimator


# --- Tilt ----------------------------------------------------------------------------------------


def test_a_level_robot_at_rest_is_level_and_at_rest() -> None:
    """This holds from the first measurement on."""
    estimator = Estimator()
    for _ in range(100):
        found = Measured().feed(estimator)
        np.testing.assert_allclose(found.gravity_b, [0, 0, -1], atol=1e-12)
        np.testing.assert_allclose(found.velocity_b, 0, atol=1e-12)
        np.testing.assert_allclose(found.angular_velocity_b, 0, atol=1e-12)


@pytest.mark.parametrize(("roll", "pitch"), [(0.3, 0.0), (0.0, -0.4), (-0.2, 0.5)])
def test_the_first_measurement_gives_the_tilt(roll: float, pitch: float) -> None:
    """The first measurement on a slope is used at once."""
    gravity = projected_gravity(from_rpy(roll, pitch, 1.0))
    found = Measured(acceleration=-GRAVITY * gravity).feed(Estimator())
    np.testing.assert_allclose(found.gravity_b, gravity, atol=1e-9)


def test_first_measurements_are_averaged() -> None:
    """After n measurements the tilt is their mean, until a slow correction is better."""
    rng, estimator = np.random.default_rng(0), Estimator()
    shown = UP + 0.1 * rng.standard_normal((300, 3))
    for acceleration in shown:
        found = Measured(acceleration=acceleration).feed(estimator)
    mean = -shown.mean(axis=0)
    np.testing.assert_allclose(found.gravity_b, mean / np.linalg.norm(mean), atol=1e-3)


def test_the_gyroscope_turns_gravity() -> None:
    """Half a turn per second about one axis for 0.1 s is a tenth of half a turn.

    The accelerometer turns with the robot.
    """
    rate, estimator = np.pi, settled()
    for k in range(100):
        gravity = projected_gravity(from_rpy(rate * (k + 1) * DT, 0, 0))
        shown = Measured(gyro=np.array([rate, 0.0, 0.0]), acceleration=-GRAVITY * gravity)
        found = shown.feed(estimator)
    np.testing.assert_allclose(
        found.gravity_b, projected_gravity(from_rpy(0.1 * np.pi, 0, 0)), atol=2e-3
    )


def test_a_shaken_robot_keeps_its_tilt() -> None:
    """A shock of 1 g for 10 ms turns a settled tilt by less than a degree."""
    found = Measured(acceleration=np.array([GRAVITY, 0.0, GRAVITY])).feed(settled(), 10)
    assert np.degrees(np.arccos(-found.gravity_b[2])) < 1.0


def test_a_wrong_tilt_is_pulled_right_at_its_rate() -> None:
    """The error of a tilted robot at rest decays with 0.5 per second, to 1/e in two seconds."""
    gravity = projected_gravity(from_rpy(0.05, 0, 0))
    found = Measured(acceleration=-GRAVITY * gravity).feed(
        settled(gyro_bias_rate=0.0), 200, dt=0.01
    )
    error = np.arccos(np.clip(found.gravity_b @ gravity, -1, 1))
    assert error == pytest.approx(0.05 / np.e, rel=0.02)


def test_the_gyroscope_s_bias_is_learned() -> None:
    """The robot is at rest with a biased gyroscope.

    After two minutes the bias is estimated, except in yaw, which is not observable.
    """
    estimator, bias = settled(), np.array([0.03, -0.02, 0.01])
    shown = Measured(gyro=bias)
    first = shown.feed(estimator)
    np.testing.assert_allclose(first.angular_velocity_b, bias, atol=1e-6)
    found = shown.feed(estimator, 1200, dt=0.1)
    np.testing.assert_allclose(found.angular_velocity_b[:2], 0, atol=3e-3)
    np.testing.assert_allclose(found.angular_velocity_b[2], 0.01, atol=2e-3)
    np.testing.assert_allclose(found.gravity_b, [0, 0, -1], atol=5e-3)


# --- Legs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("newtons", "weight"), [(0.0, 0.0), (6.0, 0.0), (9.0, 0.5), (12.0, 1.0), (20.0, 1.0), (-9, 0)]
)
def test_legs_count_by_their_load(newtons: float, weight: float) -> None:
    """The weight of a foot is 0 up to 6 N and 1 from 12 N on; a pulling foot does not count."""
    found = Measured(velocity=ONE_TURNS, torque=carrying(POSE, newtons)).feed(Estimator())
    np.testing.assert_allclose(found.foot_weight, weight, atol=1e-4)


@pytest.mark.parametrize(
    ("newtons", "weight"), [(0.0, 0.0), (3.0, 0.0), (4.5, 0.5), (6.0, 1.0), (20.0, 1.0), (-9, 0)]
)
def test_while_no_joint_turns_lighter_feet_count(newtons: float, weight: float) -> None:
    """The weight of a foot is 0 up to 3 N and 1 from 6 N on, a quarter of the robot's weight."""
    found = Measured(velocity=0.4 * ONE_TURNS, torque=carrying(POSE, newtons)).feed(Estimator())
    np.testing.assert_allclose(found.foot_weight, weight, atol=1e-4)


def test_a_standing_robot_has_no_velocity() -> None:
    """The accelerometer has an error of 0.1 m/s^2.

    Integrated for five seconds, this would be 0.5 m/s.
    """
    found = Measured(acceleration=UP + np.array([0.1, 0.0, 0.0])).feed(
        settled(tilt_rate=0.0, gyro_bias_rate=0.0), 5000
    )
    assert abs(found.velocity_b[0]) == pytest.approx(0.1 / 20.0, rel=0.05)


def test_each_leg_counts_for_itself() -> None:
    """The weight on a foot follows from its joint torques."""
    torque = carrying(POSE, np.array([12.0, 0.0, 9.0, 7.5]))
    found = Measured(velocity=ONE_TURNS, torque=torque).feed(Estimator())
    np.testing.assert_allclose(found.foot_weight, [1.0, 0.0, 0.5, 0.25], atol=1e-4)


def moving_base(velocity_b: Array, rate_b: Array) -> tuple[Array, Array]:
    """Return joint velocities and shank rates of a level robot with rolling feet."""
    # Unknown joint rates q' of one leg. The foot's lowest point rests: v + w x p + J q' = (w +
    # s(q')) x (r up). Here s is the rotation of the shank, linear in q'.
    rates, jacobians, feet = np.zeros(NUM_JOINTS), foot_jacobians(POSE), foot_positions(POSE)
    up = np.array([0.0, 0.0, FOOT_RADIUS])
    for leg in range(4):
        hip = POSE[3 * leg]
        axis = np.array([0.0, np.cos(hip), np.sin(hip)])
        axes = np.stack([np.array([1.0, 0.0, 0.0]), axis, axis], axis=1)
        rolling = np.stack([np.cross(axes[:, k], up) for k in range(3)], axis=1)
        wanted = np.cross(rate_b, up) - velocity_b - np.cross(rate_b, feet[leg])
        rates[3 * leg : 3 * leg + 3] = np.linalg.solve(jacobians[leg] - rolling, wanted)
    return rates, rate_b


@pytest.mark.parametrize("velocity", [(1.0, 0.0, 0.0), (0.0, -0.3, 0.0), (0.2, 0.1, -0.15)])
@pytest.mark.parametrize("turning", [(0.0, 0.0, 0.0), (0.0, 0.0, 1.5)])
def test_standing_legs_give_the_base_velocity(
    velocity: tuple[float, ...], turning: tuple[float, ...]
) -> None:
    """The base moves over feet that roll on the ground without slipping."""
    wanted, rate = np.array(velocity), np.array(turning)
    rates, gyro = moving_base(wanted, rate)
    # An accelerometer measures w x v for a velocity that is constant in the base.
    shown = Measured(
        velocity=rates,
        torque=carrying(POSE, 12.0),
        gyro=gyro,
        acceleration=UP + cross(rate, wanted),
    )
    found = shown.feed(settled(tilt_rate=0.0, gyro_bias_rate=0.0), 500)
    np.testing.assert_allclose(found.velocity_b, wanted, atol=2e-3)


def test_rolling_feet_affect_the_velocity() -> None:
    """Rolling of the foot's ball contributes about a tenth.

    A base at 1 m/s turns its legs more slowly than without it.
    """
    rates, _ = moving_base(np.array([1.0, 0.0, 0.0]), np.zeros(3))
    feet_only = -np.einsum("lij,lj->li", foot_jacobians(POSE), rates.reshape(4, 3))[:, 0]
    assert (np.abs(feet_only - 1.0) > 0.03).all()


def test_legs_in_the_air_have_no_effect() -> None:
    """Their speed has no effect."""
    shown = Measured(
        velocity=np.full(NUM_JOINTS, 5.0), torque=carrying(POSE, np.array([12.0, 0, 0, 0]))
    )
    shown.velocity[:3] = 0.0
    found = shown.feed(Estimator(), 100)
    np.testing.assert_allclose(found.velocity_b, 0, atol=1e-9)


def test_legs_pull_at_their_rate() -> None:
    """The rate is 20 per second with the weight on two or more legs, and half of it on one."""
    rates, _ = moving_base(np.array([1.0, 0.0, 0.0]), np.zeros(3))
    for newtons, rate in ((np.array([12.0, 0, 0, 12.0]), 20.0), (np.array([12.0, 0, 0, 0]), 10.0)):
        found = Measured(velocity=rates, torque=carrying(POSE, newtons)).feed(Estimator(), 50)
        assert found.velocity_b[0] == pytest.approx(1 - (1 - rate * DT) ** 50, rel=1e-3)


# --- Flight --------------------------------------------------------------------------------------


def test_without_a_leg_the_accelerometer_is_integrated() -> None:
    """The acceleration is 2 m/s^2 forward for 0.1 s, on level ground."""
    pushed = Measured(torque=np.zeros(NUM_JOINTS), acceleration=np.array([2.0, 0.0, GRAVITY]))
    np.testing.assert_allclose(
        pushed.feed(settled(tilt_rate=0.0), 100).velocity_b, [0.2, 0, 0], atol=2e-3
    )


def test_zero_acceleration_is_free_fall() -> None:
    """An acceleration of zero means free fall: 0.981 m/s after 0.1 s, still level."""
    found = Measured(torque=np.zeros(NUM_JOINTS), acceleration=np.zeros(3)).feed(settled(), 100)
    np.testing.assert_allclose(found.velocity_b, [0, 0, -0.981], atol=1e-9)
    np.testing.assert_allclose(found.gravity_b, [0, 0, -1], atol=1e-9)


def test_a_velocity_turns_against_the_base() -> None:
    """A robot in flight that yaws by a quarter turn moves sideways in its own frame."""
    estimator, air = settled(tilt_rate=0.0, gyro_bias_rate=0.0), np.zeros(NUM_JOINTS)
    Measured(torque=air, acceleration=np.array([10.0, 0.0, GRAVITY])).feed(estimator, 100)
    turning = Measured(torque=air, gyro=np.array([0, 0, np.pi / 2]))
    np.testing.assert_allclose(turning.feed(estimator, 1000).velocity_b, [0, -1, 0], atol=5e-3)


# --- Robustness ----------------------------------------------------------------------------------

ANY = st.floats(allow_nan=False, allow_infinity=False)


@given(numbers=st.lists(ANY, min_size=42, max_size=42), dt=st.floats(0.0, 0.01))
def test_the_estimate_is_finite_for_finite_measurements(numbers: list[float], dt: float) -> None:
    """Gravity keeps its length, also in later updates."""
    values, estimator = np.array(numbers), Estimator()
    parts = np.split(values, [12, 24, 36, 39])
    for _ in range(3):
        found = estimator.update(*parts, dt)
        assert np.abs(found.velocity_b).max() < 1000.0
        assert all(np.isfinite(value).all() for value in vars(found).values())
        assert np.linalg.norm(found.gravity_b) == pytest.approx(1.0)
    found = Measured().feed(estimator, 3)
    assert np.linalg.norm(found.gravity_b) == pytest.approx(1.0)


def test_numbers_beyond_the_sensor_range_are_clipped() -> None:
    """The result equals that of the largest possible measurement."""
    torque, gyro, acceleration = (
        np.full(NUM_JOINTS, 10.0),
        np.array([50.0, 0.0, -50.0]),
        np.array([0.0, 400.0, -400.0]),
    )
    torque[4] = -10.0  # a leg that stands
    velocity = np.full(NUM_JOINTS, -100.0)
    most = Measured(velocity=velocity, torque=torque, gyro=gyro, acceleration=acceleration).feed(
        Estimator()
    )
    wild = Measured(
        velocity=7 * velocity, torque=8 * torque, gyro=9 * gyro, acceleration=1e300 * acceleration
    )
    for name, value in vars(wild.feed(Estimator())).items():
        np.testing.assert_array_equal(value, getattr(most, name))
    assert most.foot_weight.max() > 0.0


def test_an_estimate_is_not_changed_by_the_next() -> None:
    """A caller may keep the estimate."""
    estimator = Estimator()
    first = Measured().feed(estimator)
    before = {name: value.copy() for name, value in vars(first).items()}
    Measured(acceleration=UP + 3.0, gyro=np.ones(3), torque=np.zeros(NUM_JOINTS)).feed(
        estimator, 10
    )
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(first, name), value)
