"""Base velocity and tilt of one robot from what it measures: IMU and legs.

Solo12 has no sensor of its base velocity. Tilt: the gyroscope is integrated, and pulled slowly towards the direction
in which the accelerometer sees gravity. Velocity: the accelerometer is integrated, and pulled quickly towards the
velocity at which the legs that carry weight push the base along.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .constants import ANKLE_Z, FOOT_RADIUS, GRAVITY, KFE_Z, NUM_LEGS, Array, constant
from .kinematics import HIPS_B, LEG_WIDTH
from .rotations import cross_matrix

MOST = constant([*[100.0] * 12, *[100.0] * 12, *[10.0] * 12, *[50.0] * 3, *[400.0] * 3])
"""What sensors can show at most: joint positions, velocities, torques, turning, acceleration, in SI units."""


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
        config = self._config
        measured = (joint_position, joint_velocity, joint_torque, angular_velocity_b, acceleration_b)
        # A garbled number must not spoil the estimate for good.
        bounded = np.clip(np.concatenate(measured), -MOST, MOST)
        joint_position, joint_velocity, joint_torque = bounded[:12], bounded[12:24], bounded[24:36]
        rate, acceleration_b = bounded[36:39] - self._gyro_bias, bounded[39:]
        turning = cross_matrix(rate)
        gravity = self._tilt(turning, acceleration_b, dt)
        legs = Legs(joint_position, joint_velocity)
        carried = legs.carried(joint_torque, gravity)
        weight = np.clip((carried - config.lift_force) / (config.sure_force - config.lift_force), 0.0, 1.0)
        # In a frame that turns, a constant velocity seems to turn the other way.
        self._velocity = self._velocity + dt * (acceleration_b + GRAVITY * gravity - turning @ self._velocity)
        total = float(weight.sum())
        if total > 0.0:
            # The foot is a ball that rolls: its lowest point rests, its centre moves with the turning of the shank.
            rolling = FOOT_RADIUS * (cross_matrix(gravity) @ (rate[:, None] + legs.shank_rate()))
            seen = rolling - legs.velocity() - turning @ legs.position()
            pull = min(1.0, dt * config.velocity_rate * min(total, 2.0) / 2)
            self._velocity = self._velocity + pull * (seen @ (weight / total) - self._velocity)
        return Estimate(gravity, self._velocity, rate, weight)

    def _tilt(self, turning: Array, acceleration_b: Array, dt: float) -> Array:
        # Not scaled to length 1: over a stride the accelerometer shows gravity on average, its direction does not.
        seen = -acceleration_b / GRAVITY
        self._gyro_bias = self._gyro_bias + dt * self._config.gyro_bias_rate * (cross_matrix(self._gravity) @ seen)
        gravity = self._gravity - dt * (turning @ self._gravity)
        self._age += dt
        share = dt / self._age if self._age > 0.0 else 0.0  # an average of all that was seen, at first
        gravity = gravity + min(1.0, max(dt * self._config.tilt_rate, share)) * (seen - gravity)
        size = math.sqrt(float(gravity @ gravity))
        self._gravity = gravity / size if size > 1e-6 else np.array([0.0, 0.0, -1.0])
        return self._gravity


class Legs:
    """The four legs at an instant; what `kinematics` has, for one robot, at a fraction of the time."""

    def __init__(self, joint_position: Array, joint_velocity: Array) -> None:
        """Compute what all of the following need, leg by leg, each (4,)."""
        haa, hfe, kfe = joint_position.reshape(NUM_LEGS, 3).T
        self._rates = joint_velocity.reshape(NUM_LEGS, 3).T
        knee = hfe + kfe
        self._c, self._s = np.cos(haa), np.sin(haa)
        # Foot and knee-to-foot vectors in the leg's plane, which HAA turns about x.
        self._knee_x, self._knee_z = ANKLE_Z * np.sin(knee), ANKLE_Z * np.cos(knee)
        self._x, self._z = KFE_Z * np.sin(hfe) + self._knee_x, KFE_Z * np.cos(hfe) + self._knee_z
        self._y_b = self._c * LEG_WIDTH - self._s * self._z
        self._z_b = self._s * LEG_WIDTH + self._c * self._z

    def position(self) -> Array:
        """Centres of the feet in the base frame, (3, 4)."""
        return np.array((HIPS_B[:, 0] + self._x, HIPS_B[:, 1] + self._y_b, self._z_b))

    def velocity(self) -> Array:
        """Velocities of the feet relative to the base, (3, 4)."""
        haa, hfe, kfe = self._rates
        along = hfe * self._z + kfe * self._knee_z
        up = -(hfe * self._x + kfe * self._knee_x)
        return np.array((along, -haa * self._z_b - self._s * up, haa * self._y_b + self._c * up))

    def shank_rate(self) -> Array:
        """Angular velocities of the shanks relative to the base, (3, 4)."""
        haa, hfe, kfe = self._rates
        pitch = hfe + kfe
        return np.array((haa, self._c * pitch, self._s * pitch))

    def carried(self, joint_torque: Array, gravity_b: Array) -> Array:
        """Weight that each foot carries, if its torques balance the ground's force, (4,) [N].

        Torques and force do the same work: torque = -J^T force, so that force . (-gravity) = a . torque, where a are
        the joint rates that move the foot along gravity, J a = gravity. The leg's plane makes that easy to solve.
        """
        gx, gy, gz = gravity_b
        side, down = self._c * gy + self._s * gz, self._c * gz - self._s * gy
        det = self._x * self._knee_z - self._z * self._knee_x
        # A straight knee, or a foot at the height of its hip, can carry anything: such a leg is left out.
        usable = (np.abs(det) > 1e-4) & (np.abs(self._z) > 1e-3)
        det, z = np.where(usable, det, 1.0), np.where(usable, self._z, 1.0)
        haa = -side / z
        rest = down - LEG_WIDTH * haa
        hfe = -(gx * self._knee_x + rest * self._knee_z) / det
        kfe = (rest * self._z + gx * self._x) / det
        torque = joint_torque.reshape(NUM_LEGS, 3).T
        return np.where(usable, haa * torque[0] + hfe * torque[1] + kfe * torque[2], 0.0)
