"""Distance of the robot from the thresholds of the safety checks, as the page shows it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from deploy.common.robot_constants import LEAST_WALKING_VOLTAGE
from deploy.common.safety_config import SafetyConfig
from deploy.messages.generated import controller_status, joint_command, robot_state
from solo_doi.solo12.constants import JOINT_NAMES
from solo_doi.solo12.limits import SAFETY_LIMITS
from solo_doi.solo12.rotations import projected_gravity

FULL_VOLTAGE = 25.2
"""Voltage of a full pack of six cells [V]."""


@dataclass(frozen=True)
class Margin:
    """One safety check: the measured value and its threshold."""

    name: str
    value: float
    limit: float
    unit: str
    share: float
    """Used share of the allowed range: 0 is far away, 1 is a fault."""
    where: str = ""
    """Joint with the smallest margin."""

    def to_json(self) -> dict[str, object]:
        """Return the margin as JSON content."""
        return asdict(self)


def margins(
    state: robot_state,
    status: controller_status | None,
    command: joint_command | None,
    config: SafetyConfig,
    motor_lag: tuple[float, float, float],
) -> Iterator[Margin]:
    """Return all checks that can be seen in messages.

    `motor_lag` are nominal, smallest and largest delay from sensor to torque [s].
    """
    yield from _joint_margins(state)
    if status is not None:
        yield from _attitude_margins(state, status, config)
    if command is not None and command.heartbeat_ns:
        silence = 1e-6 * (command.time_ns - command.heartbeat_ns)
        yield _margin("silence of the operator", silence, 1000 * config.operator_age, "ms")
    if state.delay_ns > 0:
        yield _margin("sensor to torque", 1e-6 * state.delay_ns, 1000 * motor_lag[2], "ms")
    if math.isfinite(state.voltage):
        used = (FULL_VOLTAGE - state.voltage) / (FULL_VOLTAGE - LEAST_WALKING_VOLTAGE)
        yield Margin("battery", state.voltage, LEAST_WALKING_VOLTAGE, "V", max(0.0, used))


def _joint_margins(state: robot_state) -> Iterator[Margin]:
    """Return position, velocity and torque of the joint that is nearest to its limit."""
    rows = (
        ("joint position", state.joint_position, SAFETY_LIMITS.position, "rad"),
        ("joint velocity", state.joint_velocity, SAFETY_LIMITS.velocity, "rad/s"),
        ("joint torque", state.joint_torque, SAFETY_LIMITS.torque, "N m"),
    )
    for name, values, limit, unit in rows:
        limits = np.broadcast_to(limit, len(JOINT_NAMES))
        shares = np.abs(values) / limits
        worst = int(np.argmax(shares))
        yield Margin(
            name,
            float(values[worst]),
            float(limits[worst]),
            unit,
            float(shares[worst]),
            JOINT_NAMES[worst],
        )


def _attitude_margins(
    state: robot_state, status: controller_status, config: SafetyConfig
) -> Iterator[Margin]:
    estimated = np.array(status.gravity)
    if not estimated.any():
        return  # no estimate yet
    yield _margin("tilt", _angle_between(estimated, np.array([0.0, 0.0, -1.0])), config.tilt, "rad")
    measured = projected_gravity(np.array(state.quaternion))
    angle = _angle_between(estimated, measured)
    yield _margin("IMU against estimate", angle, config.tilt_disagreement, "rad")


def _angle_between(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.arccos(np.clip(first @ second, -1.0, 1.0)))


def _margin(name: str, value: float, limit: float, unit: str) -> Margin:
    return Margin(name, value, limit, unit, abs(value) / limit)
