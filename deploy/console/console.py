"""The operator's side: keys or buttons in, signed operator commands out, fifty times a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from deploy.common.clock import CLOCK, Clock
from deploy.common.faults import Cause, Fault
from deploy.common.state_machine import POWERED, State
from deploy.messages.lcm_link import OPERATOR, STATUS, Link, Request, new_session
from deploy.messages.operator_request import EXPIRY_NS, Wish, operator_message
from solo_doi.solo12.constants import Array

if TYPE_CHECKING:
    from typing import Self  # novm: not in Python 3.10, which robots' computers may have

PERIOD = 0.02
DAMP = Wish(Request.DAMP)


class Device(Protocol):
    """What a person holds."""

    help: str

    @property
    def velocity(self) -> Array | None:
        """What is wished for now, sent with every message, as one that is lost must not go on; None for nothing."""

    def read(self, seconds: float, state: State | None) -> tuple[list[Wish], bool]:
        """Wait up to `seconds`; return wishes, and whether the person is there. `state` is the controller's."""

    def __enter__(self) -> Self:
        """Take the device."""

    def __exit__(self, *exception: object) -> None:
        """Give it back as it was."""


class Sender:
    """Sends operator commands; every one is also a sign of life."""

    def __init__(self, link: Link) -> None:
        """Begin a session."""
        self._link = link
        self._session = new_session()
        self._sequence = 0

    def send(self, wish: Wish) -> None:
        """Send a wish."""
        self._sequence += 1
        message = operator_message(wish, self._sequence, time.monotonic_ns())
        message.session = self._session
        self._link.publish(OPERATOR, message)


ENDS = "q ends"


def after_fault(words: str) -> str:
    """How a device re-arms, by its own help; with one that does not, a plan that was broken off is over."""
    ways = [
        part for line in words.splitlines() for part in line.split(" · ") if part.endswith("re-arm")
    ]
    return f"{ways[0]}s" if ways else ENDS


class Console:
    """One line that says what the controller does."""

    def __init__(
        self,
        link: Link,
        write: Callable[[str], object],
        clock: Clock = CLOCK,
        *,
        after_fault: str = ENDS,
    ) -> None:
        """Listen to the controller; `after_fault` is what a person can do then."""
        self._write, self._clock, self._after_fault = write, clock, after_fault
        self._told_ns = 0
        self.state: State | None = None
        link.subscribe(STATUS, self._show)

    def _show(self, status: Any, data: bytes) -> None:  # noqa: ANN401  # generated classes have no types
        fresh = self._told_ns < status.time_ns <= self._clock.now_ns() < status.time_ns + EXPIRY_NS
        if status.state not in tuple(State) or not fresh:
            return  # another version's, or kept by somebody who sends it again
        self._told_ns, self.state = status.time_ns, State(status.state)
        text = f"{self.state.name}  {status.velocity[0]:+.2f} m/s  late ticks {status.overruns}"
        if status.fault:
            causes = Cause.of(status.fault), Cause.of(status.robot_fault)
            fault = Fault(causes[0], status.fault_value, status.fault_joint, causes[1])
            text = f"FAULT: {fault}  ({self._after_fault})"
        elif self.state is State.WALK:
            text = f"skill {status.skill}  {text}"
        self._write(f"\r\033[K{text}")


def operate(
    device: Device, link: Link, gone: Callable[[], bool], write: Callable[[str], object]
) -> None:
    """Pass wishes on until the person ends it or the controller is gone; a robot that stands lies down first.

    A stop is told again in every period until the person re-arms: a message may be lost, and a robot process that is
    still starting has heard none of them, whatever the controller shows.
    """
    sender, console = Sender(link), Console(link, write, after_fault=after_fault(device.help))
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
                ending = ending or (wish.request is Request.SIT and wish.skill == QUIT)
                stopped = wish.request is Request.DAMP or (
                    stopped and wish.request is not Request.REARM
                )
                sender.send(replace(wish, velocity=device.velocity))
            if present and not wishes:
                sender.send(Wish(Request.NOTHING, velocity=device.velocity))
    write("\n")


QUIT = -2
"""Skill of the wish to lie down and end."""
