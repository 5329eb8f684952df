"""Checks of the IMU of a robot at rest: gravity, angular velocity, level, axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from deploy.common.robot_constants import TICK
from deploy.robots.process.gate_config import GateConfig
from solo_doi.solo12.constants import GRAVITY, Array

from .check_row import CheckRow, judged_row

GRAVITY_ERROR = 0.5
"""Largest error of the measured gravity [m/s^2]."""
TURN_RATE = 0.1
"""Largest angular velocity at rest [rad/s]."""
TILT = 0.35
"""Largest tilt of a robot that hangs or lies level [rad]."""
DISAGREEMENT = 0.1
"""Largest angle between the vertical by accelerometer and by attitude filter [rad]."""


def judge_imu(seen: dict[str, Any], gate: GateConfig) -> Iterator[CheckRow]:
    """Judge the IMU's mean measurements; `gate` has the longest time of identical readings."""
    acceleration = np.array(seen["acceleration"])
    size = float(np.linalg.norm(acceleration))
    yield _judge_rest(
        size,
        float(np.linalg.norm(seen["gyroscope"])),
        is_frozen=seen["imu_same"] * TICK > gate.imu_frozen,
    )
    direction = acceleration / max(size, 1e-9)  # a dead accelerometer measures zero
    roll, pitch, _ = seen["attitude"]
    yield _judge_level(direction, roll, pitch)


def _judge_rest(size: float, turn_rate: float, *, is_frozen: bool) -> CheckRow:
    value = f"{size:.2f} m/s², {turn_rate:.3f} rad/s"
    advice = "Let the robot rest; check the IMU."
    if is_frozen:
        value += ", frozen"
        advice = "The IMU repeats the same numbers: check its cable, or replace it."
    return judged_row(
        "IMU at rest",
        value,
        f"{GRAVITY} within {GRAVITY_ERROR}, <= {TURN_RATE}, changing",
        advice,
        good=not is_frozen and abs(size - GRAVITY) <= GRAVITY_ERROR and turn_rate <= TURN_RATE,
    )


def _judge_level(direction: Array, roll: float, pitch: float) -> CheckRow:
    """Check that the robot is level, and that accelerometer and filter agree."""
    tilt = _angle(direction[2])
    up_by_filter = np.array(
        [-np.sin(pitch), np.sin(roll) * np.cos(pitch), np.cos(roll) * np.cos(pitch)]
    )
    apart = _angle(float(up_by_filter @ direction))
    return judged_row(
        "IMU level",
        f"{tilt:.2f} rad tilted, filter {apart:.2f} apart",
        f"<= {TILT}, <= {DISAGREEMENT} rad",
        "Level the robot. If it is level, the IMU is upside down or turned: its axes must be "
        "those of the base.",
        good=tilt <= TILT and apart <= DISAGREEMENT,
    )


def _angle(cosine: float) -> float:
    return float(np.arccos(np.clip(cosine, -1.0, 1.0)))
