"""The one interface behind LCM: twelve motors and an IMU at 1 kHz, simulated or real."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.solo12.constants import NUM_JOINTS, SENSE_DT, Array
from solo_doi.solo12.limits import LARGEST_KD, LARGEST_KP
from solo_doi.solo12.state import JointCommand

TICK = SENSE_DT
"""Period of the robot process and of the controller [s]."""


DAMPING = 0.2
"""Velocity gain of damped motors, as in the vendor's driver file [N m s/rad]."""


LARGEST_TILT, FROZEN_AFTER, LEAST_VOLTAGE = 1.2, 0.020, 20.0
"""What nothing that moves motors bears: an angle between base and level [rad], for how long an IMU may show the very
same numbers [s], a battery; a pack of six cells is flat there [V]."""
STOPPED = "stopped by the operator"
LARGEST_GAINS = LARGEST_KP, LARGEST_KD
"""Of a robot whose way to the motors carries any gain that is safe [N m/rad], [N m s/rad]."""


def damped(position: Array | None = None, kd: float = DAMPING) -> JointCommand:
    """Return the command that slows every joint and holds none."""
    return JointCommand(
        position=np.zeros(NUM_JOINTS) if position is None else position, kp=0.0, kd=kd
    )


def rights_command() -> str:
    """Return what gives this very interpreter raw Ethernet, real-time scheduling and locked memory, without root."""
    # Rights belong to the file that runs, which a virtual environment only links to.
    return (
        f"sudo setcap cap_net_raw,cap_sys_nice,cap_ipc_lock+ep {os.path.realpath(sys.executable)}"
    )


class RobotError(SoloError):
    """A robot that cannot be opened, or is not what it was said to be."""

    def __init__(self, message: str, since: float | None = None) -> None:
        """Say what is wrong, and on the robot's clock since when, unless it is since just now [s]."""
        super().__init__(message)
        self.since = since


@dataclass(frozen=True, kw_only=True)
class Sensors:
    """What a Solo12 measures, per joint in the order of `JOINT_NAMES`, vectors in the base frame."""

    time: float
    """When it was measured, on the robot's clock: monotonic, or simulated in lock-step [s]."""
    joint_position: Array  # (12,) [rad]
    joint_velocity: Array  # (12,) [rad/s]
    joint_torque: Array  # (12,) from motor currents [N m]
    angular_velocity_b: Array  # (3,) [rad/s]
    acceleration_b: Array  # (3,) what an accelerometer shows: +9.81 along z at rest [m/s^2]
    quaternion: Array  # (4,) attitude as the IMU gives it; its yaw starts anywhere
    ready: np.ndarray  # (12,) bool: motors that follow commands
    voltage: float = float("nan")
    """Of the battery; NaN where the robot cannot tell [V]."""
    command_lag: int = 0
    """Ticks since the motors last acknowledged a command."""
    lost: int = 0
    """Packets between PC and motors that were lost so far, both ways."""
    errors: np.ndarray = field(
        default_factory=lambda: np.zeros(NUM_JOINTS, dtype=np.int64)
    )  # (12,)
    """Error numbers of the motor drivers, 0 for none; over LCM only whether there is one. Joints of such drivers keep
    the numbers they had before."""
    faults: tuple[str, ...] = ()
    """What is wrong with the hardware, in words for people; what damps are `errors` and `ready`."""

    @property
    def finite(self) -> bool:
        """Whether every number is one."""
        numbers = np.concatenate((
            self.joint_position, self.joint_velocity, self.joint_torque,
            self.angular_velocity_b, self.acceleration_b, self.quaternion,
        ))  # fmt: skip
        return bool(np.isfinite(numbers).all())


class Robot(Protocol):
    """Sensors out, joint commands in, once per tick. No call blocks for longer than a tick."""

    paces: bool
    """Whether `sense` waits for the robot's own tick; if not, the caller keeps time."""

    @property
    def time(self) -> float:
        """The robot's own clock, on which its sensors and commands are timed [s]."""

    def start_clock(self, first_tick: float) -> None:
        """Set the simulated clock to the host's time of the first tick [s]; hardware ignores it."""

    @property
    def largest_gains(self) -> tuple[float, float]:
        """Largest kp [N m/rad] and kd [N m s/rad] that its motors can be told; the gate lets no others through."""

    def sense(self) -> Sensors | None:
        """Return what was measured in this tick; nothing if no news came in time."""

    def drive(self, command: JointCommand, observed: float) -> float:
        """Send what the motors shall do until the next call; a position gain of zero is damping and acts at once.

        `observed` is the time of the measurement behind the command [s]; returned is that of the command which acts
        now, an older one where a robot delays commands.
        """

    def stop(self, cause: str = STOPPED) -> None:
        """Give up whatever the robot does by itself: a person has asked for it, or the cause is another."""

    def close(self) -> None:
        """Leave the motors damped or off, and free what was held."""
