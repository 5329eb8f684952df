"""Estimate of base velocity and tilt of one robot from its IMU and legs.

Solo12 has no sensor of its base velocity.

Tilt: the gyroscope is integrated, and corrected slowly towards the direction of gravity that the
accelerometer measures. Velocity: the accelerometer is integrated, and corrected quickly towards the
velocity at which the supporting legs move the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from .constants import FOOT_RADIUS, GRAVITY, NUM_LEGS, Array
from .single_leg import SingleLeg, Vector, cross

MAX_POSITION = 100.0
"""Joint positions are clipped to +- this [rad]."""
MAX_JOINT_VELOCITY = 100.0
"""Joint velocities are clipped to +- this [rad/s]."""
MAX_TORQUE = 10.0
"""Joint torques are clipped to +- this [N m]."""
MAX_ANGULAR_VELOCITY = 50.0
"""Angular velocities of the base are clipped to +- this [rad/s]."""
MAX_ACCELERATION = 400.0
"""Accelerations of the base are clipped to +- this [m/s^2]."""
LEVEL: Vector = (0.0, 0.0, -1.0)
"""Direction of gravity in a level base."""
LEG_JOINTS = tuple((number, slice(3 * number, 3 * number + 3)) for number in range(NUM_LEGS))
"""Number of each leg and the slice of its joints."""


@dataclass(frozen=True, kw_only=True)
class EstimatorConfig:
    """Correction rates of the estimates, and forces from which a leg counts as supporting."""

    tilt_rate: float = 0.5
    """Correction of the tilt by the accelerometer [1/s]: slow, as every stride shakes it."""
    velocity_rate: float = 20.0
    """Correction of the velocity by the legs, if supporting legs carry all weight [1/s]."""
    gyro_bias_rate: float = 0.02
    """Correction of the gyroscope's bias by the accelerometer [1/s^2]."""
    lift_force: float = 6.0
    """A foot that carries less is ignored: it may be swinging or slipping [N]."""
    sure_force: float = 12.0
    """A foot that carries more counts fully: half the robot's weight [N]."""
    rest_force: float = 3.0
    """While no joint turns, feet count from this force on, and fully from `lift_force` [N]. Each of
    four feet that share the weight carries no more than the apparent force on a swinging foot."""
    rest_rate: float = 0.5
    """Velocity below which joints count as at rest: above encoder noise, below a walk [rad/s]."""


@dataclass(frozen=True)
class Estimate:
    """Estimated motion of the base, in the base frame."""

    gravity_b: Array  # (3,) unit vector: (0, 0, -1) when level
    velocity_b: Array  # (3,) [m/s]
    angular_velocity_b: Array  # (3,) without the gyroscope's bias [rad/s]
    foot_weight: Array  # (4,) from 0, in the air, to 1, standing


class Estimator:
    """Estimator of one robot, updated with every measurement."""

    def __init__(self, config: EstimatorConfig | None = None) -> None:
        """Start without an estimate: the first measurements, of a robot at rest, give the tilt."""
        self._config = config or EstimatorConfig()
        self._gravity = LEVEL
        self._age = 0.0
        self._velocity: Vector = (0.0, 0.0, 0.0)
        self._gyro_bias: Vector = (0.0, 0.0, 0.0)

    def restart_tilt(self) -> None:
        """Take the tilt from the accelerometer again, for a robot at rest.

        Lost measurements of an earlier motion then have no effect any more.
        """
        self._age = 0.0

    def update(
        self,
        joint_position: Array,
        joint_velocity: Array,
        joint_torque: Array,
        angular_velocity_b: Array,
        acceleration_b: Array,
        dt: float,
    ) -> Estimate:
        """Process a measurement taken `dt` seconds after the previous one."""
        # Clip: one corrupt number must not spoil the estimate permanently.
        angles = clipped(joint_position, MAX_POSITION)
        rates = clipped(joint_velocity, MAX_JOINT_VELOCITY)
        torques = clipped(joint_torque, MAX_TORQUE)
        wx, wy, wz = clipped(angular_velocity_b, MAX_ANGULAR_VELOCITY)
        bx, by, bz = self._gyro_bias
        ax, ay, az = clipped(acceleration_b, MAX_ACCELERATION)
        turning = (wx - bx, wy - by, wz - bz)
        acceleration = (ax, ay, az)
        self._update_tilt(turning, acceleration, dt)
        self._integrate(turning, acceleration, dt)
        lift, sure = self._thresholds(rates)
        weights = []
        supporting = []
        for number, joints in LEG_JOINTS:
            leg = SingleLeg(number, angles[joints])
            force = leg.supported_weight(torques[joints], self._gravity)
            weight = min(1.0, max(0.0, (force - lift) / (sure - lift)))
            weights.append(weight)
            if weight > 0.0:
                supporting.append((weight, self._base_velocity(leg, rates[joints], turning)))
        total = sum(weights)
        if total > 0.0:
            gain = min(1.0, dt * self._config.velocity_rate * min(total, 2.0) / 2)
            self._correct_velocity(supporting, total, gain)
        return Estimate(
            np.array(self._gravity), np.array(self._velocity), np.array(turning), np.array(weights)
        )

    def _update_tilt(self, turning: Vector, acceleration: Vector, dt: float) -> None:
        # Not scaled to length 1: over a stride the accelerometer shows gravity on average, while
        # the average of its directions is biased.
        ax, ay, az = acceleration
        measured = (-ax / GRAVITY, -ay / GRAVITY, -az / GRAVITY)
        mx, my, mz = measured
        gain = dt * self._config.gyro_bias_rate
        bx, by, bz = self._gyro_bias
        ex, ey, ez = cross(self._gravity, measured)
        self._gyro_bias = (bx + gain * ex, by + gain * ey, bz + gain * ez)
        x, y, z = self._gravity
        dx, dy, dz = cross(turning, self._gravity)
        x -= dt * dx
        y -= dt * dy
        z -= dt * dz
        self._age += dt
        share = 0.0
        if self._age > 0.0:
            share = dt / self._age  # at first, the estimate is the average of all measurements
        pull = min(1.0, max(dt * self._config.tilt_rate, share))
        x += pull * (mx - x)
        y += pull * (my - y)
        z += pull * (mz - z)
        size = sqrt(x * x + y * y + z * z)
        self._gravity = LEVEL
        if size > 1e-6:
            self._gravity = (x / size, y / size, z / size)

    def _integrate(self, turning: Vector, acceleration: Vector, dt: float) -> None:
        """Integrate the accelerometer in the turning base frame, hence the cross product."""
        vx, vy, vz = self._velocity
        gx, gy, gz = self._gravity
        ax, ay, az = acceleration
        tx, ty, tz = cross(turning, self._velocity)
        self._velocity = (
            vx + dt * (ax + GRAVITY * gx - tx),
            vy + dt * (ay + GRAVITY * gy - ty),
            vz + dt * (az + GRAVITY * gz - tz),
        )

    def _thresholds(self, rates: Sequence[float]) -> tuple[float, float]:
        """Forces from which a foot counts, and from which it counts fully [N]."""
        config = self._config
        if max(rates) < config.rest_rate and min(rates) > -config.rest_rate:
            return config.rest_force, config.lift_force
        return config.lift_force, config.sure_force

    def _base_velocity(self, leg: SingleLeg, rates: Sequence[float], turning: Vector) -> Vector:
        """Velocity of the base if this leg's foot rolls on the ground without slipping [m/s]."""
        wx, wy, wz = turning
        sx, sy, sz = leg.shank_rate(rates)
        # The lowest point of the foot's ball rests; its centre moves as the shank turns.
        rx, ry, rz = cross(self._gravity, (wx + sx, wy + sy, wz + sz))
        fx, fy, fz = leg.velocity(rates)
        tx, ty, tz = cross(turning, leg.position())
        return FOOT_RADIUS * rx - fx - tx, FOOT_RADIUS * ry - fy - ty, FOOT_RADIUS * rz - fz - tz

    def _correct_velocity(
        self, supporting: Sequence[tuple[float, Vector]], total: float, gain: float
    ) -> None:
        """Move the velocity towards the weighted mean over the supporting legs."""
        x = y = z = 0.0
        for weight, velocity in supporting:
            share = weight / total
            x += share * velocity[0]
            y += share * velocity[1]
            z += share * velocity[2]
        vx, vy, vz = self._velocity
        self._velocity = (vx + gain * (x - vx), vy + gain * (y - vy), vz + gain * (z - vz))


def clipped(measured: Array, limit: float) -> list[float]:
    """Return the numbers as a list, clipped to the range from -limit to limit."""
    numbers: list[float] = measured.tolist()
    if max(numbers) <= limit and min(numbers) >= -limit:
        return numbers
    return [min(max(number, -limit), limit) for number in numbers]
