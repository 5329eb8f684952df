"""Margins of the safety checks, from messages."""

from __future__ import annotations

import math

import pytest

from deploy.common.safety_config import SafetyConfig
from deploy.console.page.margins import Margin, margins
from deploy.messages.generated import controller_status, joint_command, robot_state
from deploy.messages.lcm_link import COMMAND_CHANNEL, STATE_CHANNEL, STATUS_CHANNEL, blank

CONFIG = SafetyConfig()
LAG = (0.015, 0.01, 0.02)


def messages() -> tuple[robot_state, controller_status, joint_command]:
    """Return messages of a level robot at rest."""
    state = blank(STATE_CHANNEL)
    state.quaternion = [1.0, 0.0, 0.0, 0.0]
    state.voltage = math.nan
    status = blank(STATUS_CHANNEL)
    status.gravity = [0.0, 0.0, -1.0]
    return state, status, blank(COMMAND_CHANNEL)


def by_name(
    state: robot_state, status: controller_status | None, command: joint_command | None
) -> dict[str, Margin]:
    found = margins(state, status, command, CONFIG, LAG)
    return {margin.name: margin for margin in found}


def test_the_joint_nearest_to_its_limit_counts() -> None:
    state, status, command = messages()
    state.joint_position[2] = -1.35  # half of a knee's 2.7 rad
    state.joint_position[0] = 0.4
    state.joint_torque[5] = -2.6
    found = by_name(state, status, command)
    assert found["joint position"].where == "FL_KFE"
    assert found["joint position"].share == pytest.approx(0.5)
    assert (found["joint torque"].where, found["joint torque"].share) == ("FR_KFE", 1.0)
    assert found["joint velocity"].share == 0.0


def test_tilt_and_disagreement_are_angles() -> None:
    state, status, command = messages()
    status.gravity = [math.sin(0.5), 0.0, -math.cos(0.5)]
    found = by_name(state, status, command)
    assert found["tilt"].value == pytest.approx(0.5)
    assert found["tilt"].share == pytest.approx(0.5 / CONFIG.tilt)
    assert found["IMU against estimate"].value == pytest.approx(0.5)


def test_times_are_in_milliseconds() -> None:
    state, status, command = messages()
    command.time_ns = 300_000_000
    command.heartbeat_ns = 50_000_000
    state.delay_ns = 15_000_000
    found = by_name(state, status, command)
    assert found["silence of the operator"].value == pytest.approx(250)
    assert found["silence of the operator"].share == pytest.approx(0.5)
    assert found["sensor to torque"].share == pytest.approx(0.75)


@pytest.mark.parametrize(("voltage", "share"), [(25.2, 0.0), (20.0, 1.0), (26.0, 0.0)])
def test_a_low_battery_has_no_margin(voltage: float, share: float) -> None:
    state, status, command = messages()
    state.voltage = voltage
    assert by_name(state, status, command)["battery"].share == pytest.approx(share)


def test_unknown_quantities_are_left_out() -> None:
    state, status, command = messages()
    status.gravity = [0.0, 0.0, 0.0]
    joints = {"joint position", "joint velocity", "joint torque"}
    assert {*by_name(state, status, command)} == joints
    assert {*by_name(state, None, None)} == joints
