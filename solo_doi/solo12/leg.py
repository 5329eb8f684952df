"""One leg at an instant, in plain numbers: what `kinematics` has for arrays of robots.

Numpy spends about a microsecond on any operation, however small the arrays. One robot that is estimated a thousand
times a second has no time for that; plain numbers take a quarter of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, sin

from .constants import ANKLE_Z, KFE_Z
from .kinematics import HIPS_B, LEG_WIDTH

Vector = tuple[float, float, float]

PLACES = tuple(
    (x, y, width) for (x, y, _), width in zip(HIPS_B.tolist(), LEG_WIDTH.tolist(), strict=True)
)
"""Of each leg: where its HAA axis passes, and the lateral distance from there to the foot."""


def cross(a: Vector, b: Vector) -> Vector:
    """Cross product of two vectors."""
    ax, ay, az = a
    bx, by, bz = b
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


class Leg:
    """A leg with given joint angles; everything is in the base frame."""

    __slots__ = (
        "_c",
        "_hip_x",
        "_hip_y",
        "_knee_x",
        "_knee_z",
        "_s",
        "_width",
        "_x",
        "_y_b",
        "_z",
        "_z_b",
    )

    def __init__(self, number: int, angles: Sequence[float]) -> None:
        """Compute what all of the following need, from the angles of HAA, HFE and KFE."""
        haa, hfe, kfe = angles
        self._hip_x, self._hip_y, self._width = PLACES[number]
        self._c, self._s = c, s = cos(haa), sin(haa)
        # Foot and knee-to-foot vectors in the leg's plane, which HAA turns about x.
        self._knee_x, self._knee_z = ANKLE_Z * sin(hfe + kfe), ANKLE_Z * cos(hfe + kfe)
        self._x, self._z = KFE_Z * sin(hfe) + self._knee_x, KFE_Z * cos(hfe) + self._knee_z
        self._y_b = c * self._width - s * self._z
        self._z_b = s * self._width + c * self._z

    def position(self) -> Vector:
        """Centre of the foot."""
        return self._hip_x + self._x, self._hip_y + self._y_b, self._z_b

    def velocity(self, rates: Sequence[float]) -> Vector:
        """Velocity of the foot relative to the base, from the joints' velocities."""
        haa, hfe, kfe = rates
        along = hfe * self._z + kfe * self._knee_z
        up = -(hfe * self._x + kfe * self._knee_x)
        return along, -haa * self._z_b - self._s * up, haa * self._y_b + self._c * up

    def shank_rate(self, rates: Sequence[float]) -> Vector:
        """Angular velocity of the shank relative to the base, from the joints' velocities."""
        haa, hfe, kfe = rates
        return haa, self._c * (hfe + kfe), self._s * (hfe + kfe)

    def carried(self, torques: Sequence[float], gravity_b: Vector) -> float:
        """Weight that the foot carries, if the joints' torques balance the ground's force [N].

        Torques and force do the same work: torque = -J^T force, so that force . (-gravity) = a . torque, where a are
        the joint rates that move the foot along gravity, J a = gravity. The leg's plane makes that easy to solve.
        """
        gx, gy, gz = gravity_b
        det = self._x * self._knee_z - self._z * self._knee_x
        if abs(det) <= 1e-4 or abs(self._z) <= 1e-3:
            return 0.0  # a straight knee, or a foot at the height of its hip, can carry anything: it is left out
        haa = -(self._c * gy + self._s * gz) / self._z
        rest = self._c * gz - self._s * gy - self._width * haa
        hfe = -(gx * self._knee_x + rest * self._knee_z) / det
        kfe = (rest * self._z + gx * self._x) / det
        return haa * torques[0] + hfe * torques[1] + kfe * torques[2]
