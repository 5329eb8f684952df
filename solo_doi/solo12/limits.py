"""One table of joint limits: training inside safety inside driver inside mechanical limits.

A policy trained within the first limits cannot reach the second. The controller's safety checks act
before the motor driver's own, which cut the motors without a grace period.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import numpy as np

from .constants import NUM_LEGS, Array, constant

# [ODRI] actuator: 0.025 N m/A at the motor, gear ratio 9.
MOTOR_CONSTANT = 0.025
GEAR_RATIO = 9.0
TORQUE_PER_AMPERE = MOTOR_CONSTANT * GEAR_RATIO

VENDOR_CURRENT = 8.0
"""Current limit in the vendor's driver file [A].
It gives only 1.8 N m, less than the policies were trained with."""


@dataclass(frozen=True)
class Limits:
    """Symmetric limits of one layer."""

    position: Array  # (12,) [rad]
    velocity: float  # [rad/s]
    torque: float  # [N m]

    @property
    def current(self) -> float:
        """Motor current that gives the torque limit [A]."""
        return self.torque / TORQUE_PER_AMPERE


def _per_leg(haa: float, hfe: float, kfe: float) -> Array:
    return constant(np.tile([haa, hfe, kfe], NUM_LEGS))


TRAINING_LIMITS = Limits(_per_leg(0.80, 1.35, 2.60), velocity=30.0, torque=2.5)
"""Clamp of joint targets, and torque limit of every simulator; 2.5 N m is 11.1 A [DOMiNiC]."""

SAFETY_LIMITS = Limits(_per_leg(0.85, 1.43, 2.70), velocity=50.0, torque=2.6)
"""The controller damps the motors when one of these is crossed."""

DRIVER_LIMITS = Limits(_per_leg(0.90, 1.45, 2.80), velocity=80.0, torque=2.7)
"""Limits of the motor driver: as in the vendor's file [ODRI], but 12 A for its 8 A (2.7 N m)."""

LARGEST_KP = 10.0
"""Largest position gain of a joint; the master board's packets carry at most 10.3 [N m/rad]."""
LARGEST_KD = 0.6
"""Largest velocity gain of a joint [N m s/rad]."""

MECHANICAL_POSITION = _per_leg(pi / 3, pi / 2, pi)
"""Mechanical ends of the simulated joints [rad] [DOMiNiC URDF]."""
