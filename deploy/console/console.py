"""The operator's console: reads a device and sends signed operator commands at 50 Hz."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from deploy.common.clock import CLOCK, Clock
from deploy.common.faults import Cause, Fault
from deploy.common.state_machine import POWERED, ControllerState
from deploy.messages.generated import controller_status, walk_end
from deploy.messages.lcm_link import (
    OPERATOR_CHANNEL,
    STATUS_CHANNEL,
    WALK_END_CHANNEL,
    LcmLink,
    Request,
    new_session,
)
from deploy.messages.operator_request import (
    DAMP,
    OPERATOR_MESSAGE_LIFETIME_NS,
    OperatorRequest,
    operator_message,
)
from deploy.messages.walk_end_message import walk_end_of
from solo_doi.solo12.constants import Array

if TYPE_CHECKING:
    from typing import Self  # novm: not in Python 3.10, which robots' computers may have

CONSOLE_PERIOD = 0.02
"""Period of the console [s]."""
QUIT_HINT = "q ends"


class Device(Protocol):
    """Input device of an operator."""

    help: str
    """Keys or buttons and their meaning, for the terminal."""
    can_rearm: bool
    """True if the device can request re-arming; otherwise a fault ends the session."""
    rearm_key: str
    """Name of the key or button that re-arms; empty if there is none."""

    @property
    def velocity(self) -> Array | None:
        """Current velocity command, (3,) [m/s, m/s, rad/s]; None for devices without one.

        Every message contains it, so a lost message cannot leave an old command in force.
        """

    def read(
        self, seconds: float, state: ControllerState | None
    ) -> tuple[list[OperatorRequest], bool]:
        """Read for up to `seconds`; return the requests, and True if the operator is present.

        `state` is the controller's state, None before its first status.
        """

    def __enter__(self) -> Self:
        """Acquire the device."""

    def __exit__(self, *exception: object) -> None:
        """Restore the device's original state and release it."""


class Sender:
    """Sends operator requests; every message is also a heartbeat."""

    def __init__(self, link: LcmLink) -> None:
        """Start a session with a new number."""
        self._link = link
        self._session = new_session()
        self._sequence = 0

    def send(self, request: OperatorRequest) -> None:
        """Send a request."""
        self._sequence += 1
        message = operator_message(request, self._sequence, time.monotonic_ns())
        message.session = self._session
        self._link.publish(OPERATOR_CHANNEL, message)


def fault_hint(device: Device) -> str:
    """Return the operator's next step after a fault."""
    if device.can_rearm:
        return f"{device.rearm_key} re-arms"
    return QUIT_HINT


class Console:
    """Status line of the controller; the end of a walk at its bound has its own line."""

    def __init__(
        self,
        link: LcmLink,
        write: Callable[[str], object],
        clock: Clock = CLOCK,
        *,
        fault_hint: str = QUIT_HINT,
    ) -> None:
        """Subscribe to the controller's status; `fault_hint` is shown with every fault."""
        self._write = write
        self._clock = clock
        self._fault_hint = fault_hint
        self._newest_ns = 0
        self.state: ControllerState | None = None
        link.subscribe(STATUS_CHANNEL, self._on_status)
        link.subscribe(WALK_END_CHANNEL, self._on_walk_end)

    def _on_status(self, status: controller_status, data: bytes) -> None:
        now_ns = self._clock.now_ns()
        expires_ns = status.time_ns + OPERATOR_MESSAGE_LIFETIME_NS
        fresh = self._newest_ns < status.time_ns <= now_ns < expires_ns
        # Unknown states come from another version. Old messages may be replayed by an attacker.
        if status.state not in tuple(ControllerState) or not fresh:
            return
        self._newest_ns = status.time_ns
        self.state = ControllerState(status.state)
        self._write(f"\r\033[K{self._line(self.state, status)}")

    def _on_walk_end(self, message: walk_end, data: bytes) -> None:
        now_ns = self._clock.now_ns()
        if message.time_ns <= now_ns < message.time_ns + OPERATOR_MESSAGE_LIFETIME_NS:
            self._write(f"\r\033[K{walk_end_of(message)}\n")

    def _line(self, state: ControllerState, status: controller_status) -> str:
        if status.fault:
            fault = Fault(
                Cause.of(status.fault),
                status.fault_value,
                status.fault_joint,
                Cause.of(status.robot_fault),
            )
            return f"FAULT: {fault}  ({self._fault_hint})"
        text = f"{state.name}  {status.velocity[0]:+.2f} m/s  late ticks {status.overruns}"
        if state is ControllerState.WALK:
            text = f"skill {status.skill}  {text}"
        return text


class OperatorSession:
    """State of one console session: whether a stop is in force, and whether to quit."""

    def __init__(self) -> None:
        """Start without a stop."""
        self.quitting = False
        """True once the operator has asked to quit."""
        self._stopped = False

    def outgoing(self, requests: list[OperatorRequest]) -> list[OperatorRequest]:
        """Return the requests to send in this period, from those that the device gave.

        A stop is repeated in every period until the operator re-arms: a message may be lost, and
        a robot process that is still starting must receive it too.
        """
        outgoing = []
        if self._stopped and not any(one.request is Request.DAMP for one in requests):
            outgoing.append(DAMP)
        for request in requests:
            if request.request is Request.QUIT:
                self.quitting = True
                outgoing.append(OperatorRequest(Request.SIT))
                continue
            if request.request is Request.DAMP:
                self._stopped = True
            elif request.request is Request.REARM:
                self._stopped = False
            outgoing.append(request)
        return outgoing


def run_console(
    device: Device, link: LcmLink, gone: Callable[[], bool], write: Callable[[str], object]
) -> None:
    """Send the device's requests until the operator quits or `gone` returns True.

    After a request to quit, a standing robot lies down first.
    """
    sender = Sender(link)
    console = Console(link, write, fault_hint=fault_hint(device))
    session = OperatorSession()
    write(device.help + "\n")
    with device:
        while not gone():
            unpowered = console.state is not None and console.state not in POWERED
            if session.quitting and unpowered:
                break
            requests, present = device.read(CONSOLE_PERIOD, console.state)
            link.receive()
            outgoing = session.outgoing(requests)
            for request in outgoing:
                sender.send(replace(request, velocity=device.velocity))
            if present and not outgoing:
                sender.send(OperatorRequest(Request.NOTHING, velocity=device.velocity))
    write("\n")
