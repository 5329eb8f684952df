"""Time series of a log."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from deploy.common.state_machine import ControllerState
from deploy.logs.log_series import StateSpan, base_series, state_spans
from deploy.messages.conversions import state_message
from deploy.messages.generated import robot_state
from deploy.messages.lcm_link import COMMAND_CHANNEL, Mode, blank
from deploy.robots.simulated.mujoco_solo import MujocoSolo
from solo_doi.solo12.constants import CONTROL_SETUPS
from solo_doi.solo12.sensors import SensorNoise
from solo_doi.solo12.state import JointCommand, standing

SILENT = SensorNoise(angular_velocity=0.0, acceleration=0.0, attitude=0.0, joint_velocity=0.0)


@pytest.fixture(scope="module")
def states() -> list[robot_state]:
    """States of a robot that is set down standing and keeps still."""
    setup = CONTROL_SETUPS["locomotion"]
    robot = MujocoSolo(noise=SILENT)
    robot._body.place(standing(setup, 1), np.zeros(3), np.zeros(3))
    found = []
    for _ in range(600):
        command = JointCommand(position=setup.default_pose, kp=setup.kp, kd=setup.kd)
        robot.drive(command, robot.time)
        found.append(state_message(robot.sense()))
    return found


def test_a_standing_robot_is_level_still_and_on_four_feet(states: list[robot_state]) -> None:
    series = base_series(states)
    assert len(series.time) == 600
    assert series.contact[-1].all()
    assert abs(series.forward[-1]) < 0.02
    assert series.tilt[-1] < 0.05


def test_states_with_other_numbers_are_left_out(states: list[robot_state]) -> None:
    broken = state_message(MujocoSolo(noise=SILENT).sense())
    broken.joint_torque = [float("nan")] * 12
    assert len(base_series([*states[:10], broken]).time) == 10
    assert len(base_series([]).time) == 0


def test_spans_come_from_the_report(tmp_path: Path) -> None:
    history = [
        {"time": 1.0, "state": "IDLE"},
        {"time": 2.0, "state": "WALK", "skill": 3},
        {"time": 4.0, "state": "FAULT"},
    ]
    (tmp_path / "controller.json").write_text(json.dumps({"history": history}))
    spans = state_spans(tmp_path, [], 5.0)
    assert spans == [
        StateSpan(ControllerState.IDLE, 1.0, 2.0),
        StateSpan(ControllerState.WALK, 2.0, 4.0, 3),
        StateSpan(ControllerState.FAULT, 4.0, 5.0),
    ]
    assert [span.label for span in spans] == ["IDLE", "WALK 3", "FAULT"]


def test_without_a_report_they_come_from_the_commands(tmp_path: Path) -> None:
    commands = []
    for milliseconds, mode, skill in ((0, Mode.DAMP, -1), (1, Mode.MOVE, -1), (2, Mode.MOVE, -1)):
        command = blank(COMMAND_CHANNEL)
        command.time_ns = milliseconds * 1_000_000
        command.mode = mode
        command.skill = skill
        commands.append(command)
    assert state_spans(tmp_path, commands, 0.003) == [
        StateSpan(ControllerState.IDLE, 0.0, 0.001),
        StateSpan(ControllerState.READY, 0.001, 0.003),
    ]
    assert state_spans(tmp_path, [], 1.0) == []
