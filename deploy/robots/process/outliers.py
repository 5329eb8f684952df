"""Rejection of single wrong measurements, before anything is computed from them.

Real boards are known to send velocity spikes, frames of zeros and single wrong packets. Each joint
is measured twice: by its velocity and by the difference of its positions. If the two disagree, the
one that is closer to the velocity before is kept. Rejected values are replaced and counted. A wrong
position or attitude is replaced once only, so that a lasting one reaches the gate in the next tick.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import replace
from math import cos

import numpy as np

from deploy.common.debounce import WINDOW_TICKS, RollingCount
from deploy.common.faults import Cause, Fault
from deploy.common.robot_constants import TICK
from deploy.common.sensors import Sensors
from solo_doi.solo12.constants import NUM_JOINTS, Array

VELOCITY_TOLERANCE = 1.2
"""Largest difference between a velocity and that of the encoder over one tick [rad/s].

Walking robots show at most 0.75 rad/s on the virtual board and 0.24 rad/s in PyBullet.
"""
MOST_ZERO_FRAMES = 3
"""Largest number of frames of zeros in a row that are replaced."""
RECURRING_TICKS = 5
"""Ticks after a wrong position within which a second one of the same joint is not replaced."""
LARGEST_TURN = 0.1
"""Largest plausible change of the attitude in one tick; the gyroscope ends at 16 rad/s [rad]."""
LARGEST_GYROSCOPE_STEP = 8.0
"""Largest plausible change of an angular velocity in one tick [rad/s]."""
DISAGREEMENTS = 25
"""Largest number of ticks in 100 in which velocity and encoder of a joint may disagree.

A joint at 20 rad/s passes the zero of its motor three times in 100 ticks.
"""
_STILL = cos(LARGEST_TURN / 2)


class OutlierFilter:
    """Replaces single wrong measurements; one `clean` per measurement."""

    def __init__(self) -> None:
        """Start without a measurement."""
        self.counts: Counter[str] = Counter()
        """Number of rejected values by kind."""
        self._before: Sensors | None = None
        self._zero_frames = 0
        self._held_imu = False
        self._holds = RollingCount(DISAGREEMENTS)
        self._since_outlier = np.full(NUM_JOINTS, RECURRING_TICKS)
        self._window: deque[Array] = deque(maxlen=WINDOW_TICKS)
        self._disagreements = np.zeros(NUM_JOINTS)

    def reset(self) -> None:
        """Forget disagreements, so that those before motors were switched on do not count."""
        self._holds = RollingCount(DISAGREEMENTS)
        self._window.clear()
        self._disagreements = np.zeros(NUM_JOINTS)

    def clean(self, sensors: Sensors) -> tuple[Sensors, Fault | None]:
        """Return plausible measurements, and a fault if wrong ones last."""
        before = self._before
        if not sensors.finite:  # the gate reports it
            return sensors, None
        fault = None
        if before is not None:
            cleaned = self._clean_imu(sensors, before)
            if self._holds.exceeded(cleaned is not sensors):
                fault = Fault(Cause.IMU_FROZEN, self._holds.count)  # a tick is a millisecond
            sensors = cleaned
        # Positions jump while joints are being calibrated, and joints are then not ready.
        if before is not None and all(before.ready.tolist()):
            sensors, lasting = self._clean_joints(sensors, before)
            fault = fault or lasting
        self._before = sensors
        return sensors, fault

    def _clean_imu(self, sensors: Sensors, before: Sensors) -> Sensors:
        """Hold the readings of the IMU for frames of zeros, and once for an impossible step."""
        gyroscope = sensors.angular_velocity_b.tolist()
        zeros = not any(gyroscope) and not any(sensors.acceleration_b.tolist())
        held = zeros
        if not zeros and not self._held_imu:
            turned = abs(float(sensors.quaternion.dot(before.quaternion))) < _STILL
            steps = zip(gyroscope, before.angular_velocity_b.tolist(), strict=True)
            held = turned or any(abs(now - was) > LARGEST_GYROSCOPE_STEP for now, was in steps)
        self._held_imu = held and not zeros
        if not held:
            return sensors
        self.counts["imu zero frames" if zeros else "imu"] += 1
        # Frames of zeros that last repeat the same numbers, which is IMU_FROZEN.
        return replace(
            sensors,
            angular_velocity_b=before.angular_velocity_b,
            acceleration_b=before.acceleration_b,
            quaternion=before.quaternion,
        )

    def _clean_joints(self, sensors: Sensors, before: Sensors) -> tuple[Sensors, Fault | None]:
        ticks = max(1.0, sensors.elapsed / TICK)
        self._since_outlier += 1
        zeros = not sensors.joint_position.any()
        if not zeros:
            self._zero_frames = 0
        elif self._zero_frames < MOST_ZERO_FRAMES:
            self._zero_frames += 1
            self._since_outlier[:] = 0  # the next wrong position reaches the gate
            self.counts["position zero frames"] += 1
            predicted = before.joint_position + sensors.elapsed * before.joint_velocity
            sensors = replace(sensors, joint_position=predicted)
        encoder = (sensors.joint_position - before.joint_position) / (ticks * TICK)
        wrong = np.abs(sensors.joint_velocity - encoder) > ticks * VELOCITY_TOLERANCE
        if wrong.any():
            sensors = self._replaced(sensors, before, encoder, wrong)
        return sensors, self._lasting(wrong | zeros)

    def _replaced(
        self, sensors: Sensors, before: Sensors, encoder: Array, wrong: np.ndarray
    ) -> Sensors:
        """Replace wrong velocities by the encoder's, and wrong positions by their prediction."""
        velocity = sensors.joint_velocity
        step = np.abs(velocity - before.joint_velocity)
        # After a replaced position, the difference is that of a prediction: hold the velocity.
        predicted_before = self._since_outlier <= 1
        encoder = np.where(predicted_before, before.joint_velocity, encoder)
        encoder_is_closer = np.abs(encoder - before.joint_velocity) <= step
        bad_velocity = wrong & encoder_is_closer
        bad_position = wrong & ~encoder_is_closer & (self._since_outlier > RECURRING_TICKS)
        self._since_outlier[bad_position] = 0
        self.counts["velocities"] += int(np.count_nonzero(bad_velocity))
        self.counts["positions"] += int(np.count_nonzero(bad_position))
        predicted = before.joint_position + sensors.elapsed * velocity
        return replace(
            sensors,
            joint_velocity=np.where(bad_velocity, encoder, velocity),
            joint_position=np.where(bad_position, predicted, sensors.joint_position),
        )

    def _lasting(self, wrong: np.ndarray) -> Fault | None:
        """Return the fault of a joint whose velocity and encoder disagree in too many ticks."""
        if len(self._window) == WINDOW_TICKS:
            self._disagreements -= self._window[0]
        self._window.append(wrong)
        self._disagreements += wrong
        most = int(self._disagreements.argmax())
        if self._disagreements[most] <= DISAGREEMENTS:
            return None
        return Fault(Cause.VELOCITY_DISAGREES, float(self._disagreements[most]), most)
