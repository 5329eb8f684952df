"""The controller's checks: what is watched, from which number on it is a fault, and for how long it may last."""

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
from solo_doi.solo12.limits import SAFETY


class Safety:
    """Looks at every state before the controller acts on it."""

    _torque: list[float] | None
    _frozen: HoldTimer
    _fingerprint: bytes
    _gaps: RollingCount
    _late: RollingCount
    _chatter: RollingCount

    def __init__(self, config: SafetyConfig) -> None:
        """Start with a clean record."""
        self.config = config
        self._positions = RelaxedLimits(SAFETY.position)
        self.policy_on()
        self._forget()

    def power_on(self, sensors: Sensors) -> None:
        """Learn that motors are about to hold positions."""
        self._positions.relax_to(sensors.joint_position)
        self._forget()

    def policy_on(self) -> None:
        """Learn that a policy gets the motors."""
        self._outside = HoldTimer(self.config.patience)

    def finite(self, sensors: Sensors) -> Fault | None:
        """Check the numbers themselves, before anything is computed from them."""
        return None if sensors.finite else Fault(Cause.STATE_NOT_FINITE)

    def sensing(self, sensors: Sensors, missed: int) -> Fault | None:
        """Check that news keeps coming."""
        fingerprint = sensors.joint_velocity.tobytes() + sensors.angular_velocity_b.tobytes()
        same, self._fingerprint = fingerprint == self._fingerprint, fingerprint
        if self._frozen.expired(same, sensors.time):
            return Fault(Cause.STATE_FROZEN, 1000 * self.config.frozen)
        if self._gaps.exceeded(missed):
            return Fault(Cause.STATE_GAP, self._gaps.count)
        return None

    def moving(self, sensors: Sensors, estimate: Estimate) -> Fault | None:
        """Check limits of joints and attitude; for motors that hold positions."""
        outside = self._positions.violated_joint(sensors.joint_position)
        if outside is not None:
            return Fault(Cause.JOINT_POSITION, float(sensors.joint_position[outside]), outside)
        velocity, torque = sensors.joint_velocity.tolist(), sensors.joint_torque.tolist()
        for values, limit, cause in (
            (velocity, SAFETY.velocity, Cause.JOINT_VELOCITY),
            (torque, SAFETY.torque, Cause.JOINT_TORQUE),
        ):
            if max(values) > limit or min(values) < -limit:
                joint = next(joint for joint, value in enumerate(values) if abs(value) > limit)
                return Fault(cause, values[joint], joint)
        joint, step = _largest_step(torque, self._torque or torque)
        self._torque = torque
        if self._chatter.exceeded(step > self.config.torque_step):
            return Fault(Cause.TORQUE_RATE, step, joint)
        return self._attitude(sensors, estimate)

    def policy(self, target: Array, before: Array, excess: float, now: float) -> Fault | None:
        """Check what a policy answered to what."""
        wished = target.tolist()
        if not all(map(math.isfinite, wished)):
            return Fault(Cause.POLICY_NOT_FINITE)
        joint, step = _largest_step(wished, before.tolist())
        if step > self.config.target_step:
            return Fault(Cause.TARGET_RATE, step, joint)
        if self._outside.expired(not excess <= self.config.envelope, now):
            return Fault(Cause.OUT_OF_ENVELOPE, excess)
        return None

    def on_time(self, late: int) -> Fault | None:
        """Count by how many whole ticks this one was late."""
        return Fault(Cause.OVERRUN, self._late.count) if self._late.exceeded(late) else None

    def _forget(self) -> None:
        """What was counted before a fault must not make the next one, or nobody could re-arm."""
        self._frozen, self._fingerprint = HoldTimer(self.config.frozen), b""
        self._gaps, self._late = (
            RollingCount(self.config.gap_share),
            RollingCount(self.config.bad_share),
        )
        self._torque = None
        self._chatter = RollingCount(self.config.bad_share)
        self._disagreeing = HoldTimer(self.config.patience)

    def _attitude(self, sensors: Sensors, estimate: Estimate) -> Fault | None:
        gx, gy, gz = estimate.gravity_b.tolist()
        tilt = _angle(-gz)
        if not tilt <= self.config.tilt:  # nor if it is not a number
            return Fault(Cause.TILT, tilt)
        w, x, y, z = sensors.quaternion.tolist()
        # `projected_gravity` for one quaternion, written out: ten times faster.
        angle = _angle(
            2 * gx * (w * y - x * z) - 2 * gy * (y * z + w * x) - gz * (1 - 2 * (x * x + y * y))
        )
        if self._disagreeing.expired(angle > self.config.tilt_disagreement, sensors.time):
            return Fault(Cause.ATTITUDE_DISAGREES, angle)
        return None


def _largest_step(now: list[float], before: list[float]) -> tuple[int, float]:
    """Return the joint whose number changed most, and by how much; plain numbers: five times faster than arrays."""
    steps = [*map(abs, map(sub, now, before))]
    step = max(steps)
    return steps.index(step), step


def _angle(cosine: float) -> float:
    return math.acos(min(1.0, max(-1.0, cosine))) if cosine == cosine else math.nan
