"""The operator's side: keys or buttons in, signed operator commands out, fifty times a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from .faults import Cause, Fault
from .messages.wire import OPERATOR, STATUS, Link, Request, new_session
from .operators import Wish, operator_message
from .state_machine import POWERED, State

if TYPE_CHECKING:
    from typing import Self  # novm: not in Python 3.10, which robots' computers may have

PERIOD = 0.02


class Device(Protocol):
    """What a person holds."""

    help: str

    def read(self, seconds: float) -> tuple[list[Wish], bool]:
        """Wait up to `seconds`; return wishes, and whether the person is there."""

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


class Console:
    """One line that says what the controller does."""

    def __init__(self, link: Link, write: Callable[[str], object]) -> None:
        """Listen to the controller."""
        self._write = write
        self.state: State | None = None
        link.subscribe(STATUS, self._show)

    def _show(self, status: Any, data: bytes) -> None:  # noqa: ANN401  # generated classes have no types
        if status.state not in tuple(State):
            return  # anybody may send one: it has no code, as it moves nothing
        self.state = State(status.state)
        text = f"{self.state.name}  {status.velocity[0]:+.2f} m/s  late ticks {status.overruns}"
        if status.fault:
            causes = Cause.of(status.fault), Cause.of(status.robot_fault)
            text = f"FAULT: {Fault(causes[0], status.fault_value, status.fault_joint, causes[1])}  (r re-arms)"
        elif self.state is State.WALK:
            text = f"skill {status.skill}  {text}"
        self._write(f"\r\033[K{text}")


def operate(device: Device, link: Link, gone: Callable[[], bool], write: Callable[[str], object]) -> None:
    """Pass wishes on until the person ends it or the controller is gone; a robot that stands lies down first."""
    sender, console = Sender(link), Console(link, write)
    write(device.help + "\n")
    ending = False
    with device:
        while not gone() and not (ending and console.state is not None and console.state not in POWERED):
            wishes, present = device.read(PERIOD)
            link.receive()
            for wish in wishes:
                ending = ending or (wish.request is Request.SIT and wish.skill == QUIT)
                sender.send(wish)
            if present and not wishes:
                sender.send(Wish(Request.NOTHING))
    write("\n")


QUIT = -2
"""Skill of the wish to lie down and end."""
