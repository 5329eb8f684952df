"""Crane from which a Solo12 hangs during bring-up: a spring between hook and base."""

from __future__ import annotations

from .crane_timing import SLACK_TIME, SPEED

ROPE_STIFFNESS = 3000.0
"""Stiffness of the rope [N/m]."""
ROPE_DAMPING = 150.0
"""Damping of the swing, as by a hand that steadies the robot [N s/m]."""
TURN_STIFFNESS = 60.0
"""Stiffness against rotation of the base [N m/rad]."""
TURN_DAMPING = 1.5
"""Damping of rotation of the base [N m s/rad]."""


class Crane:
    """Holds a base at a height, lowers it on request, and releases it when the rope is slack."""

    def __init__(self, height: float, weight: float) -> None:
        """Hold the base of a robot at a height [m]; `weight` is that of the robot [N]."""
        self._height = height
        self._weight = weight
        self._lowering = False
        self._slack = 0.0
        self.released = False
        self.pitch = 0.0
        """Angle about the y axis at which the robot is held; negative lifts the nose [rad]."""

    def lower(self) -> None:
        """Start to lower the robot."""
        self._lowering = True

    def wrench(
        self, place: list[float], linear_w: list[float], angular_w: list[float], step: float
    ) -> list[float]:
        """Return force and torque on the base in the world frame for one physics step.

        `place` is the base's position [m] and quaternion, `step` the duration of the step [s].
        Plain floats are four times as fast as small arrays.
        """
        if self._lowering:
            self._height -= SPEED * step
        x, y, z, *quaternion = place
        force_x = -ROPE_STIFFNESS * x - ROPE_DAMPING * linear_w[0]
        force_y = -ROPE_STIFFNESS * y - ROPE_DAMPING * linear_w[1]
        force_z = ROPE_STIFFNESS * (self._height - z) - ROPE_DAMPING * linear_w[2] + self._weight
        if self._lowering:
            force_z = max(force_z, 0.0)  # a rope cannot push
            self._slack = self._slack + step if force_z == 0.0 else 0.0
            self.released = self._slack > SLACK_TIME
        return [force_x, force_y, force_z, *self._torque(quaternion, angular_w)]

    def _torque(self, quaternion: list[float], angular_w: list[float]) -> list[float]:
        """Return the torque [N m] that turns the base to level, or to `pitch`.

        For small angles, twice the vector part of the quaternion is the rotation vector.
        """
        w, x, y, z = quaternion
        twice = 2.0 if w > 0.0 else -2.0
        return [
            -TURN_STIFFNESS * (twice * x) - TURN_DAMPING * angular_w[0],
            -TURN_STIFFNESS * (twice * y - self.pitch) - TURN_DAMPING * angular_w[1],
            -TURN_STIFFNESS * (twice * z) - TURN_DAMPING * angular_w[2],
        ]
