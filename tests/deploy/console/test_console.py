"""The console: requests are signed and sent in order; silence is sent as silence."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from deploy.common.faults import Cause
from deploy.common.state_machine import ControllerState
from deploy.console.console import Console, fault_hint, operate
from deploy.console.gamepad import Gamepad
from deploy.console.guided import GuidedScript
from deploy.console.keyboard import Keyboard
from deploy.messages.lcm_link import OPERATOR, STATUS, Request, blank
from deploy.messages.operator_request import OperatorRequest, operator_message, operator_request_of
from tests.deploy.robots.process.test_robot_process import Bench
from tests.deploy.world import MS, WRONG_KEY, Wire, WireLink, World


@dataclass
class FakeLink:
    """A link that remembers what was sent, and answers with a status."""

    sent: list[Any] = field(default_factory=list)
    state: int = ControllerState.IDLE
    fault: int = 0
    robot_fault: int = 0

    def subscribe(self, channel: str, handler: Any) -> None:  # a function
        """Keep the console's handler."""
        assert channel == STATUS
        self._handler = handler

    def publish(self, channel: str, message: Any) -> None:  # generated classes have no types
        """Remember."""
        assert channel == OPERATOR
        self.sent.append(message)

    def receive(self) -> None:
        """Tell what the controller does."""
        status = blank(STATUS)
        status.state, status.fault, status.skill, status.robot_fault = (
            self.state,
            self.fault,
            2,
            self.robot_fault,
        )
        status.time_ns = time.monotonic_ns()
        self._handler(status, b"")


class Keys:
    """A device with requests from a list, one list per period."""

    help = "press something\nor nothing"
    can_rearm = True
    rearm_key = "r"
    velocity = np.array([0.1, 0.0, 0.0])

    def __init__(self, *looks: tuple[list[OperatorRequest], bool]) -> None:
        """Give these looks, then ask to end."""
        self._looks = [*looks, ([OperatorRequest(Request.QUIT)], True)]
        self.given_back = False

    def __enter__(self) -> Keys:
        """Be taken."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Remember that it was given back."""
        self.given_back = True

    def read(
        self, seconds: float, state: ControllerState | None
    ) -> tuple[list[OperatorRequest], bool]:
        """Give the next look."""
        return self._looks.pop(0) if self._looks else ([], True)


def run(device: Keys, link: FakeLink) -> str:
    """Operate until the device ends it; return what was shown."""
    shown: list[str] = []
    operate(device, link, lambda: False, shown.append)  # type: ignore[arg-type]
    assert device.given_back
    return "".join(shown)


def test_requests_are_sent_in_order_and_every_look_is_a_sign_of_life() -> None:
    """One number after the other, of one session, each with its expiry."""
    link = FakeLink()
    run(
        Keys(
            ([OperatorRequest(Request.STAND), OperatorRequest(Request.WALK, 3)], True), ([], True)
        ),
        link,
    )
    assert [(sent.request, sent.skill) for sent in link.sent] == [
        (Request.STAND, -1), (Request.WALK, 3), (Request.NOTHING, -1), (Request.SIT, -1),
    ]  # fmt: skip
    assert [sent.sequence for sent in link.sent] == [1, 2, 3, 4]
    assert len({sent.session for sent in link.sent}) == 1
    assert all(sent.time_ns < sent.expires_ns <= sent.time_ns + 200_000_000 for sent in link.sent)


def test_every_message_has_the_velocity_that_is_commanded_now() -> None:
    """One that is lost must not leave the robot walking as before."""
    link = FakeLink()
    run(Keys(([OperatorRequest(Request.WALK, 3)], True), ([], True)), link)
    assert [sent.velocity for sent in link.sent] == [[0.1, 0.0, 0.0]] * 3


def test_an_absent_operator_sends_nothing() -> None:
    """A gamepad that was pulled out is silence, which the controller takes for a fault."""
    link = FakeLink()
    run(Keys(([], False), ([], False)), link)
    assert [sent.request for sent in link.sent] == [Request.SIT]


def test_a_stop_is_repeated_until_re_armed() -> None:
    """A message may be lost, and a robot process may start after the status shows DAMP."""
    link = FakeLink(state=ControllerState.DAMP)
    stop, re_arm, walk = (
        OperatorRequest(Request.DAMP),
        OperatorRequest(Request.REARM),
        OperatorRequest(Request.WALK),
    )
    device = Keys(
        ([stop], True), ([], True), ([], False), ([walk], True), ([stop], True),
        ([re_arm, stop], True), ([], True), ([re_arm], True), ([], True),
    )  # fmt: skip
    run(device, link)
    assert [Request(sent.request).name for sent in link.sent] == [
        "DAMP", "DAMP", "DAMP", "DAMP", "WALK", "DAMP", "REARM", "DAMP", "DAMP", "DAMP", "REARM",
        "NOTHING", "SIT",
    ]  # fmt: skip


def test_a_robot_process_that_starts_late_still_hears_the_stop() -> None:
    """Messages sent after the key was pressed still stop a robot process that starts late."""
    link, bench = FakeLink(), Bench()
    run(Keys(([OperatorRequest(Request.DAMP)], True), *[([], True)] * 3), link)
    message = link.sent[2]
    bench.operator(message.request)
    assert bench.gate.fault is not None
    assert bench.gate.fault.cause is Cause.OPERATOR_STOP


def test_the_console_says_what_happens() -> None:
    """In one line; a fault in words, with what to press."""
    shown: list[str] = []
    operate(
        Keys(), FakeLink(state=ControllerState.WALK), iter([False, True]).__next__, shown.append
    )  # type: ignore[arg-type]
    assert "skill 2  WALK  +0.00 m/s" in "".join(shown)
    assert "FAULT: the base is tilted by 0.00 rad  (r re-arms)" in run(
        Keys(([], True)), FakeLink(state=ControllerState.FAULT, fault=Cause.TILT)
    )


def test_the_console_knows_what_each_device_can_do_after_a_fault() -> None:
    """A gamepad has no r, and a script that a person begins is over."""
    for kind in (Keyboard, Gamepad):
        assert fault_hint(kind) == f"{kind.rearm_key} re-arms"  # type: ignore[arg-type]
        assert f"{kind.rearm_key} re-arm" in kind.help
    assert fault_hint(GuidedScript) == "q ends"  # type: ignore[arg-type]
    assert "re-arm" not in GuidedScript.help
    device = Keys(([], True))
    device.can_rearm = False
    assert "FAULT: the base is tilted by 0.00 rad  (q ends)" in run(
        device, FakeLink(state=ControllerState.FAULT, fault=Cause.TILT)
    )


def test_the_console_names_the_robot_s_own_cause() -> None:
    """The operator must know whether to repair the robot or to wait."""
    link = FakeLink(state=ControllerState.FAULT, fault=Cause.ROBOT_FAULT, robot_fault=Cause.VOLTAGE)
    assert "FAULT: the robot damps by itself: the battery gives 0.0 V  (r re-arms)" in run(
        Keys(([], True)), link
    )


@pytest.mark.parametrize(
    ("state", "fault"),
    [(7, 0), (-128, 0), (ControllerState.FAULT, 99), (ControllerState.FAULT, -1)],
)
def test_the_console_survives_any_status(state: int, fault: int) -> None:
    """Another version may have sent it: unknown states are not shown, unknown causes are."""
    shown: list[str] = []
    operate(Keys(), FakeLink(state=state, fault=fault), iter([False, True]).__next__, shown.append)  # type: ignore[arg-type]
    assert ("FAULT: a cause that this version does not know" in "".join(shown)) == (
        state == ControllerState.FAULT
    )


class Clock:
    """A clock that stands where it is put."""

    now = 0

    def now_ns(self) -> int:
        """Tell the time."""
        return self.now


def test_an_old_status_changes_nothing() -> None:
    """Recorded and sent again, out of order, or from the future: a guided script would continue."""
    clock, wire = Clock(), Wire(World())
    controller, console = WireLink(wire), WireLink(wire)
    shown = Console(console, lambda _: None, clock)  # type: ignore[arg-type]  # all that is used of a clock
    for now_ms, time_ms, state, believed in (
        (1000, 1001, ControllerState.WALK, None),  # of a time to come
        (1000, 800, ControllerState.WALK, None),  # expired now
        (1000, 801, ControllerState.READY, ControllerState.READY),
        (1000, 1000, ControllerState.WALK, ControllerState.WALK),
        (1000, 1000, ControllerState.READY, ControllerState.WALK),  # again
        (1001, 999, ControllerState.READY, ControllerState.WALK),  # out of order
        (1001, 1001, ControllerState.IDLE, ControllerState.IDLE),
    ):
        clock.now = now_ms * MS
        status = blank(STATUS)
        status.time_ns, status.state = time_ms * MS, state
        controller.publish(STATUS, status)
        console.receive()
        assert shown.state is believed


def test_a_forged_status_changes_nothing() -> None:
    """Forged messages neither end the program nor continue a script."""
    clock, wire = Clock(), Wire(World())
    stranger, console = WireLink(wire, WRONG_KEY), WireLink(wire)
    shown = Console(console, lambda _: None, clock)  # type: ignore[arg-type]
    status = blank(STATUS)
    clock.now = status.time_ns = MS
    status.state = ControllerState.READY
    stranger.publish(STATUS, status)
    assert console.receive() == 1
    assert (shown.state, console.forged) == (None, 1)


def test_a_message_keeps_a_request() -> None:
    """Also one without a velocity, which is another than a velocity of zero."""
    for asked in (
        OperatorRequest(Request.WALK, 4),
        OperatorRequest(Request.NOTHING, velocity=np.array([0.1, 0.0, -0.2])),
    ):
        found = operator_request_of(operator_message(asked, 1, 5))
        assert (found.request, found.skill) == (asked.request, asked.skill)
        np.testing.assert_equal(found.velocity, asked.velocity)
