"""Kinematics of one leg in plain floats; `kinematics` does the same for arrays of robots.

A numpy operation takes about a microsecond, however small the array. The estimator runs for one
robot a thousand times a second; plain floats take a quarter of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, sin

from .constants import ANKLE_Z, KFE_Z, LEG_NAMES
from .kinematics import HIPS_B, LEG_WIDTH

Vector = tuple[float, float, float]

LEG_OFFSETS = tuple(
    (*HIPS_B[leg, :2].tolist(), float(LEG_WIDTH[leg])) for leg in range(len(LEG_NAMES))
)
"""Per leg: x and y of the HAA axis in the base frame, and lateral distance to the foot [m]."""
MIN_DETERMINANT = 1e-4
"""Below this the knee is too straight to infer a force from torques [m^2]."""
MIN_FOOT_DROP = 1e-3
"""Below this the foot is too close to the height of its hip to infer a force [m]."""


def cross(a: Vector, b: Vector) -> Vector:
    """Cross product of two vectors."""
    ax, ay, az = a
    bx, by, bz = b
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


class SingleLeg:
    """A leg with given joint angles; everything is in the base frame."""

    __slots__ = (
        "_cos_haa",
        "_hip_x",
        "_hip_y",
        "_knee_x",
        "_knee_z",
        "_sin_haa",
        "_width",
        "_x",
        "_y_b",
        "_z",
        "_z_b",
    )

    def __init__(self, number: int, angles: Sequence[float]) -> None:
        """Precompute the geometry of leg `number` from its HAA, HFE and KFE angles [rad]."""
        haa, hfe, kfe = angles
        self._hip_x, self._hip_y, self._width = LEG_OFFSETS[number]
        self._cos_haa = c = cos(haa)
        self._sin_haa = s = sin(haa)
        # Vectors hip-to-foot and knee-to-foot in the leg's plane, which HAA turns about x.
        self._knee_x = ANKLE_Z * sin(hfe + kfe)
        self._knee_z = ANKLE_Z * cos(hfe + kfe)
        self._x = KFE_Z * sin(hfe) + self._knee_x
        self._z = KFE_Z * cos(hfe) + self._knee_z
        self._y_b = c * self._width - s * self._z
        self._z_b = s * self._width + c * self._z

    def position(self) -> Vector:
        """Centre of the foot [m]."""
        return self._hip_x + self._x, self._hip_y + self._y_b, self._z_b

    def velocity(self, rates: Sequence[float]) -> Vector:
        """Velocity of the foot relative to the base [m/s], from joint velocities [rad/s]."""
        haa, hfe, kfe = rates
        along = hfe * self._z + kfe * self._knee_z
        up = -(hfe * self._x + kfe * self._knee_x)
        return along, -haa * self._z_b - self._sin_haa * up, haa * self._y_b + self._cos_haa * up

    def shank_rate(self, rates: Sequence[float]) -> Vector:
        """Angular velocity of the shank relative to the base, from joint velocities [rad/s]."""
        haa, hfe, kfe = rates
        return haa, self._cos_haa * (hfe + kfe), self._sin_haa * (hfe + kfe)

    def supported_weight(self, torques: Sequence[float], gravity_b: Vector) -> float:
        """Weight on the foot if the joint torques balance the ground force [N].

        Virtual work gives torque = -J^T force. Let `a` be the joint rates that move the foot along
        gravity, J a = gravity. Then force . (-gravity) = a . torque. In the leg's plane, `a` has a
        closed form. Returns 0 near singular poses, in which torques do not determine the force.
        """
        gx, gy, gz = gravity_b
        det = self._x * self._knee_z - self._z * self._knee_x
        if abs(det) <= MIN_DETERMINANT or abs(self._z) <= MIN_FOOT_DROP:
            return 0.0
        haa = -(self._cos_haa * gy + self._sin_haa * gz) / self._z
        rest = self._cos_haa * gz - self._sin_haa * gy - self._width * haa
        hfe = -(gx * self._knee_x + rest * self._knee_z) / det
        kfe = (rest * self._z + gx * self._x) / det
        return haa * torques[0] + hfe * torques[1] + kfe * torques[2]
