"""A gamepad as an operator's device, by Linux's evdev."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from solo_doi.errors import MissingPackageError, SoloError

from .messages.wire import Request
from .operators import Wish

if TYPE_CHECKING:
    from typing import Self  # novm: not in Python 3.10, which robots' computers may have

BUTTONS = {
    304: Wish(Request.STAND),  # south
    305: Wish(Request.SIT),  # east
    307: Wish(Request.WALK),  # north
    308: Wish(Request.STOP),  # west
    314: Wish(Request.DAMP),  # select
    315: Wish(Request.REARM),  # start
}
DEAD_MAN = 311
"""Right shoulder: held while the robot may move, if a dead man's button is asked for."""
KEY, AXIS = 1, 3
AXES = {1: (0, -1.0), 0: (1, -0.5), 3: (2, -1.0)}
"""Axis of a stick: which velocity it sets, and its value at the end of the stick."""
DEAD_ZONE = 0.1


class Gamepad:
    """Buttons for states, sticks for velocities."""

    help = "A stand · B lie down · Y walk · X stop · SELECT damp at once · START re-arm · sticks: velocity"

    def __init__(self, device: Any, *, dead_man: bool) -> None:  # noqa: ANN401  # evdev has no types
        """Read from an opened device; with `dead_man`, silence unless its button is held."""
        self._device, self._dead_man = device, dead_man
        self._held = False
        self._velocity = np.zeros(3)
        if dead_man:
            self.help += " · hold the right shoulder button, or motors are damped"

    def __enter__(self) -> Self:
        """Take the gamepad for ourselves."""
        self._device.grab()
        return self

    def __exit__(self, *exception: object) -> None:
        """Give it back."""
        with contextlib.suppress(OSError):  # it was pulled out
            self._device.ungrab()

    def read(self, seconds: float) -> tuple[list[Wish], bool]:
        """Take what happened within `seconds`; a gamepad that is gone is a person that is gone."""
        time.sleep(seconds)
        wishes = []
        try:
            while (event := self._device.read_one()) is not None:
                wish = self._take(event)
                wishes += [] if wish is None else [wish]
        except OSError:
            return [], False
        present = self._held or not self._dead_man
        return (wishes if present else [wish for wish in wishes if wish.request is Request.DAMP]), present

    def _take(self, event: Any) -> Wish | None:  # noqa: ANN401
        if event.type == KEY and event.code == DEAD_MAN:
            self._held = event.value != 0
        elif event.type == KEY and event.value == 1:
            return BUTTONS.get(event.code)
        elif event.type == AXIS and event.code in AXES:
            index, most = AXES[event.code]
            info = self._device.absinfo(event.code)
            share = 2 * (event.value - info.min) / (info.max - info.min) - 1
            velocity = self._velocity.copy()
            velocity[index] = 0.0 if abs(share) < DEAD_ZONE else most * share
            self._velocity = velocity
            return Wish(Request.NOTHING, velocity=velocity)
        return None


def open_gamepad(*, dead_man: bool) -> Gamepad:
    """Open the first gamepad of this computer."""
    try:
        import evdev
    except ImportError as error:
        raise MissingPackageError("evdev", "--operator gamepad", "pip install evdev-binary") from error
    for path in evdev.list_devices():
        device = evdev.InputDevice(path)
        if DEAD_MAN in device.capabilities().get(KEY, []):
            return Gamepad(device, dead_man=dead_man)
    found = [path.name for path in Path("/dev/input").glob("event*")]
    raise SoloError(f"No gamepad among {found or 'no input devices'}. Plug one in; /dev/input/event* must be readable.")
