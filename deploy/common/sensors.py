"""Sensor readings of a Solo12 in one tick."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from solo_doi.solo12.constants import NUM_JOINTS, SENSE_DT, Array


@dataclass(frozen=True, kw_only=True)
class Sensors:
    """Sensor readings, per joint in the order of `JOINT_NAMES`, vectors in the base frame."""

    time: float
    """Time of measurement on the robot's clock: monotonic, or simulated in lock-step [s]."""
    joint_position: Array
    """(12,) [rad]."""
    joint_velocity: Array
    """(12,) [rad/s]."""
    joint_torque: Array
    """(12,) from motor currents [N m]."""
    angular_velocity_b: Array
    """(3,) [rad/s]."""
    acceleration_b: Array
    """(3,) accelerometer reading: +9.81 along z at rest [m/s^2]."""
    quaternion: Array
    """(4,) attitude from the IMU; its initial yaw is arbitrary."""
    ready: np.ndarray
    """(12,) bool: motors that follow commands."""
    voltage: float = float("nan")
    """Battery voltage; NaN where the robot does not measure it [V]."""
    command_lag: int = 0
    """Ticks since the motors last acknowledged a command."""
    elapsed: float = SENSE_DT
    """Time since the measurement before, on the clock of the hardware that measures [s]."""
    lost: int = 0
    """Packets lost so far between PC and motors, in both directions."""
    errors: np.ndarray = field(default_factory=lambda: np.zeros(NUM_JOINTS, dtype=np.int64))
    """(12,) error codes of the motor drivers, 0 for no error; LCM carries one bit per joint.

    Joints of a driver in error keep their previous readings."""
    faults: tuple[str, ...] = ()
    """Hardware problems as text for the operator; only `errors` and `ready` cause damping."""

    @property
    def finite(self) -> bool:
        """True if every measured number is finite."""
        numbers = np.concatenate((
            self.joint_position, self.joint_velocity, self.joint_torque,
            self.angular_velocity_b, self.acceleration_b, self.quaternion,
        ))  # fmt: skip
        return bool(np.isfinite(numbers).all())
