"""The page as a device, and its stop button."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deploy.console.page.access import StopRate
from deploy.console.page.page_device import PRESENCE_SECONDS, PageDevice, reaction_to_stop
from deploy.console.page.stop_button import LEAST_REPEATS, StopButton
from deploy.messages.lcm_link import Request
from deploy.messages.operator_request import DAMP, OperatorRequest

LOW, HIGH = np.array([-0.5, 0.0, -1.0]), np.array([1.0, 0.0, 1.0])


class Seconds:
    """A clock that the test sets."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def device(seconds: Seconds) -> PageDevice:
    return PageDevice(seconds)


def drive(device: PageDevice, **message: Any) -> tuple[list[OperatorRequest], bool]:
    device.drive(message, LOW, HIGH)
    return device.read(0.0, None)


def test_without_a_driver_the_operator_is_absent(device: PageDevice) -> None:
    assert device.read(0.0, None) == ([], False)
    assert device.velocity is not None
    assert not device.velocity.any()


def test_a_silent_page_is_absent_and_commands_no_velocity(
    device: PageDevice, seconds: Seconds
) -> None:
    drive(device, velocity=[0.5, 0.0, 0.2])
    assert device.velocity is not None
    assert device.velocity.tolist() == [0.5, 0.0, 0.2]
    seconds.now = 0.9 * PRESENCE_SECONDS
    assert device.read(0.0, None) == ([], True)
    seconds.now = 1.1 * PRESENCE_SECONDS
    assert device.read(0.0, None) == ([], False)
    assert not device.velocity.any()


def test_buttons_become_requests(device: PageDevice) -> None:
    assert drive(device, request="walk", skill=3) == ([OperatorRequest(Request.WALK, 3)], True)
    assert drive(device, request="sit") == ([OperatorRequest(Request.SIT)], True)
    device.put(DAMP)
    assert device.read(0.0, None) == ([DAMP], True)
    assert device.read(0.0, None) == ([], True)


@pytest.mark.parametrize(
    "message",
    [
        {"request": "damp"},
        {"request": 7},
        {"request": ["walk"]},
        {"request": "walk", "skill": "2"},
        {"request": "walk", "skill": 1000},
        {"request": "walk", "skill": -2},
        {},
    ],
)
def test_malformed_requests_are_ignored(device: PageDevice, message: dict[str, Any]) -> None:
    assert drive(device, **message) == ([], True)


@pytest.mark.parametrize(
    "velocity", [[1.0, 0.0], "fast", [1.0, "x", 0.0], [float("nan"), 0.0, 0.0], None, [[], 0, 0]]
)
def test_malformed_velocities_are_ignored(device: PageDevice, velocity: object) -> None:
    drive(device, velocity=[0.5, 0.0, 0.0])
    drive(device, velocity=velocity)
    assert device.velocity is not None
    assert device.velocity.tolist() == [0.5, 0.0, 0.0]


def test_velocities_stay_in_the_range_of_training(device: PageDevice) -> None:
    drive(device, velocity=[9.0, 9.0, -9.0])
    assert device.velocity is not None
    assert device.velocity.tolist() == [1.0, 0.0, -1.0]


def test_a_stop_damps_at_once() -> None:
    """One place decides it; until a sit is possible after faults, every press damps."""
    assert reaction_to_stop(1) == reaction_to_stop(2) == DAMP


class ListSender:
    """Keeps what is sent."""

    def __init__(self) -> None:
        """Start empty."""
        self.sent: list[OperatorRequest] = []

    def send(self, request: OperatorRequest) -> None:
        """Keep a request."""
        self.sent.append(request)


def test_a_stop_is_repeated_until_the_robot_confirms_it() -> None:
    sender = ListSender()
    lines: list[str] = []
    button = StopButton(sender, lines.append)  # type: ignore[arg-type]  # only sends
    button.repeat(confirmed=False)
    assert sender.sent == []
    assert button.press("viewer 1") == DAMP
    assert sender.sent == [DAMP]
    for _ in range(20):
        button.repeat(confirmed=False)
    assert len(sender.sent) == 21
    button.repeat(confirmed=True)
    button.repeat(confirmed=False)  # after a re-arm
    assert len(sender.sent) == 21
    assert lines == ["stop 1 pressed on the page by viewer 1"]


def test_an_old_confirmation_does_not_end_a_new_stop() -> None:
    sender = ListSender()
    button = StopButton(sender, lambda _: None)  # type: ignore[arg-type]  # only sends
    button.press("viewer 1")
    for _ in range(20):
        button.repeat(confirmed=True)
    assert len(sender.sent) == 1 + LEAST_REPEATS


def test_a_flood_is_limited_and_the_first_press_never_refused() -> None:
    sender = ListSender()
    lines: list[str] = []
    button = StopButton(sender, lines.append, StopRate(2, 1.0, lambda: 0.0))  # type: ignore[arg-type]
    assert [button.press("viewer 1") for _ in range(100)] == [DAMP, DAMP, *[None] * 98]
    assert len(lines) == button.presses == 2
