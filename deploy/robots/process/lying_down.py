"""Controlled lying down by the robot process alone, without a controller."""

from __future__ import annotations

import numpy as np

from deploy.common.poses import LYING, Glide
from deploy.common.sensors import Sensors
from deploy.messages.generated import joint_command
from deploy.messages.lcm_link import Mode
from solo_doi.solo12.constants import CONTROL_SETUPS, NUM_LEGS, Array
from solo_doi.solo12.single_leg import SingleLeg
from solo_doi.solo12.state import JointCommand

CATCH_SECONDS = 0.15
"""Duration of putting all feet on the ground after a walk, ahead of the moving base [s]."""
CATCH_ANGLE = 0.22
"""Angle by which hips put the feet ahead of a base at 1 m/s [rad]."""
LARGEST_CATCH = 0.4
"""Largest such angle [rad]."""
LIE_SECONDS = 2.25
"""Duration of lying down [s]."""
LYING_KD = 0.45
"""Velocity gain while lying down [N m s/rad]."""
FEET_BELOW_HIPS = CONTROL_SETUPS["locomotion"].default_pose
FEET_LEFT = np.tile([1.0, 0.0, 0.0], NUM_LEGS)
FEET_FORWARD = np.tile([0.0, -1.0, 0.0], NUM_LEGS)
"""Changes of the joints that move all feet to the left, and forward."""
MEASURED_TICKS = 5
"""Ticks between two measurements of the velocity."""
SMOOTHING = 0.05
"""Share of a new velocity in the average, which is that of about 0.1 s."""
SURE_FORCE = 6.0
"""Force on a foot from which its leg supports the robot [N]."""


def supported_velocity(sensors: Sensors) -> tuple[float, float]:
    """Return the base velocity ahead and to the left, by the legs that support a level base [m/s].

    It is zero if no leg supports the robot.
    """
    rates = sensors.joint_velocity.tolist()
    angles = sensors.joint_position.tolist()
    torques = sensors.joint_torque.tolist()
    total = forward = left = 0.0
    for number in range(NUM_LEGS):
        joints = slice(3 * number, 3 * number + 3)
        leg = SingleLeg(number, angles[joints])
        force = leg.supported_weight(torques[joints], (0.0, 0.0, -1.0))
        if force > SURE_FORCE:
            x, y, _ = leg.velocity(rates[joints])
            total += force
            forward -= force * x
            left -= force * y
    if total == 0.0:
        return 0.0, 0.0
    return forward / total, left / total


class CatchingPose:
    """Standing pose with the feet ahead of a moving base, so that it stops."""

    def __init__(self) -> None:
        """Start at rest."""
        self._ticks = 0
        self._forward = self._left = 0.0

    def update(self, sensors: Sensors) -> None:
        """Add the measurement of a tick; one in `MEASURED_TICKS` is used."""
        self._ticks += 1
        if self._ticks % MEASURED_TICKS == 0:
            forward, left = supported_velocity(sensors)
            self._forward += SMOOTHING * (forward - self._forward)
            self._left += SMOOTHING * (left - self._left)

    def pose(self) -> Array:
        """Return the joint angles, (12,) [rad]."""
        turned: Array = CATCH_ANGLE * (self._forward * FEET_FORWARD + self._left * FEET_LEFT)
        return FEET_BELOW_HIPS + turned.clip(-LARGEST_CATCH, LARGEST_CATCH)


class LyingDown:
    """Joint targets from the last followed command to the lying pose."""

    def __init__(self, last: joint_command, catching: Array, now: float) -> None:
        """Start from the targets and the gain of a command at time `now` [s].

        After a walk, the feet first go to the pose `catching` [rad].
        """
        start = np.array(last.position)
        self._kp = last.kp
        self._since = now
        self._catch: Glide | None = None
        if last.mode == Mode.POLICY:  # feet are in the air: first put them down
            self._catch = Glide(start, catching, CATCH_SECONDS)
            self._since += CATCH_SECONDS
            start = catching
        self._lie = Glide(start, LYING, LIE_SECONDS)

    def command(self, now: float) -> JointCommand:
        """Return the command of a time `now` [s]."""
        time = now - self._since
        if self._catch is not None and time < 0.0:
            target = self._catch.target(time + CATCH_SECONDS)
        else:
            target = self._lie.target(time)
        return JointCommand(position=target, kp=self._kp, kd=LYING_KD)

    def is_over(self, now: float) -> bool:
        """Return True once the robot lies."""
        return self._lie.arrived(now - self._since)
