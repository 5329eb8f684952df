"""A gamepad as an operator's device, by Linux's evdev."""

from __future__ import annotations

import contextlib
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deploy.common.state_machine import ControllerState
from deploy.messages.lcm_link import Request
from deploy.messages.operator_request import OperatorRequest
from solo_doi.common.errors import MissingPackageError, SoloError
from solo_doi.solo12.constants import Array

if TYPE_CHECKING:
    from typing import Self  # novm: not in Python 3.10, which robots' computers may have

DAMP = OperatorRequest(Request.DAMP)
BUTTONS = {
    304: OperatorRequest(Request.STAND),  # south
    305: OperatorRequest(Request.SIT),  # east
    307: OperatorRequest(Request.WALK),  # north
    308: OperatorRequest(Request.STOP),  # west
    314: DAMP,  # select
    315: OperatorRequest(Request.REARM),  # start
}
DEAD_MAN = 311
"""Right shoulder: held while the robot may move, if a dead man's button is asked for; let go, motors are damped."""
KEY, AXIS = 1, 3
SYN, DROPPED = 0, 3
"""Type and code by which the kernel says that events were lost, as nobody has read them in time."""
AXES = {1: (0, -1.0), 0: (1, -0.5), 3: (2, -1.0)}
"""Axis of a stick: which velocity it sets, and its value at the end of the stick."""
DEAD_ZONE = 0.1


class Gamepad:
    """Buttons for states, sticks for velocities."""

    can_rearm = True
    rearm_key = "START"

    help = "A stand · B lie down · Y walk · X stop · SELECT damp at once · START re-arm · sticks: velocity"

    def __init__(self, device: Any, *, dead_man: bool) -> None:  # noqa: ANN401  # evdev has no types
        """Read from an opened device; with `dead_man`, silence until its button is held, and damping from its end on.

        Before it was ever held nothing was asked for, and a robot that is being brought up is not to be stopped.
        """
        self._device, self._dead_man = device, dead_man
        self._held = self._let_go = False
        self._velocity = np.zeros(3)
        if dead_man:
            self.help += " · hold the right shoulder button: let go, motors are damped at once, until START is pressed"

    def __enter__(self) -> Self:
        """Take the gamepad for ourselves."""
        self._device.grab()
        return self

    def __exit__(self, *exception: object) -> None:
        """Give it back."""
        with contextlib.suppress(OSError):  # it was pulled out
            self._device.ungrab()

    @property
    def velocity(self) -> Array:
        """Where the sticks are; nowhere, if nobody holds the dead man's button."""
        return self._velocity if self._allowed else np.zeros(3)

    @property
    def _allowed(self) -> bool:
        return self._held or not self._dead_man

    def read(
        self, seconds: float, state: ControllerState | None
    ) -> tuple[list[OperatorRequest], bool]:
        """Take what happened within `seconds`; a gamepad that is gone is a person that is gone, and has let go."""
        time.sleep(seconds)
        wishes, there = [], True
        try:
            while (event := self._device.read_one()) is not None:
                wish = self._take(event)
                if wish is not None and (self._allowed or wish.request is Request.DAMP):
                    wishes.append(wish)
            wishes += self._look(DAMP in wishes)
        except OSError:
            self._hold(False)
            there = False
        if there and self._allowed:
            return wishes, True
        # Repeated for as long as the button is released: a message may be lost.
        return [DAMP] if self._let_go or DAMP in wishes else [], False

    def _hold(self, held: bool) -> None:  # what the button says
        """Learn how the dead man's button is."""
        self._let_go = self._dead_man and (self._let_go or self._held) and not held
        self._held = held

    def _look(self, damped: bool) -> list[OperatorRequest]:  # what the events said
        """Learn how the buttons are now: an event may be lost, and asking the kernel drops those it has not told."""
        down = self._device.active_keys()
        if DEAD_MAN not in down:
            self._hold(False)
        return (
            []
            if damped
            else [DAMP for code, wish in BUTTONS.items() if wish is DAMP and code in down]
        )

    def _take(self, event: Any) -> OperatorRequest | None:  # noqa: ANN401
        if event.type == KEY and event.code == DEAD_MAN:
            self._hold(event.value != 0)
            return (
                DAMP if self._let_go else None
            )  # also for a moment that is over when somebody looks
        if event.type == KEY and event.value == 1:
            return BUTTONS.get(event.code)
        if event.type == AXIS and event.code in AXES:
            self._steer(event.code, event.value)
        if event.type == SYN and event.code == DROPPED:  # a stick may have been let go
            for code in (code for code, (index, _) in AXES.items() if self._velocity[index]):
                self._steer(code)
        return None

    def _steer(self, code: int, value: float | None = None) -> None:
        """Take where a stick is, by an event or now."""
        index, most = AXES[code]
        info = self._device.absinfo(code)
        share = (
            2 * ((info.value if value is None else value) - info.min) / (info.max - info.min) - 1
        )
        velocity = self._velocity.copy()
        velocity[index] = 0.0 if abs(share) < DEAD_ZONE else most * share
        self._velocity = velocity


def _install() -> str:
    """How to get evdev: there are wheels for x86-64 only."""
    if platform.machine() == "x86_64":
        return "pip install evdev-binary"
    return "apt install gcc python3-dev linux-libc-dev && pip install evdev"


def open_gamepad(*, dead_man: bool) -> Gamepad:
    """Open the first gamepad of this computer."""
    try:
        import evdev
    except ImportError as error:
        raise MissingPackageError("evdev", "--operator gamepad", _install()) from error
    for path in evdev.list_devices():
        device = evdev.InputDevice(path)
        if DEAD_MAN in device.capabilities().get(KEY, []):
            return Gamepad(device, dead_man=dead_man)
    found = [path.name for path in Path("/dev/input").glob("event*")]
    raise SoloError(
        f"No gamepad among {found or 'no input devices'}. Plug one in; /dev/input/event* must be readable."
    )
