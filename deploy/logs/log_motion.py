"""Motion of the robot in a log, for a video: joints, orientation, estimated way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deploy.common.robot_constants import TICK
from deploy.messages.generated import robot_state
from solo_doi.solo12.constants import Array
from solo_doi.solo12.kinematics import foot_positions
from solo_doi.solo12.rotations import from_rpy, multiply, rotate, to_rpy

from .log_series import recorded_estimates


@dataclass(frozen=True)
class LogMotion:
    """Poses of one robot at even times; its first heading is along the world's x axis."""

    position_w: Array  # (T, 1, 3) estimated way, height with the lowest foot on the ground [m]
    quaternion: Array  # (T, 1, 4)
    joint_position: Array  # (T, 1, 12) [rad]
    terrain: None = None


def log_motion(states: list[robot_state], period: float) -> LogMotion:
    """Return the motion at multiples of `period` [s]; states with other numbers are left out."""
    way = np.zeros(3)
    first_yaw: float | None = None
    next_time = -np.inf
    rows = []
    for sensors, estimate in recorded_estimates(states):
        if first_yaw is None:
            first_yaw = float(to_rpy(sensors.quaternion)[2])
        level = multiply(np.array(from_rpy(0.0, 0.0, -first_yaw)), sensors.quaternion)
        way = way + TICK * rotate(level, estimate.velocity_b)
        if sensors.time < next_time:
            continue
        next_time = max(next_time, sensors.time) + period
        feet = rotate(level[None], foot_positions(sensors.joint_position))
        place = [way[0], way[1], -feet[:, 2].min()]
        rows.append(np.concatenate([place, level, sensors.joint_position]))
    table = np.array(rows).reshape(-1, 1, 19)
    return LogMotion(table[..., :3], table[..., 3:7], table[..., 7:])
