"""Base velocity and tilt of one robot from what it measures: IMU and legs.

Solo12 has no sensor of its base velocity. Tilt: the gyroscope is integrated, and pulled slowly towards the direction
in which the accelerometer sees gravity. Velocity: the accelerometer is integrated, and pulled quickly towards the
velocity at which the legs that carry weight push the base along.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .constants import FOOT_RADIUS, GRAVITY, NUM_LEGS, Array
from .kinematics import foot_jacobians, foot_motion
from .rotations import cross

MOST_JOINT_POSITION, MOST_JOINT_VELOCITY, MOST_TORQUE = 100.0, 100.0, 10.0
MOST_ANGULAR_VELOCITY, MOST_ACCELERATION = 50.0, 400.0
"""What sensors can show, in SI units; a garbled number must not spoil the estimate for good."""


@dataclass(frozen=True, kw_only=True)
class EstimatorConfig:
    """How strongly the estimates are pulled, and when a leg counts."""

    tilt_rate: float = 0.5
    """Pull of the accelerometer on the tilt [1/s]: slow, as every step of the gait shakes it."""
    velocity_rate: float = 20.0
    """Pull of the legs on the velocity, if all weight is on legs that are counted [1/s]."""
    gyro_bias_rate: float = 0.02
    """How fast the accelerometer also corrects the gyroscope's bias [1/s^2]."""
    lift_force: float = 6.0
    """A foot that carries less tells nothing: it may be swinging, or slipping [N]."""
    sure_force: float = 12.0
    """A foot that carries more stands: half the robot's weight [N]."""


@dataclass(frozen=True)
class Estimate:
    """What is believed of the base, in its own frame."""

    gravity_b: Array  # (3,) unit vector: (0, 0, -1) when level
    velocity_b: Array  # (3,) [m/s]
    angular_velocity_b: Array  # (3,) without the gyroscope's bias [rad/s]
    foot_weight: Array  # (4,) from 0, in the air, to 1, standing


class Estimator:
    """Follows one robot tick by tick."""

    def __init__(self, config: EstimatorConfig | None = None) -> None:
        """Know nothing yet: the first measurements, of a robot at rest, give the tilt."""
        self._config = config or EstimatorConfig()
        self._gravity = np.array([0.0, 0.0, -1.0])
        self._age = 0.0
        self._velocity = np.zeros(3)
        self._gyro_bias = np.zeros(3)

    def update(
        self,
        joint_position: Array,
        joint_velocity: Array,
        joint_torque: Array,
        angular_velocity_b: Array,
        acceleration_b: Array,
        dt: float,
    ) -> Estimate:
        """Take a measurement that is `dt` seconds younger than the one before."""
        joint_position = _within(MOST_JOINT_POSITION, joint_position)
        joint_velocity = _within(MOST_JOINT_VELOCITY, joint_velocity)
        joint_torque = _within(MOST_TORQUE, joint_torque)
        acceleration_b = _within(MOST_ACCELERATION, acceleration_b)
        rate = _within(MOST_ANGULAR_VELOCITY, angular_velocity_b) - self._gyro_bias
        gravity = self._tilt(rate, acceleration_b, dt)
        weight, legs_velocity = self._legs(joint_position, joint_velocity, joint_torque, rate, gravity)
        # In a frame that turns, a constant velocity seems to turn the other way.
        self._velocity += dt * (acceleration_b + GRAVITY * gravity - cross(rate, self._velocity))
        total = weight.sum()
        if total > 0.0:
            mean = weight @ legs_velocity / total
            self._velocity += min(1.0, dt * self._config.velocity_rate * min(total, 2.0) / 2) * (mean - self._velocity)
        return Estimate(gravity, self._velocity.copy(), rate, weight)

    def _tilt(self, rate: Array, acceleration_b: Array, dt: float) -> Array:
        # Not scaled to length 1: over a stride the accelerometer shows gravity on average, its direction does not.
        seen = -acceleration_b / GRAVITY
        self._gyro_bias += dt * self._config.gyro_bias_rate * cross(self._gravity, seen)
        gravity = self._gravity - dt * cross(rate, self._gravity)
        self._age += dt
        share = dt / self._age if self._age > 0.0 else 0.0  # an average of all that was seen, at first
        self._gravity = _unit(gravity + min(1.0, max(dt * self._config.tilt_rate, share)) * (seen - gravity))
        return self._gravity

    def _legs(
        self, joint_position: Array, joint_velocity: Array, joint_torque: Array, rate: Array, gravity: Array
    ) -> tuple[Array, Array]:
        """How much each leg carries, and which velocity of the base it tells, (4,) and (4, 3)."""
        position, velocity = foot_motion(joint_position, joint_velocity)
        # At rest the torques balance the ground's force on the foot: torque = -J^T force.
        jacobians = foot_jacobians(joint_position)
        torque = joint_torque.reshape(NUM_LEGS, 3, 1)
        force = -np.linalg.solve(jacobians.transpose(0, 2, 1) + 1e-6 * np.eye(3), torque)[:, :, 0]
        carried = -force @ gravity
        config = self._config
        weight = np.clip((carried - config.lift_force) / (config.sure_force - config.lift_force), 0.0, 1.0)
        # The foot is a ball that rolls: its lowest point rests, its centre moves with the turning of the shank.
        rolling = cross(rate + _shank_rate(joint_position, joint_velocity), -FOOT_RADIUS * gravity)
        return weight, rolling - velocity - cross(rate, position)


def _shank_rate(joint_position: Array, joint_velocity: Array) -> Array:
    """Angular velocity of the four shanks relative to the base, (4, 3)."""
    hip = joint_position[0::3]
    pitch = joint_velocity[1::3] + joint_velocity[2::3]
    return np.stack([joint_velocity[0::3], np.cos(hip) * pitch, np.sin(hip) * pitch], axis=-1)


def _within(most: float, values: Array) -> Array:
    return np.minimum(np.maximum(values, -most), most)


def _unit(vector: Array) -> Array:
    size = float(np.sqrt(vector @ vector))
    return vector / size if size > 1e-6 else np.array([0.0, 0.0, -1.0])
