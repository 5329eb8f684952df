"""Input device of a deployment's operator: choose it, acquire it, release it."""

from __future__ import annotations

import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import numpy as np

from deploy.common.deploy_config import DeployConfig
from deploy.common.state_machine import ControllerState
from deploy.console.console import Device
from deploy.messages.operator_request import OperatorRequest
from solo_doi.common.errors import SoloError
from solo_doi.solo12.constants import Array

if TYPE_CHECKING:
    from typing import Self  # novm: not in Python 3.10, which robots' computers may have


def make_device(config: DeployConfig) -> Device:
    """Return the operator's device; a missing gamepad is an error here."""
    if config.operator == "gamepad":
        from deploy.console.gamepad import open_gamepad

        return open_gamepad(dead_man=config.dead_man)
    if config.operator == "page":
        from deploy.console.page.page_device import PageDevice

        return PageDevice()
    from deploy.console.guided import GuidedScript
    from deploy.console.keyboard import Keyboard

    if config.operator == "keyboard":
        return Keyboard()
    velocity = None
    if config.velocity is not None:
        velocity = np.array(config.velocity)
    skills = (config.skill, *config.then)
    return GuidedScript(skills, config.seconds, velocity, sys.stdout.write, config.distance)


@contextmanager
def acquired(device: Device | None, config: DeployConfig) -> Iterator[Device | None]:
    """Acquire the device before any process starts, and release it after all have ended.

    A device that cannot be acquired is an error, not a lost operator.
    """
    if device is None:
        yield None
        return
    try:
        device.__enter__()
    except (OSError, termios.error) as error:
        name = "gamepad" if config.operator == "gamepad" else "keyboard"
        raise SoloError(
            f"The {name} cannot be acquired ({error.args[-1]}). End the program that uses it, "
            "then try again."
        ) from error
    try:
        yield _AcquiredDevice(device)
    finally:
        with suppress(OSError, termios.error):  # the terminal may be gone
            device.__exit__(None, None, None)


class _AcquiredDevice:
    """An acquired device; entering and leaving it does nothing, since `acquired` did or does it."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.help = device.help
        self.can_rearm = device.can_rearm
        self.rearm_key = device.rearm_key

    @property
    def velocity(self) -> Array | None:
        return self._device.velocity

    def read(
        self, seconds: float, state: ControllerState | None
    ) -> tuple[list[OperatorRequest], bool]:
        return self._device.read(seconds, state)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Do nothing."""
