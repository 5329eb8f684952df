"""Scripts follow the controller's states.

Fresh requests of an operator are granted once, in order.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from deploy.common.state_machine import ControllerState
from deploy.controller.controller import Controller
from deploy.messages.lcm_link import OPERATOR_CHANNEL, Message, ReplayFilter, Request, blank
from deploy.messages.operator_request import OperatorRequest
from deploy.operators.operators import SCRIPT_END_PAUSE, SETTLE, Remote, Script
from tests.deploy.stage import QUICK, Stage, Wire, shipped


def requests(
    script: Script, state: ControllerState, start: float, seconds: float
) -> list[OperatorRequest]:
    """Return the requests of a script in a lasting state, without heartbeats, at 10 Hz."""
    found = [script.next_request(state, start + k / 10) for k in range(round(10 * seconds) + 1)]
    return [asked for asked in found if asked.request is not Request.NOTHING]


def test_a_script_goes_from_lying_to_lying() -> None:
    """It stands up, walks with each skill for its time, stops, lies down and ends a while later."""
    script = Script((2, 4), 3.0)
    assert requests(script, ControllerState.IDLE, 0.0, SETTLE) == []
    assert script.next_request(ControllerState.IDLE, 0.6) == OperatorRequest(Request.STAND)
    assert requests(script, ControllerState.STAND, 0.7, 5.0) == []
    assert requests(script, ControllerState.READY, 6.0, SETTLE) == []
    assert script.next_request(ControllerState.READY, 6.6) == OperatorRequest(Request.WALK, 2)
    assert requests(script, ControllerState.WALK, 7.0, 2.9) == []
    assert script.next_request(ControllerState.WALK, 10.0) == OperatorRequest(Request.WALK, 4)
    assert requests(script, ControllerState.WALK, 10.1, 2.8) == []
    assert script.next_request(ControllerState.WALK, 13.0) == OperatorRequest(Request.STOP)
    assert requests(script, ControllerState.STAND, 13.1, 1.0) == []
    assert requests(script, ControllerState.READY, 15.0, SETTLE) == []
    assert script.next_request(ControllerState.READY, 15.6) == OperatorRequest(Request.SIT)
    assert requests(script, ControllerState.SIT, 15.7, 2.0) == []
    assert requests(script, ControllerState.IDLE, 18.0, SCRIPT_END_PAUSE) == []
    assert not script.done
    script.next_request(ControllerState.IDLE, 18.0 + SCRIPT_END_PAUSE + 0.1)
    assert script.done


@pytest.mark.parametrize("seen", [(ControllerState.WALK, ControllerState.STAND),
    (ControllerState.WALK,), (ControllerState.STAND,)])  # fmt: skip
def test_a_script_accepts_an_end_of_its_walk(seen: tuple[ControllerState, ...]) -> None:
    """The controller ended the walk at its bound; the script lies down and never walks again.

    Over LCM, short states may be missed.
    """
    script = Script((2, 4), 3.0)
    assert [one.request for one in requests(script, ControllerState.READY, 0.0, 0.6)] == [
        Request.WALK
    ]
    for number, state in enumerate(seen):
        assert requests(script, state, 1.0 + number, 0.5) == []
    assert {one.request for one in requests(script, ControllerState.READY, 4.0, 2.0)} == {
        Request.SIT
    }
    assert requests(script, ControllerState.IDLE, 9.0, SCRIPT_END_PAUSE + 0.1) == []
    assert script.done


@pytest.mark.parametrize("state", [ControllerState.FAULT, ControllerState.DAMP])
def test_a_script_ends_after_a_fault(state: ControllerState) -> None:
    """Only an operator may re-arm."""
    script = Script((0,), 3.0)
    script.next_request(ControllerState.WALK, 0.0)
    assert requests(script, state, 1.0, 5.0) == []
    assert script.done


def test_a_script_may_start_at_any_time() -> None:
    """The clock does not start at zero."""
    script = Script((0,), 3.0)
    assert requests(script, ControllerState.IDLE, 1e6, SETTLE) == []
    assert script.next_request(ControllerState.IDLE, 1e6 + 0.6).request is Request.STAND


def test_a_script_waits_until_the_robot_has_come_to_rest() -> None:
    """The configured time counts from the first moment at rest."""
    rests = [False]
    script = Script((0,), 3.0, settle=2.0, at_rest=lambda: rests[0])
    assert requests(script, ControllerState.IDLE, 0.0, 9.0) == []
    rests[0] = True
    assert requests(script, ControllerState.IDLE, 9.1, 1.9) == []
    assert script.next_request(ControllerState.IDLE, 11.1).request is Request.STAND


def test_a_script_hands_on_its_velocity() -> None:
    """Every request to walk contains it."""
    velocity = np.array([0.5, 0.0, 0.1])
    script = Script((0,), 1.0, velocity)
    script.next_request(ControllerState.READY, 0.0)
    assert script.next_request(ControllerState.READY, 1.0).velocity is velocity


def test_a_script_leads_a_controller_to_its_end() -> None:
    """The run starts and ends lying, without a fault, with both skills."""
    stage, script = Stage(config=QUICK), Script((1, 3), 0.3)
    stage.controller = Controller(shipped(), 1, QUICK)
    skills = set()
    for _ in range(6000):
        asked = script.next_request(stage.state, stage.now_ns * 1e-9)
        if script.done:
            break
        skills.add(stage.tick(asked.request, skill=asked.skill, velocity=asked.velocity).skill)
    assert script.done
    assert (stage.state, stage.controller.fault) == (ControllerState.IDLE, None)
    assert skills == {-1, 1, 3}


# --- People --------------------------------------------------------------------------------------


def said(
    request: int = Request.STAND, *, age: float = 0.0, lifetime: float = 0.5, **changes: Any
) -> Message:
    """Return a message of an operator's program."""
    message = blank(OPERATOR_CHANNEL)
    message.time_ns = time.monotonic_ns() - round(age * 1e9)
    message.expires_ns = message.time_ns + round(lifetime * 1e9)
    message.request, message.skill, message.velocity = request, 2, [0.5, 0.0, -0.25]
    for name, value in changes.items():
        setattr(message, name, value)
    return message


def test_requests_are_granted_in_order_and_once() -> None:
    """Each tick grants one request; without a message there is none."""
    wire = Wire()
    remote = Remote(wire)  # type: ignore[arg-type]
    assert remote.next_request(ControllerState.IDLE, 0.0) is None
    for request in (Request.STAND, Request.NOTHING, Request.WALK):
        wire.publish(OPERATOR_CHANNEL, said(request))
    found = [remote.next_request(ControllerState.IDLE, 0.0) for _ in range(4)]
    assert [None if asked is None else asked.request for asked in found] == [1, 0, 2, None]
    assert found[2] is not None
    assert found[2].skill == 2
    np.testing.assert_array_equal(found[2].velocity, [0.5, 0.0, -0.25])
    assert remote.dropped == 0
    assert not remote.done


@pytest.mark.parametrize("request_number", [7, -1, 100])
def test_unknown_requests_are_dropped(request_number: int) -> None:
    """A newer operator program may have more requests."""
    wire = Wire()
    remote = Remote(wire)  # type: ignore[arg-type]
    wire.publish(OPERATOR_CHANNEL, said(request_number))
    assert (remote.next_request(ControllerState.IDLE, 0.0), remote.dropped) == (None, 1)


def test_old_requests_are_dropped() -> None:
    """Dropped requests are expired, out of order, repeated or from the future."""
    wire = Wire()
    remote = Remote(wire)  # type: ignore[arg-type]
    before, good = said(age=0.1), said()
    for message in (said(age=1.0), good, good, before, said(age=-10.0)):
        wire.publish(OPERATOR_CHANNEL, message)
    assert remote.next_request(ControllerState.IDLE, 0.0) is not None
    assert remote.next_request(ControllerState.IDLE, 0.0) is None
    assert remote.dropped == 4


def test_freshness_is_exact() -> None:
    """A message must be newer than all before, not from the future, and not expired now."""
    fresh = ReplayFilter()
    message = said(time_ns=100, expires_ns=200)
    assert not fresh.accept(message, 99)
    assert not fresh.accept(message, 200)
    assert fresh.accept(message, 100)
    assert not fresh.accept(message, 150)
    assert fresh.accept(said(time_ns=101, expires_ns=200), 199)
