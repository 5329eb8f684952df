"""A gamepad as an operator's device, through Linux's evdev."""

from __future__ import annotations

import contextlib
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from deploy.common.state_machine import ControllerState
from deploy.messages.lcm_link import Request
from deploy.messages.operator_request import DAMP, OperatorRequest
from solo_doi.common.errors import MissingPackageError, SoloError
from solo_doi.solo12.constants import Array

if TYPE_CHECKING:
    from typing import Self  # novm: not in Python 3.10, which robots' computers may have

BUTTONS = {
    304: OperatorRequest(Request.STAND),  # south
    305: OperatorRequest(Request.SIT),  # east
    307: OperatorRequest(Request.WALK),  # north
    308: OperatorRequest(Request.STOP),  # west
    314: DAMP,  # select
    315: OperatorRequest(Request.REARM),  # start
}
"""Request of each button, by evdev code."""
DEAD_MAN = 311
"""Code of the right shoulder button, the optional dead man's button."""
KEY = 1
"""Event type of buttons."""
AXIS = 3
"""Event type of sticks."""
SYN = 0
"""Event type of notices from the kernel (EV_SYN)."""
DROPPED = 3
"""Code of the notice that events were lost because they were read too late (SYN_DROPPED)."""
STICK_AXES = {1: (0, -1.0), 0: (1, -0.5), 3: (2, -1.0)}
"""Per stick axis: index of its velocity component, and velocity at full deflection.

The components are forward and sideways velocity [m/s] and turn rate [rad/s]."""
DEAD_ZONE = 0.1
"""Fraction of a stick's full deflection that counts as zero."""


class InputEvent(Protocol):
    """An event of evdev."""

    type: int
    code: int
    value: int


class AxisInfo(Protocol):
    """Position and range of a stick's axis, as evdev gives them."""

    value: float
    min: float
    max: float


class InputDevice(Protocol):
    """The part of evdev's InputDevice that is used here."""

    def grab(self) -> None:
        """Get exclusive access."""

    def ungrab(self) -> None:
        """Give up exclusive access."""

    def read_one(self) -> InputEvent | None:
        """Return the next event; None if there is none."""

    def active_keys(self) -> list[int]:
        """Return the codes of all buttons that are down now."""

    def absinfo(self, axis_num: int, /) -> AxisInfo:
        """Return position and range of an axis."""


class Gamepad:
    """Gamepad as an operator's device: buttons request states, sticks command velocities."""

    can_rearm = True
    rearm_key = "START"
    help = (
        "A stand · B lie down · Y walk · X stop · SELECT damp at once · START re-arm · "
        "sticks: velocity"
    )

    def __init__(self, device: InputDevice, *, dead_man: bool) -> None:
        """Read from an opened device; `dead_man` requires the dead man's button to be held.

        With `dead_man`, the operator counts as absent until the button is first held, and
        releasing it damps. Before the first hold it does not damp, so bring-up can run.
        """
        self._device = device
        self._dead_man = dead_man
        self._held = False
        self._released = False
        self._velocity = np.zeros(3)
        if dead_man:
            self.help += (
                " · hold the right shoulder button: releasing it damps the motors at once, "
                "until START is pressed"
            )

    def __enter__(self) -> Self:
        """Get exclusive access to the gamepad."""
        self._device.grab()
        return self

    def __exit__(self, *exception: object) -> None:
        """Release the gamepad."""
        with contextlib.suppress(OSError):  # it was unplugged
            self._device.ungrab()

    @property
    def velocity(self) -> Array:
        """Stick velocity [m/s, m/s, rad/s]; zero unless the dead man's button allows it."""
        if self._enabled:
            return self._velocity
        return np.zeros(3)

    @property
    def _enabled(self) -> bool:
        return self._held or not self._dead_man

    def read(
        self, seconds: float, state: ControllerState | None
    ) -> tuple[list[OperatorRequest], bool]:
        """Return the requests of the last `seconds`; unplugging counts as release and absence."""
        time.sleep(seconds)
        requests: list[OperatorRequest] = []
        connected = True
        try:
            while (event := self._device.read_one()) is not None:
                request = self._handle_event(event)
                if request is not None and (self._enabled or request.request is Request.DAMP):
                    requests.append(request)
            if self._poll_buttons() and DAMP not in requests:
                requests.append(DAMP)
        except OSError:
            self._set_held(False)
            connected = False
        if connected and self._enabled:
            return requests, True
        # Repeated while the button is released, since a message may be lost.
        if self._released or DAMP in requests:
            return [DAMP], False
        return [], False

    def _set_held(self, held: bool) -> None:  # state of the button
        """Store the state of the dead man's button, and whether it was released."""
        self._released = self._dead_man and (self._released or self._held) and not held
        self._held = held

    def _poll_buttons(self) -> bool:
        """Poll the buttons, since events may be lost; return True if the damping button is pressed.

        Polling makes the kernel drop button events that are not read yet.
        """
        down = self._device.active_keys()
        if DEAD_MAN not in down:
            self._set_held(False)
        return any(BUTTONS.get(code) is DAMP for code in down)

    def _handle_event(self, event: InputEvent) -> OperatorRequest | None:
        if event.type == KEY and event.code == DEAD_MAN:
            self._set_held(event.value != 0)
            # Damp even if the button was pressed again before the events are read.
            return DAMP if self._released else None
        if event.type == KEY and event.value == 1:
            return BUTTONS.get(event.code)
        if event.type == AXIS and event.code in STICK_AXES:
            self._steer(event.code, event.value)
        if event.type == SYN and event.code == DROPPED:
            # The event of a stick that returned to its centre may be among the lost ones.
            for code, (index, _) in STICK_AXES.items():
                if self._velocity[index]:
                    self._steer(code, self._device.absinfo(code).value)
        return None

    def _steer(self, code: int, value: float) -> None:
        """Set the velocity of an axis from the position of its stick."""
        index, full = STICK_AXES[code]
        info = self._device.absinfo(code)
        deflection = 2 * (value - info.min) / (info.max - info.min) - 1
        velocity = self._velocity.copy()
        velocity[index] = 0.0
        if abs(deflection) >= DEAD_ZONE:
            velocity[index] = full * deflection
        self._velocity = velocity


def _install_command() -> str:
    """Return the command that installs evdev; wheels exist for x86-64 only."""
    if platform.machine() == "x86_64":
        return "pip install evdev-binary"
    return "apt install gcc python3-dev linux-libc-dev && pip install evdev"


def open_gamepad(*, dead_man: bool) -> Gamepad:
    """Open the first gamepad of this computer."""
    try:
        import evdev
    except ImportError as error:
        raise MissingPackageError("evdev", "--operator gamepad", _install_command()) from error
    for path in evdev.list_devices():
        device = evdev.InputDevice(path)
        if DEAD_MAN in device.capabilities().get(KEY, []):
            return Gamepad(device, dead_man=dead_man)
    found = [path.name for path in Path("/dev/input").glob("event*")]
    raise SoloError(
        f"No gamepad among {found or 'no input devices'}. "
        "Plug one in; /dev/input/event* must be readable."
    )
