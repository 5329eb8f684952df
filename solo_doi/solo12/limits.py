"""One table of joint limits: training clamp inside safety limit inside driver limit inside the metal.

A policy trained inside the first column cannot ask for what the second forbids, and the safety checks
of the controller act before the motor driver's own, which stop the robot without grace.
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
"""Current limit in the vendor's driver file: only 1.8 N m, less than the policies were trained with [A]."""


@dataclass(frozen=True)
class Limits:
    """Symmetric limits of one layer: position per joint [rad], velocity [rad/s], torque [N m]."""

    position: Array
    velocity: float
    torque: float

    @property
    def current(self) -> float:
        """Motor current that gives the torque limit [A]."""
        return self.torque / TORQUE_PER_AMPERE


def _per_leg(haa: float, hfe: float, kfe: float) -> Array:
    return constant(np.tile([haa, hfe, kfe], NUM_LEGS))


TRAINING = Limits(_per_leg(0.80, 1.35, 2.60), velocity=30.0, torque=2.5)
"""What a joint target is clamped to, and the torque limit of every simulator; 2.5 N m is 11.1 A [DOMiNiC]."""

SAFETY = Limits(_per_leg(0.85, 1.43, 2.70), velocity=50.0, torque=2.6)
"""Crossing one of these makes the controller damp the motors."""

DRIVER = Limits(_per_leg(0.90, 1.45, 2.80), velocity=80.0, torque=2.7)
"""Positions and velocity as in the vendor's driver file [ODRI]; 12 A instead of its 8 A, for 2.7 N m."""

LARGEST_KP = 10.0
"""Largest position gain of a joint; the master board's packets carry at most 10.3 [N m/rad]."""
LARGEST_KD = 0.6
"""Largest velocity gain of a joint [N m s/rad]."""

MECHANICAL_POSITION = _per_leg(pi / 3, pi / 2, pi)
"""Where the simulated joints end [DOMiNiC URDF]."""
