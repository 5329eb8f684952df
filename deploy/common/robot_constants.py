"""Numbers that every process of a deployment shares, and the damping command."""

from __future__ import annotations

import numpy as np

from solo_doi.solo12.constants import NUM_JOINTS, SENSE_DT, Array
from solo_doi.solo12.limits import LARGEST_KD, LARGEST_KP
from solo_doi.solo12.state import JointCommand

TICK = SENSE_DT
"""Period of the robot process and of the controller [s]."""
DAMPING = 0.2
"""Velocity gain of damped motors, as in the vendor's driver file [N m s/rad]."""
LARGEST_TILT = 1.2
"""Angle between base and level above which motors are damped, in bring-up too [rad]."""
FROZEN_AFTER = 0.020
"""Time after which an IMU that repeats exactly the same numbers is considered frozen [s]."""
LEAST_VOLTAGE = 20.0
"""Battery voltage below which motors are damped: a flat pack of six cells [V]."""
STOPPED = "stopped by the operator"
"""Cause of a stop that a person requested."""
LARGEST_GAINS = (LARGEST_KP, LARGEST_KD)
"""Largest safe kp [N m/rad] and kd [N m s/rad], for robots that can receive any gain."""


def damping_command(position: Array | None = None, kd: float = DAMPING) -> JointCommand:
    """Return the command that slows every joint and holds none."""
    if position is None:
        position = np.zeros(NUM_JOINTS)
    return JointCommand(position=position, kp=0.0, kd=kd)
