"""Thresholds of the gate, the last line of defence in the robot process."""

from __future__ import annotations

from dataclasses import dataclass

from deploy.common.robot_constants import FROZEN_AFTER, LARGEST_TILT, LEAST_WALKING_VOLTAGE
from solo_doi.solo12.limits import LARGEST_KD, LARGEST_KP


@dataclass(frozen=True, kw_only=True)
class GateConfig:
    """Thresholds of the gate. Joint limits are in `solo_doi.solo12.limits`."""

    step: float = 1.6
    """Largest change of a joint target from one command to the next; skills need 0.63 [rad]."""
    first_step: float = 0.6
    """Largest distance between the first target and its measured joint [rad].

    It allows a start at the mechanical stop: the first target is then at the limit of targets.
    """
    rate: float = 20.0
    """Largest sustained rate of a joint target, both directions summed [rad/s].

    It is the leak rate of a bucket with capacity `step`. Skills fill at most 0.68 rad of it.
    """
    kp: float = LARGEST_KP
    """Largest position gain [N m/rad]."""
    kd: float = LARGEST_KD
    """Largest velocity gain [N m s/rad]."""
    torque: tuple[float, float, float] = (5.5, 6.5, 10.5)
    """Largest torque kp * (target - position), per HAA, HFE, KFE [N m].

    Twice the maximum of the five skills in PyBullet and on the virtual board. Drivers clip at
    2.5 N m. A command above these values is based on a wrong state of the robot.
    """
    expiry: float = 0.020
    """Longest time for which a command is followed, even if its own expiry is later [s]."""
    hold: float = 0.060
    """Longest time for which the last command is held while fresh ones are late [s].

    Walking robots stay within 0.15 rad of level through holds of this length.
    """
    observed_age: float = 0.060
    """Largest age of the measurement that a command is based on [s].

    A policy step of 20 ms plus the largest trained delay of 25 ms, with a margin for a stall.
    A measurement from the future is refused too: the latency padding would wait for it.
    """
    operator_age: float = 0.6
    """Longest silence of the operator [s]."""
    tilt: float = LARGEST_TILT
    """Largest angle between base and level [rad]."""
    command_lag: int = 10
    """Largest number of ticks without an acknowledgement by the motors."""
    lost_share: int = 10
    """Largest number of packets lost between PC and motors, both ways, per 100 received.

    A good cable loses no packets.
    """
    sensor_age: float = 0.005
    """Longest time without new measurements [s]."""
    encoder_jump: float = 0.05
    """Largest change of a joint position beyond what the largest joint velocity explains [rad]."""
    imu_frozen: float = FROZEN_AFTER
    """Longest time with identical IMU values [s]."""
    voltage: float = LEAST_WALKING_VOLTAGE
    """Lowest battery voltage [V]."""
    disarmed_after: float = 0.015
    """Stall of this process after which motors that are all off were switched off by the board."""
    voltage_patience: float = 0.5
    """Time below the lowest voltage after which the battery counts as empty [s]."""
