"""The operator's side: keys or buttons in, signed operator commands out, fifty times a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from deploy.common.clock import CLOCK, Clock
from deploy.common.faults import Cause, Fault
from deploy.common.state_machine import POWERED, ControllerState
from deploy.messages.lcm_link import OPERATOR, STATUS, LcmLink, Request, new_session
from deploy.messages.operator_request import (
    OPERATOR_MESSAGE_LIFETIME_NS,
    OperatorRequest,
    operator_message,
)
from solo_doi.solo12.constants import Array

if TYPE_CHECKING:
    from typing import Self  # novm: not in Python 3.10, which robots' computers may have

PERIOD = 0.02
DAMP = OperatorRequest(Request.DAMP)


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
        """What is wished for now, sent with every message, as one that is lost must not go on; None for nothing."""

    def read(
        self, seconds: float, state: ControllerState | None
    ) -> tuple[list[OperatorRequest], bool]:
        """Wait up to `seconds`; return wishes, and whether the person is there. `state` is the controller's."""

    def __enter__(self) -> Self:
        """Take the device."""

    def __exit__(self, *exception: object) -> None:
        """Give it back as it was."""


class Sender:
    """Sends operator commands; every one is also a sign of life."""

    def __init__(self, link: LcmLink) -> None:
        """Begin a session."""
        self._link = link
        self._session = new_session()
        self._sequence = 0

    def send(self, wish: OperatorRequest) -> None:
        """Send a wish."""
        self._sequence += 1
        message = operator_message(wish, self._sequence, time.monotonic_ns())
        message.session = self._session
        self._link.publish(OPERATOR, message)


QUIT_HINT = "q ends"


def fault_hint(device: Device) -> str:
    """Return the operator's next step after a fault."""
    if device.can_rearm:
        return f"{device.rearm_key} re-arms"
    return QUIT_HINT


class Console:
    """One line that says what the controller does."""

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
        self._told_ns = 0
        self.state: ControllerState | None = None
        link.subscribe(STATUS, self._show)

    def _show(self, status: Any, data: bytes) -> None:  # noqa: ANN401  # generated classes have no types
        fresh = (
            self._told_ns
            < status.time_ns
            <= self._clock.now_ns()
            < status.time_ns + OPERATOR_MESSAGE_LIFETIME_NS
        )
        if status.state not in tuple(ControllerState) or not fresh:
            return  # another version's, or kept by somebody who sends it again
        self._told_ns, self.state = status.time_ns, ControllerState(status.state)
        text = f"{self.state.name}  {status.velocity[0]:+.2f} m/s  late ticks {status.overruns}"
        if status.fault:
            causes = Cause.of(status.fault), Cause.of(status.robot_fault)
            fault = Fault(causes[0], status.fault_value, status.fault_joint, causes[1])
            text = f"FAULT: {fault}  ({self._fault_hint})"
        elif self.state is ControllerState.WALK:
            text = f"skill {status.skill}  {text}"
        self._write(f"\r\033[K{text}")


def operate(
    device: Device, link: LcmLink, gone: Callable[[], bool], write: Callable[[str], object]
) -> None:
    """Pass wishes on until the person ends it or the controller is gone; a robot that stands lies down first.

    A stop is told again in every period until the person re-arms: a message may be lost, and a robot process that is
    still starting has heard none of them, whatever the controller shows.
    """
    sender = Sender(link)
    console = Console(link, write, fault_hint=fault_hint(device))
    write(device.help + "\n")
    ending = stopped = False
    with device:
        while not gone() and not (
            ending and console.state is not None and console.state not in POWERED
        ):
            wishes, present = device.read(PERIOD, console.state)
            link.receive()
            if stopped and not any(wish.request is Request.DAMP for wish in wishes):
                wishes = [DAMP, *wishes]
            for wish in wishes:
                if wish.request is Request.QUIT:
                    ending = True
                    wish = OperatorRequest(Request.SIT)
                stopped = wish.request is Request.DAMP or (
                    stopped and wish.request is not Request.REARM
                )
                sender.send(replace(wish, velocity=device.velocity))
            if present and not wishes:
                sender.send(OperatorRequest(Request.NOTHING, velocity=device.velocity))
    write("\n")
