"""Interface of every robot backend: twelve motors and an IMU at 1 kHz, simulated or real."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from deploy.common.robot_constants import STOPPED
from deploy.common.sensors import Sensors
from solo_doi.solo12.state import JointCommand


class Robot(Protocol):
    """Sensors out, joint commands in, once per tick. No call blocks for longer than a tick."""

    paces: bool
    """True if `sense` waits for the robot's next tick; otherwise the caller sets the pace."""

    @property
    def time(self) -> float:
        """Time on the robot's clock, used for its sensors and commands [s]."""

    def start_clock(self, first_tick: float) -> None:
        """Set the simulated clock to the host's time of the first tick [s]; hardware ignores it."""

    @property
    def largest_gains(self) -> tuple[float, float]:
        """Largest kp [N m/rad] and kd [N m s/rad] the motors accept; the gate refuses more."""

    @property
    def rejected(self) -> Counter[str]:
        """Number of measurements that the driver has replaced, by kind."""

    def sense(self) -> Sensors | None:
        """Return the measurement of this tick; None if no new one came in time."""

    def drive(self, command: JointCommand, observed: float) -> float:
        """Send the command that the motors follow until the next call.

        A position gain of zero is damping and acts at once. `observed` is the time of the
        measurement that the command is based on [s]. Robots may delay commands, so an earlier
        command may act now. Returns the measurement time of the command that acts now [s].
        """

    def stop(self, cause: str = STOPPED) -> None:
        """Abort the robot's own motions, such as bring-up; `cause` names the reason."""

    def close(self) -> None:
        """Leave the motors damped or off, and free all resources."""
