"""The IMU's errors and habits: bias, noise, attitude at half the rate, heading zero at power-up, silent failure."""

from __future__ import annotations

import math

import numpy as np

from deploy.robots.odri.wire.protocol import ImuReading
from solo_doi.solo12.constants import GRAVITY, Array
from solo_doi.solo12.rotations import IDENTITY, matrix

from .plant import BodyMotion

GYROSCOPE_NOISE, GYROSCOPE_BIAS = 0.005, 0.005
"""Standard deviations [rad/s]."""
ACCELERATION_NOISE, ACCELERATION_BIAS = 0.03, 0.05
"""Standard deviations [m/s^2]."""
ATTITUDE_NOISE = 0.0005
"""Standard deviation of the filter's angles [rad]."""
ATTITUDE_PERIOD = 2
"""Ticks between new attitudes."""
UP_W = np.array([0.0, 0.0, GRAVITY])


class Imu:
    """Turns true motion of the base into what the IMU sends.

    Products are written as `dot`, which takes a third of the time of `@` on three numbers.
    """

    def __init__(self, random: np.random.Generator, mounting: Array = IDENTITY) -> None:
        """Draw biases; `mounting` is the rotation from the IMU's axes to the base."""
        self._random = random
        self._to_imu = matrix(mounting)  # a row vector times it: from base to IMU
        self._gyroscope_bias = random.normal(0.0, GYROSCOPE_BIAS, 3)
        self._acceleration_bias = random.normal(0.0, ACCELERATION_BIAS, 3)
        self.frozen = False
        """A dead IMU leaves the board repeating its last values."""
        self.power_cycle()

    def power_cycle(self) -> None:
        """Call the present heading zero."""
        self._heading: float | None = None
        self._ticks = 0
        self._last: ImuReading | None = None

    def read(self, body: BodyMotion) -> ImuReading:
        """Return this tick's values."""
        if self.frozen and self._last is not None:
            return self._last
        rotation = body.rotation_wb.dot(
            self._to_imu
        )  # from IMU to world; a row vector times it: from world to IMU
        linear = (
            body.acceleration_w.dot(rotation)
            + self._acceleration_bias
            + self._noise(ACCELERATION_NOISE)
        )
        if self._last is None or self._ticks % ATTITUDE_PERIOD == 0:
            attitude = self._attitude(rotation)
        else:
            attitude = self._last.attitude
        self._ticks += 1
        self._last = ImuReading(
            acceleration=linear + UP_W.dot(rotation),
            gyroscope=body.angular_velocity_b.dot(self._to_imu)
            + self._gyroscope_bias
            + self._noise(GYROSCOPE_NOISE),
            attitude=attitude,
            linear_acceleration=linear,
        )
        return self._last

    def _attitude(self, rotation: Array) -> Array:
        (xx, _, _), (yx, _, _), (zx, zy, zz) = (
            rotation.tolist()
        )  # the world's axes, seen from the IMU
        roll, pitch, yaw = (
            math.atan2(zy, zz),
            -math.asin(min(1.0, max(-1.0, zx))),
            math.atan2(yx, xx),
        )
        if self._heading is None:
            self._heading = yaw
        turned = (yaw - self._heading + math.pi) % math.tau - math.pi
        return np.array([roll, pitch, turned]) + self._noise(ATTITUDE_NOISE)

    def _noise(self, deviation: float) -> Array:
        return self._random.normal(0.0, deviation, 3)
