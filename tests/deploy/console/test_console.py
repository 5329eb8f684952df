"""The console: signed requests in order, and no message without an operator."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import pytest

from deploy.common.clock import CLOCK
from deploy.common.faults import Cause
from deploy.common.state_machine import ControllerState
from deploy.console.console import Console, fault_hint, run_console
from deploy.console.gamepad import Gamepad
from deploy.console.guided import GuidedScript
from deploy.console.keyboard import Keyboard
from deploy.messages.lcm_link import (
    COMMAND_CHANNEL,
    OPERATOR_CHANNEL,
    STATUS_CHANNEL,
    WALK_END_CHANNEL,
    Request,
    blank,
)
from deploy.messages.operator_request import OperatorRequest, operator_message, operator_request_of
from deploy.messages.walk_end_message import WalkEnd, walk_end_message
from tests.deploy.robots.process.bench import Bench
from tests.deploy.world import MS, WRONG_KEY, Wire, WireLink, World


@dataclass
class FakeLink:
    """A link that records messages and answers with a status."""

    sent: list[Any] = field(default_factory=list)
    state: int = ControllerState.IDLE
    fault: int = 0
    robot_fault: int = 0

    def subscribe(self, channel: str, handler: Any) -> None:  # a function
        """Keep the console's handler of the status."""
        assert channel in (STATUS_CHANNEL, WALK_END_CHANNEL)
        if channel == STATUS_CHANNEL:
            self._handler = handler

    def publish(self, channel: str, message: Any) -> None:  # generated classes have no types
        """Record the message."""
        assert channel == OPERATOR_CHANNEL
        self.sent.append(message)

    def receive(self) -> None:
        """Deliver the state of the controller."""
        status = blank(STATUS_CHANNEL)
        status.state, status.fault, status.skill, status.robot_fault = (
            self.state,
            self.fault,
            2,
            self.robot_fault,
        )
        status.time_ns = CLOCK.now_ns()
        self._handler(status, b"")


@pytest.fixture(autouse=True)
def steps_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Advance the console's clock by 1 ms per call, so that a stall cannot make a status old."""
    times = count(1)
    monkeypatch.setattr(CLOCK, "now_ns", lambda: next(times) * MS)


class Keys:
    """A device with a list of requests per period."""

    help = "press something\nor nothing"
    can_rearm = True
    rearm_key = "r"
    velocity = np.array([0.1, 0.0, 0.0])

    def __init__(self, *looks: tuple[list[OperatorRequest], bool]) -> None:
        """Set the requests per poll; the last poll ends the run."""
        self._looks = [*looks, ([OperatorRequest(Request.QUIT)], True)]
        self.given_back = False

    def __enter__(self) -> Keys:
        """Acquire the device."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Record the release."""
        self.given_back = True

    def read(
        self, seconds: float, state: ControllerState | None
    ) -> tuple[list[OperatorRequest], bool]:
        """Return the requests of the next poll."""
        return self._looks.pop(0) if self._looks else ([], True)


def run(device: Keys, link: FakeLink) -> str:
    """Operate until the device ends the run; return the output."""
    shown: list[str] = []
    run_console(device, link, lambda: False, shown.append)  # type: ignore[arg-type]
    assert device.given_back
    return "".join(shown)


def test_requests_are_sent_in_order_and_every_look_is_a_sign_of_life() -> None:
    """Messages are numbered within one session and have an expiry."""
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
    """A lost message must not leave an old velocity active."""
    link = FakeLink()
    run(Keys(([OperatorRequest(Request.WALK, 3)], True), ([], True)), link)
    assert [sent.velocity for sent in link.sent] == [[0.1, 0.0, 0.0]] * 3


def test_an_absent_operator_sends_no_message() -> None:
    """After the gamepad is unplugged no message is sent, which the controller treats as a fault."""
    link = FakeLink()
    run(Keys(([], False), ([], False)), link)
    assert [sent.request for sent in link.sent] == [Request.SIT]


def test_a_stop_is_repeated_until_re_armed() -> None:
    """A message may be lost, and a robot process may start after the status is DAMP."""
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


def test_a_robot_process_that_starts_late_receives_the_stop() -> None:
    """The stop is repeated, so a robot process that starts later receives it."""
    link, bench = FakeLink(), Bench()
    run(Keys(([OperatorRequest(Request.DAMP)], True), *[([], True)] * 3), link)
    message = link.sent[2]
    bench.operator(message.request)
    assert bench.gate.fault is not None
    assert bench.gate.fault.cause is Cause.OPERATOR_STOP


def test_the_console_shows_state_and_fault() -> None:
    """The output is one line; a fault has a text and the key to press."""
    shown: list[str] = []
    run_console(
        Keys(), FakeLink(state=ControllerState.WALK), iter([False, True]).__next__, shown.append
    )  # type: ignore[arg-type]
    assert "skill 2  WALK  +0.00 m/s" in "".join(shown)
    assert "FAULT: the base is tilted by 0.00 rad  (r re-arms)" in run(
        Keys(([], True)), FakeLink(state=ControllerState.FAULT, fault=Cause.TILT)
    )


def test_the_console_names_the_device_s_action_after_a_fault() -> None:
    """A gamepad has no key r, and a finished script cannot be re-armed."""
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
    """The operator must decide whether to repair the robot or to wait."""
    link = FakeLink(state=ControllerState.FAULT, fault=Cause.ROBOT_FAULT, robot_fault=Cause.VOLTAGE)
    assert "FAULT: the robot damps by itself: the battery gives 0.0 V  (r re-arms)" in run(
        Keys(([], True)), link
    )


@pytest.mark.parametrize(
    ("state", "fault"),
    [(7, 0), (-128, 0), (ControllerState.FAULT, 99), (ControllerState.FAULT, -1)],
)
def test_the_console_survives_any_status(state: int, fault: int) -> None:
    """Another version may have sent it; unknown states are not shown, unknown causes are."""
    shown: list[str] = []
    run_console(
        Keys(), FakeLink(state=state, fault=fault), iter([False, True]).__next__, shown.append
    )  # type: ignore[arg-type]
    assert ("FAULT: a cause that this version does not know" in "".join(shown)) == (
        state == ControllerState.FAULT
    )


class Clock:
    """A clock that stays at a given time."""

    now = 0

    def now_ns(self) -> int:
        """Return the time [ns]."""
        return self.now


@pytest.mark.parametrize(
    ("time_ms", "genuine", "shown"),
    [(1000, True, True), (801, True, True), (800, True, False), (1001, True, False),
    (1000, False, False)],
)  # fmt: skip
def test_an_end_at_the_bound_is_shown_on_its_own_line(
    time_ms: int, genuine: bool, shown: bool
) -> None:
    """The line distinguishes the bound from a fault; old and forged messages are not shown."""
    clock, wire = Clock(), Wire(World())
    clock.now = 1000 * MS
    controller = WireLink(wire) if genuine else WireLink(wire, WRONG_KEY)
    console = WireLink(wire)
    lines: list[str] = []
    Console(console, lines.append, clock)  # type: ignore[arg-type]  # all that is used of a clock
    command = blank(COMMAND_CHANNEL)
    command.time_ns = time_ms * MS
    controller.publish(WALK_END_CHANNEL, walk_end_message(WalkEnd(2.03, 2.14), command))
    console.receive()
    expected = ["\r\033[Kdistance reached: 2.03 m in 2.1 s\n"] if shown else []
    assert lines == expected


def test_an_old_status_has_no_effect() -> None:
    """An old status is replayed or out of order; one from the future is refused as well.

    It must not make a guided script continue.
    """
    clock, wire = Clock(), Wire(World())
    controller, console = WireLink(wire), WireLink(wire)
    shown = Console(console, lambda _: None, clock)  # type: ignore[arg-type]  # all that is used of a clock
    for now_ms, time_ms, state, believed in (
        (1000, 1001, ControllerState.WALK, None),  # from the future
        (1000, 800, ControllerState.WALK, None),  # expired
        (1000, 801, ControllerState.READY, ControllerState.READY),
        (1000, 1000, ControllerState.WALK, ControllerState.WALK),
        (1000, 1000, ControllerState.READY, ControllerState.WALK),  # replayed
        (1001, 999, ControllerState.READY, ControllerState.WALK),  # out of order
        (1001, 1001, ControllerState.IDLE, ControllerState.IDLE),
    ):
        clock.now = now_ms * MS
        status = blank(STATUS_CHANNEL)
        status.time_ns, status.state = time_ms * MS, state
        controller.publish(STATUS_CHANNEL, status)
        console.receive()
        assert shown.state is believed


def test_a_forged_status_has_no_effect() -> None:
    """A forged message does not end the program and does not make a script continue."""
    clock, wire = Clock(), Wire(World())
    stranger, console = WireLink(wire, WRONG_KEY), WireLink(wire)
    shown = Console(console, lambda _: None, clock)  # type: ignore[arg-type]
    status = blank(STATUS_CHANNEL)
    clock.now = status.time_ns = MS
    status.state = ControllerState.READY
    stranger.publish(STATUS_CHANNEL, status)
    assert console.receive() == 1
    assert (shown.state, console.forged) == (None, 1)


def test_a_message_keeps_a_request() -> None:
    """A request without a velocity differs from one with a velocity of zero."""
    for asked in (
        OperatorRequest(Request.WALK, 4),
        OperatorRequest(Request.NOTHING, velocity=np.array([0.1, 0.0, -0.2])),
    ):
        found = operator_request_of(operator_message(asked, 1, 5))
        assert (found.request, found.skill) == (asked.request, asked.skill)
        np.testing.assert_equal(found.velocity, asked.velocity)
