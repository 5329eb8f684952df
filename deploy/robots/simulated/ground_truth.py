"""True figures of a simulated walk: distance, velocity, falls, energy."""

from __future__ import annotations

import numpy as np

from deploy.common.robot_constants import TICK
from deploy.common.walk_summary import FALL_TILT, STARTUP_SECONDS, WalkSummary
from solo_doi.solo12.rotations import tilt
from solo_doi.solo12.state import mechanical_power

from .bullet_solo import BulletSolo

CONTACT_TICKS = 10
"""Number of ticks between two contact checks, since a check is slow."""


class GroundTruth:
    """Measures the walk of one simulated robot while a skill drives the motors."""

    def __init__(self, robot: BulletSolo) -> None:
        """Start at the robot's present position."""
        self._robot = robot
        self._ticks = self._moving = self.falls = 0
        self._velocity = self._energy = self._distance = 0.0
        self._down = self._touching = False
        self._before = robot.motion.base_position_w

    def update(self, skill: int) -> None:
        """Process one tick; `skill` is negative if no skill drives the motors."""
        motion = self._robot.motion
        step = motion.base_position_w - self._before
        self._before = motion.base_position_w
        if skill < 0:
            return
        self._ticks += 1
        self._distance += float(np.hypot(step[0], step[1]))
        self._energy += float(mechanical_power(self._robot.torque, motion.joint_velocity)) * TICK
        if self._ticks > STARTUP_SECONDS / TICK:
            self._moving += 1
            self._velocity += float(motion.linear_velocity_b[0])
        down = tilt(motion.base_quaternion) > FALL_TILT
        if self._ticks % CONTACT_TICKS == 0:
            self._touching = self._robot.belly_on_ground()
        down = down or self._touching
        self.falls += down and not self._down
        self._down = down

    def summary(self) -> WalkSummary:
        """Return the figures of the walk so far."""
        return WalkSummary(
            walked_seconds=self._ticks * TICK,
            distance=self._distance,
            velocity=self._velocity / max(self._moving, 1),
            falls=self.falls,
            energy=self._energy,
        )
