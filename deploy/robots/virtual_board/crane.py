"""The crane a Solo12 hangs from while its motors move by themselves, as a spring between hook and base."""

from __future__ import annotations

import numpy as np

from solo_doi.solo12.constants import Array

STIFFNESS, DAMPING = 3000.0, 150.0
"""Of the rope and of the hand that keeps the robot from swinging [N/m], [N s/m]."""
TURN_STIFFNESS, TURN_DAMPING = 60.0, 1.5
"""[N m/rad], [N m s/rad]"""
SPEED = 0.15
"""Of lowering [m/s]."""
SLACK_TIME = 0.2
"""How long the rope is slack before it is taken off [s]."""
HANGING = 0.45
"""Height of a base whose legs swing free [m]."""
LOWER_AFTER = 0.5
"""How long after its calibration the robot of a dry run still hangs [s]."""
LET_DOWN = LOWER_AFTER + HANGING / SPEED + SLACK_TIME
"""How long after its calibration the robot of a dry run lies on the ground without a rope, at the latest [s]."""


class Crane:
    """Holds a base at a height, lowers it on request, and lets go when the rope is slack."""

    def __init__(self, height: float, weight: float) -> None:
        """Hold a robot of this weight with its base at a height [m], [N]."""
        self._height, self._weight = height, weight
        self._lowering = False
        self._slack = 0.0
        self.released = False
        self.pitch = 0.0
        """How far the robot is kept from level, about its y axis: negative lifts the nose [rad]."""

    def lower(self) -> None:
        """Begin to put the robot down."""
        self._lowering = True

    def wrench(self, position_w: Array, quaternion: Array, linear_w: Array, angular_w: Array, step: float) -> Array:
        """Force and torque on the base in the world frame, (6,), for one physics step."""
        if self.released:
            return np.zeros(6)
        if self._lowering:
            self._height -= SPEED * step
        force = STIFFNESS * (np.array([0.0, 0.0, self._height]) - position_w) - DAMPING * linear_w
        force[2] += self._weight
        if self._lowering:
            force[2] = max(force[2], 0.0)  # a rope cannot push
            self._slack = self._slack + step if force[2] == 0.0 else 0.0
            self.released = self._slack > SLACK_TIME
        # Back to level: for small turns, twice the vector part is the rotation vector.
        turned = 2.0 * np.sign(quaternion[0]) * quaternion[1:] - np.array([0.0, self.pitch, 0.0])
        torque = -TURN_STIFFNESS * turned - TURN_DAMPING * angular_w
        return np.concatenate([force, torque])
