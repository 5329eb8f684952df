"""Simulated IMU: bias, noise, attitude at half the rate, zero heading at power-up, freezing."""

from __future__ import annotations

import math

import numpy as np

from deploy.robots.odri.wire.protocol import ImuReading
from solo_doi.solo12.constants import UP_W, Array
from solo_doi.solo12.rotations import IDENTITY, matrix

from .plant import BodyMotion

GYROSCOPE_NOISE = 0.005
"""Standard deviation of the gyroscope's noise [rad/s]."""
GYROSCOPE_BIAS = 0.005
"""Standard deviation of the gyroscope's bias [rad/s]."""
ACCELERATION_NOISE = 0.03
"""Standard deviation of the accelerometer's noise [m/s^2]."""
ACCELERATION_BIAS = 0.05
"""Standard deviation of the accelerometer's bias [m/s^2]."""
ATTITUDE_NOISE = 0.0005
"""Standard deviation of the attitude filter's noise [rad]."""
ATTITUDE_PERIOD = 2
"""Number of ticks between two updates of the attitude."""


class Imu:
    """Converts the true motion of the base to measurements.

    Vector products use `dot`, which takes a third of the time of `@` for three numbers.
    """

    def __init__(self, random: np.random.Generator, mounting: Array = IDENTITY) -> None:
        """Draw biases; `mounting` is the rotation from the IMU's axes to the base."""
        self._random = random
        self._to_imu = matrix(mounting)  # for row vectors: from base to IMU
        self._gyroscope_bias = random.normal(0.0, GYROSCOPE_BIAS, 3)
        self._acceleration_bias = random.normal(0.0, ACCELERATION_BIAS, 3)
        self.frozen = False
        """True for a failed IMU: the board then repeats the last values."""
        self.power_cycle()

    def power_cycle(self) -> None:
        """Restart the IMU: the next heading becomes zero."""
        self._heading: float | None = None
        self._ticks = 0
        self._last: ImuReading | None = None

    def read(self, body: BodyMotion) -> ImuReading:
        """Return the measurements of this tick."""
        if self.frozen and self._last is not None:
            return self._last
        # From IMU to world; for row vectors, from world to IMU.
        rotation = body.rotation_wb.dot(self._to_imu)
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
        # The world's axes in the frame of the IMU.
        (xx, _, _), (yx, _, _), (zx, zy, zz) = rotation.tolist()
        roll = math.atan2(zy, zz)
        pitch = -math.asin(min(1.0, max(-1.0, zx)))
        yaw = math.atan2(yx, xx)
        if self._heading is None:
            self._heading = yaw
        turned = (yaw - self._heading + math.pi) % math.tau - math.pi
        return np.array([roll, pitch, turned]) + self._noise(ATTITUDE_NOISE)

    def _noise(self, deviation: float) -> Array:
        return self._random.normal(0.0, deviation, 3)
