"""Base velocity and tilt of one robot from what it measures: IMU and legs.

Solo12 has no sensor of its base velocity. Tilt: the gyroscope is integrated, and pulled slowly towards the direction
in which the accelerometer sees gravity. Velocity: the accelerometer is integrated, and pulled quickly towards the
velocity at which the legs that carry weight push the base along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from .constants import FOOT_RADIUS, GRAVITY, NUM_LEGS, Array
from .leg import Leg, Vector, cross

MOST_POSITION, MOST_VELOCITY, MOST_TORQUE, MOST_TURNING, MOST_ACCELERATION = (
    100.0,
    100.0,
    10.0,
    50.0,
    400.0,
)
"""What sensors can show at most, in SI units."""
LEVEL: Vector = (0.0, 0.0, -1.0)
LEGS = tuple((number, slice(3 * number, 3 * number + 3)) for number in range(NUM_LEGS))
"""Legs and the places of their joints."""


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
    rest_force: float = 3.0
    """While no joint turns, lighter feet count as well, from this force on, and fully from `lift_force`: each of four
    that share the weight carries no more than a swinging one seems to [N]."""
    rest_rate: float = 0.5
    """Slower joints do not turn: far above an encoder's noise, far below a walk, in which some joint does [rad/s]."""


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
        self._gravity = LEVEL
        self._age = 0.0
        self._velocity: Vector = (0.0, 0.0, 0.0)
        self._gyro_bias: Vector = (0.0, 0.0, 0.0)

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
        # A garbled number must not spoil the estimate for good.
        angles, rates = (
            bounded(joint_position, MOST_POSITION),
            bounded(joint_velocity, MOST_VELOCITY),
        )
        torques = bounded(joint_torque, MOST_TORQUE)
        (wx, wy, wz), (bx, by, bz) = bounded(angular_velocity_b, MOST_TURNING), self._gyro_bias
        ax, ay, az = bounded(acceleration_b, MOST_ACCELERATION)
        turning, acceleration = (wx - bx, wy - by, wz - bz), (ax, ay, az)
        self._tilt(turning, acceleration, dt)
        self._integrate(turning, acceleration, dt)
        legs = [(Leg(number, angles[joints]), joints) for number, joints in LEGS]
        lift, sure = self._thresholds(rates)
        weights = [
            min(1.0, max(0.0, (leg.carried(torques[joints], self._gravity) - lift) / (sure - lift)))
            for leg, joints in legs
        ]
        total = sum(weights)
        if total > 0.0:
            standing = [
                (weight / total, self._seen(leg, rates[joints], turning))
                for weight, (leg, joints) in zip(weights, legs, strict=True)
                if weight > 0.0
            ]
            self._pull(standing, min(1.0, dt * self._config.velocity_rate * min(total, 2.0) / 2))
        return Estimate(
            np.array(self._gravity), np.array(self._velocity), np.array(turning), np.array(weights)
        )

    def _tilt(self, turning: Vector, acceleration: Vector, dt: float) -> None:
        # Not scaled to length 1: over a stride the accelerometer shows gravity on average, its direction does not.
        ax, ay, az = acceleration
        seen_x, seen_y, seen_z = seen = -ax / GRAVITY, -ay / GRAVITY, -az / GRAVITY
        gain = dt * self._config.gyro_bias_rate
        (bx, by, bz), (ex, ey, ez) = self._gyro_bias, cross(self._gravity, seen)
        self._gyro_bias = bx + gain * ex, by + gain * ey, bz + gain * ez
        (x, y, z), (dx, dy, dz) = self._gravity, cross(turning, self._gravity)
        x, y, z = x - dt * dx, y - dt * dy, z - dt * dz
        self._age += dt
        share = (
            dt / self._age if self._age > 0.0 else 0.0
        )  # an average of all that was seen, at first
        pull = min(1.0, max(dt * self._config.tilt_rate, share))
        x, y, z = x + pull * (seen_x - x), y + pull * (seen_y - y), z + pull * (seen_z - z)
        size = sqrt(x * x + y * y + z * z)
        self._gravity = (x / size, y / size, z / size) if size > 1e-6 else LEVEL

    def _integrate(self, turning: Vector, acceleration: Vector, dt: float) -> None:
        """Follow the accelerometer; in a frame that turns, a constant velocity seems to turn the other way."""
        (vx, vy, vz), (gx, gy, gz), (ax, ay, az) = self._velocity, self._gravity, acceleration
        tx, ty, tz = cross(turning, self._velocity)
        self._velocity = (
            vx + dt * (ax + GRAVITY * gx - tx), vy + dt * (ay + GRAVITY * gy - ty), vz + dt * (az + GRAVITY * gz - tz)
        )  # fmt: skip

    def _thresholds(self, rates: Sequence[float]) -> tuple[float, float]:
        """Forces from which on a foot counts, and counts fully."""
        config = self._config
        if max(rates) < config.rest_rate and min(rates) > -config.rest_rate:
            return config.rest_force, config.lift_force
        return config.lift_force, config.sure_force

    def _seen(self, leg: Leg, rates: Sequence[float], turning: Vector) -> Vector:
        """Velocity of the base at which a leg that stands pushes it along."""
        (wx, wy, wz), (sx, sy, sz) = turning, leg.shank_rate(rates)
        # The foot is a ball that rolls: its lowest point rests, its centre moves with the turning of the shank.
        rx, ry, rz = cross(self._gravity, (wx + sx, wy + sy, wz + sz))
        (fx, fy, fz), (tx, ty, tz) = leg.velocity(rates), cross(turning, leg.position())
        return FOOT_RADIUS * rx - fx - tx, FOOT_RADIUS * ry - fy - ty, FOOT_RADIUS * rz - fz - tz

    def _pull(self, standing: Sequence[tuple[float, Vector]], pull: float) -> None:
        """Go a part of the way to the velocity that the legs see, each with its share."""
        x = sum(share * seen[0] for share, seen in standing)
        y = sum(share * seen[1] for share, seen in standing)
        z = sum(share * seen[2] for share, seen in standing)
        vx, vy, vz = self._velocity
        self._velocity = vx + pull * (x - vx), vy + pull * (y - vy), vz + pull * (z - vz)


def bounded(measured: Array, most: float) -> list[float]:
    """Return numbers, those beyond `most` in either direction cut there."""
    numbers: list[float] = measured.tolist()
    if max(numbers) <= most and min(numbers) >= -most:
        return numbers
    return [min(max(number, -most), most) for number in numbers]
