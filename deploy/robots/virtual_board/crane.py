"""The crane a Solo12 hangs from while its motors move by themselves, as a spring between hook and base."""

from __future__ import annotations

from .crane_timing import SLACK_TIME, SPEED

STIFFNESS, DAMPING = 3000.0, 150.0
"""Of the rope and of the hand that keeps the robot from swinging [N/m], [N s/m]."""
TURN_STIFFNESS, TURN_DAMPING = 60.0, 1.5
"""[N m/rad], [N m s/rad]"""


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

    def wrench(
        self, place: list[float], linear_w: list[float], angular_w: list[float], step: float
    ) -> list[float]:
        """Force and torque on the base in the world frame, for one physics step before the robot is released.

        A place is position and quaternion. Plain numbers: with arrays of three it took four times as long.
        """
        if self._lowering:
            self._height -= SPEED * step
        x, y, z, *quaternion = place
        force_x = -STIFFNESS * x - DAMPING * linear_w[0]
        force_y = -STIFFNESS * y - DAMPING * linear_w[1]
        force_z = STIFFNESS * (self._height - z) - DAMPING * linear_w[2] + self._weight
        if self._lowering:
            force_z = max(force_z, 0.0)  # a rope cannot push
            self._slack = self._slack + step if force_z == 0.0 else 0.0
            self.released = self._slack > SLACK_TIME
        return [force_x, force_y, force_z, *self._torque(quaternion, angular_w)]

    def _torque(self, quaternion: list[float], angular_w: list[float]) -> list[float]:
        """Turn back to level: for small turns, twice the vector part is the rotation vector."""
        w, x, y, z = quaternion
        twice = 2.0 if w > 0.0 else -2.0
        return [
            -TURN_STIFFNESS * (twice * x) - TURN_DAMPING * angular_w[0],
            -TURN_STIFFNESS * (twice * y - self.pitch) - TURN_DAMPING * angular_w[1],
            -TURN_STIFFNESS * (twice * z) - TURN_DAMPING * angular_w[2],
        ]
