"""Constants that all processes of a deployment share, and the damping command."""

from __future__ import annotations

import numpy as np

from solo_doi.solo12.constants import NUM_JOINTS, SENSE_DT, Array
from solo_doi.solo12.limits import LARGEST_KD, LARGEST_KP
from solo_doi.solo12.state import JointCommand

from .faults import Cause, Fault

TICK = SENSE_DT
"""Period of the robot process and of the controller [s]."""
LOCKSTEP_POLL_SECONDS = 0.1
"""Duration of one poll for messages in lock-step [s]."""
DAMPING_GAIN = 0.2
"""Velocity gain of damped motors, as in the vendor's driver file [N m s/rad]."""
LARGEST_TILT = 1.2
"""Angle between base and level above which motors are damped, in bring-up too [rad]."""
FROZEN_AFTER = 0.020
"""Time after which an IMU that repeats exactly the same numbers is considered frozen [s]."""
LEAST_WALKING_VOLTAGE = 20.0
"""Battery voltage below which the robot lies down: an empty pack of six cells [V]."""
MEASURED_VOLTAGE = 5.0
"""Voltage above which a reading is one of a power board; boards without one report 0 [V]."""
STOPPED = str(Fault(Cause.OPERATOR_STOP))
"""Text of the fault that an operator's stop causes."""
LARGEST_GAINS = (LARGEST_KP, LARGEST_KD)
"""Largest safe kp [N m/rad] and kd [N m s/rad], for robots that can receive any gain."""


def damping_command(position: Array | None = None, kd: float = DAMPING_GAIN) -> JointCommand:
    """Return a damping command: velocity gain `kd` [N m s/rad], no position gain."""
    if position is None:
        position = np.zeros(NUM_JOINTS)
    return JointCommand(position=position, kp=0.0, kd=kd)
