"""Snapshots of the page."""

from __future__ import annotations

import pytest

from deploy.common.faults import Cause
from deploy.common.safety_config import SafetyConfig
from deploy.common.state_machine import ControllerState
from deploy.console.page.page_server import encoded
from deploy.console.page.robot_view import STATE_WORDS, RobotView, motor_words
from deploy.messages.lcm_link import COMMAND_CHANNEL, STATE_CHANNEL, STATUS_CHANNEL, blank
from tests.deploy.world import shipped

ALL_READY = 0xFFF


@pytest.fixture
def view() -> RobotView:
    return RobotView(shipped().contract, frozenset({0, 2}), SafetyConfig())


def test_nothing_is_known_before_the_first_message(view: RobotView) -> None:
    snapshot = view.snapshot()
    assert snapshot["state"] is None
    assert snapshot["motors"] == "unknown: no message from the robot yet"
    assert view.state is None
    assert not view.is_stopped
    encoded(snapshot)


def test_the_layout_has_states_skills_and_joints(view: RobotView) -> None:
    layout = view.layout()
    assert [state["name"] for state in layout["states"]] == [state.name for state in STATE_WORDS]
    assert {*STATE_WORDS} == {*ControllerState}
    assert layout["skills"] == [0, 2]
    assert layout["command"]["steerable"] is False
    assert len(layout["joints"]) == 12


def test_a_walking_robot_is_described(view: RobotView) -> None:
    state = blank(STATE_CHANNEL)
    state.sequence = 5
    state.time_ns = 2_000_000_000
    state.ready = ALL_READY
    state.quaternion = [1.0, 0.0, 0.0, 0.0]
    status = blank(STATUS_CHANNEL)
    status.state = ControllerState.WALK
    status.skill = 2
    status.lateness = 300e-6
    command = blank(COMMAND_CHANNEL)
    command.state_sequence = 5
    command.time_ns = 2_003_000_000
    command.position = [0.25] * 12
    for channel, message in (
        (STATE_CHANNEL, state),
        (STATUS_CHANNEL, status),
        (COMMAND_CHANNEL, command),
    ):
        view.update(channel, message)
    snapshot = view.snapshot()
    assert (snapshot["state"], snapshot["skill"]) == ("WALK", 2)
    assert {"STOP", "SIT", "WALK", "DAMP"} <= {*snapshot["possible"]}
    assert "STAND" not in snapshot["possible"]
    assert snapshot["motors"] == "follow skill 2: keep away from the legs"
    assert snapshot["state_age_ms"] == pytest.approx(3.0)
    assert snapshot["target"] == [0.25] * 12
    assert snapshot["lateness"] == [0, 0, 0, 1, 0, 0, 0, 0, 0]
    assert snapshot["fault"] is None
    encoded(snapshot)


@pytest.mark.parametrize(
    ("seconds", "place"), [(0.0, 0), (50e-6, 0), (51e-6, 1), (0.001, 4), (0.0101, 8), (1.0, 8)]
)
def test_lateness_falls_into_classes(view: RobotView, seconds: float, place: int) -> None:
    view.count_lateness(seconds)
    assert view.lateness.index(1) == place


def test_stops_are_recognised(view: RobotView) -> None:
    status = blank(STATUS_CHANNEL)
    status.state = ControllerState.READY
    view.update(STATUS_CHANNEL, status)
    assert not view.is_stopped
    state = blank(STATE_CHANNEL)
    state.fault = Cause.OPERATOR_STOP
    view.update(STATE_CHANNEL, state)
    assert view.is_stopped
    state = blank(STATE_CHANNEL)
    view.update(STATE_CHANNEL, state)
    status.state = ControllerState.FAULT
    assert view.is_stopped


def test_the_motors_are_put_into_words() -> None:
    state = blank(STATE_CHANNEL)
    status = blank(STATUS_CHANNEL)
    state.ready = ALL_READY & ~0b11
    assert motor_words(state, status) == "2 of 12 do not follow: FL_HAA, FL_HFE"
    state.ready = ALL_READY
    assert motor_words(state, None).startswith("damped")
    status.state = ControllerState.READY
    assert motor_words(state, status).startswith("hold positions")
    state.fault = Cause.OPERATOR_STOP
    assert "stopped by the operator" in motor_words(state, status)


def test_a_fault_is_put_into_words(view: RobotView) -> None:
    status = blank(STATUS_CHANNEL)
    status.state = ControllerState.FAULT
    status.fault = Cause.TILT
    status.fault_value = 1.1
    view.update(STATUS_CHANNEL, status)
    assert view.snapshot()["fault"] == "the base is tilted by 1.10 rad"


def test_a_state_of_another_version_is_not_shown(view: RobotView) -> None:
    status = blank(STATUS_CHANNEL)
    status.state = 99
    view.update(STATUS_CHANNEL, status)
    assert view.snapshot()["state"] is None


def test_numbers_that_are_not_finite_become_null() -> None:
    content = {"a": [float("nan"), 1.0], "b": (float("inf"),)}
    assert encoded(content) == '{"a": [null, 1.0], "b": [null]}'
