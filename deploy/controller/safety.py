"""Safety checks of the controller: thresholds, debouncing, and the faults that follow."""

from __future__ import annotations

import math
from operator import sub

from deploy.common.debounce import HoldTimer, RollingCount
from deploy.common.faults import Cause, Fault
from deploy.common.position_limits import RelaxedLimits
from deploy.common.safety_config import SafetyConfig
from deploy.common.sensors import Sensors
from solo_doi.solo12.constants import Array
from solo_doi.solo12.estimator import Estimate
from solo_doi.solo12.limits import SAFETY_LIMITS

HELD_TICKS = 60
"""Ticks of one stall for which the robot process holds the last command."""


class Safety:
    """Checks every state of the robot before the controller acts on it."""

    _torque: list[float] | None
    _frozen_timer: HoldTimer
    _fingerprint: bytes
    _gaps: RollingCount
    _late_ticks: RollingCount
    _chatter: RollingCount
    _disagreement_timer: HoldTimer

    def __init__(self, config: SafetyConfig) -> None:
        """Start with empty timers and counts."""
        self.config = config
        self._positions = RelaxedLimits(SAFETY_LIMITS.position)
        self.on_policy()
        self._reset()

    def on_power(self, sensors: Sensors) -> None:
        """Reset the checks before motors hold positions; widen limits of joints outside."""
        self._positions.relax_to(sensors.joint_position)
        self._reset()

    def on_policy(self) -> None:
        """Reset the check of the training range before a policy drives the motors."""
        self._envelope_timer = HoldTimer(self.config.patience)

    def check_finite(self, sensors: Sensors) -> Fault | None:
        """Check that all numbers are finite, before anything is computed from them."""
        if sensors.finite:
            return None
        return Fault(Cause.STATE_NOT_FINITE)

    def check_news(self, sensors: Sensors, missed: int) -> Fault | None:
        """Check that readings change and few states are lost; `missed` is the newly lost number."""
        fingerprint = sensors.joint_velocity.tobytes() + sensors.angular_velocity_b.tobytes()
        same = fingerprint == self._fingerprint
        self._fingerprint = fingerprint
        if self._frozen_timer.expired(same, sensors.time):
            return Fault(Cause.STATE_FROZEN, 1000 * self.config.frozen)
        if self._gaps.exceeded(missed):
            return Fault(Cause.STATE_GAP, self._gaps.count)
        return None

    def check_motion(self, sensors: Sensors, estimate: Estimate) -> Fault | None:
        """Check joints and attitude while motors hold positions."""
        outside = self._positions.violated_joint(sensors.joint_position)
        if outside is not None:
            return Fault(Cause.JOINT_POSITION, float(sensors.joint_position[outside]), outside)
        velocity = sensors.joint_velocity.tolist()
        torque = sensors.joint_torque.tolist()
        for values, limit, cause in (
            (velocity, SAFETY_LIMITS.velocity, Cause.JOINT_VELOCITY),
            (torque, SAFETY_LIMITS.torque, Cause.JOINT_TORQUE),
        ):
            if max(values) > limit or min(values) < -limit:
                joint = next(joint for joint, value in enumerate(values) if abs(value) > limit)
                return Fault(cause, values[joint], joint)
        joint, step = _largest_step(torque, self._torque or torque)
        self._torque = torque
        if self._chatter.exceeded(step > self.config.torque_step):
            return Fault(Cause.TORQUE_RATE, step, joint)
        return self._check_attitude(sensors, estimate)

    def check_policy(self, target: Array, before: Array, excess: float, now: float) -> Fault | None:
        """Check a policy's joint targets and observation at a time `now` [s].

        `before` are the previous targets [rad]. `excess` is the observation relative to the
        training range, 1 at its edge.
        """
        angles = target.tolist()
        if not all(map(math.isfinite, angles)):
            return Fault(Cause.POLICY_NOT_FINITE)
        joint, step = _largest_step(angles, before.tolist())
        if step > self.config.target_step:
            return Fault(Cause.TARGET_RATE, step, joint)
        # Negated comparison, so that an excess of NaN counts as outside.
        if self._envelope_timer.expired(not excess <= self.config.envelope, now):
            return Fault(Cause.OUT_OF_ENVELOPE, excess)
        return None

    def check_timing(self, late_ticks: int) -> Fault | None:
        """Check the loop's timing; `late_ticks` is the number of ticks just skipped."""
        # One stall that the robot process bridges by holding the last command is no overload.
        if self._late_ticks.exceeded(late_ticks):
            longest = self._late_ticks.largest
            held = longest if self.config.bad_share < longest <= HELD_TICKS else 0
            if self._late_ticks.count - held > self.config.bad_share:
                return Fault(Cause.OVERRUN, self._late_ticks.count)
        return None

    def _reset(self) -> None:
        """Clear timers and counts, so that those of an old fault cannot cause a new one."""
        self._frozen_timer = HoldTimer(self.config.frozen)
        self._fingerprint = b""
        self._gaps = RollingCount(self.config.gap_share)
        self._late_ticks = RollingCount(self.config.bad_share)
        self._torque = None
        self._chatter = RollingCount(self.config.bad_share)
        self._disagreement_timer = HoldTimer(self.config.patience)

    def _check_attitude(self, sensors: Sensors, estimate: Estimate) -> Fault | None:
        tilt = _angle(-float(estimate.gravity_b[2]))
        # Negated comparison, so that a tilt of NaN is a fault.
        if not tilt <= self.config.tilt:
            return Fault(Cause.TILT, tilt)
        angle = attitude_difference(sensors, estimate)
        if self._disagreement_timer.expired(angle > self.config.tilt_disagreement, sensors.time):
            return Fault(Cause.ATTITUDE_DISAGREES, angle)
        return None


def attitude_difference(sensors: Sensors, estimate: Estimate) -> float:
    """Return the angle between the estimated direction of gravity and the IMU's [rad]."""
    gx, gy, gz = estimate.gravity_b.tolist()
    w, x, y, z = sensors.quaternion.tolist()
    # `projected_gravity` for a single quaternion, written out, which is ten times faster.
    return _angle(
        2 * gx * (w * y - x * z) - 2 * gy * (y * z + w * x) - gz * (1 - 2 * (x * x + y * y))
    )


def _largest_step(now: list[float], before: list[float]) -> tuple[int, float]:
    """Return the joint with the largest change, and the change.

    Plain numbers: numpy takes five times as long for twelve values.
    """
    steps = [*map(abs, map(sub, now, before))]
    step = max(steps)
    return steps.index(step), step


def _angle(cosine: float) -> float:
    if math.isnan(cosine):
        return math.nan
    return math.acos(min(1.0, max(-1.0, cosine)))
