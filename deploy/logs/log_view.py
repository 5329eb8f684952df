"""Page of a recorded log: the view of a running robot, without its buttons."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from deploy.common.robot_constants import TICK
from deploy.common.state_machine import ControllerState
from deploy.console.page.page_server import PageServer
from deploy.console.page.robot_view import RobotView
from deploy.messages.generated import controller_status, joint_command, robot_state
from deploy.messages.lcm_link import STATUS_CHANNEL, Mode, blank, decode
from deploy.recorder.recorder import read_log
from solo_doi.common.errors import SoloError
from solo_doi.solo12.rotations import projected_gravity

from .controller_replay import open_log
from .log_series import MODE_STATES, read_history

FRAME_SECONDS = 0.05
"""Time between two frames [s]."""


class LogPage:
    """Content of the page of a log; all frames are sent at once."""

    def __init__(self, path: Path) -> None:
        """Read a log.

        Raises:
            SoloError: There is no log, or it has no states.
        """
        log, config, bundle = open_log(path)
        self._name = log.parent.name
        self._history = read_history(log.parent)
        allowed = frozenset(bundle.allowed(force=True))
        self._view = RobotView(bundle.contract, allowed, config.controller.safety)
        self.frames = self._read(log)
        if not self.frames:
            raise SoloError(f"{log}: holds no state of a robot; there is nothing to show.")

    def greeting(self) -> dict[str, Any]:
        """Return the whole recording."""
        return {
            "kind": "log",
            "name": self._name,
            **self._view.layout(),
            "frames": self.frames,
        }

    def on_drive(self, message: dict[str, Any]) -> None:
        """Do nothing: there is no robot."""

    def on_stop(self, who: str) -> None:
        """Do nothing: there is no robot."""

    def _read(self, log: Path) -> list[dict[str, Any]]:
        frames = []
        shown_ns = 0
        commanded_ns = 0
        command: joint_command | None = None
        for _, channel, data in read_log(log):
            message = decode(channel, data)
            if isinstance(message, joint_command):
                if commanded_ns:
                    late = 1e-9 * (message.time_ns - commanded_ns) - TICK
                    self._view.count_lateness(late)
                commanded_ns = message.time_ns
                command = message
            if message is not None and channel != STATUS_CHANNEL:
                self._view.update(channel, message)
            if isinstance(message, robot_state) and command is not None:
                if message.time_ns - shown_ns < 1e9 * FRAME_SECONDS:
                    continue
                shown_ns = message.time_ns
                self._view.status = self._status(message, command)
                frames.append({**self._view.snapshot(), "lateness": [*self._view.lateness]})
        return frames

    def _status(self, state: robot_state, command: joint_command) -> controller_status:
        """Return the status of the controller at a state, from its report and its command."""
        status = blank(STATUS_CHANNEL)
        status.state = MODE_STATES[Mode(command.mode)]
        status.skill = command.skill
        for entry in self._history:
            if entry["time"] <= state.time_ns * 1e-9:
                status.state = ControllerState[entry["state"]]
        status.velocity = [float("nan")] * 3  # estimated in the controller, not recorded
        status.gravity = projected_gravity(np.array(state.quaternion)).tolist()
        return status


def serve_log(path: Path, listener: socket.socket, write: Callable[[str], object]) -> None:
    """Serve the page of a log until Ctrl-C."""
    page = LogPage(path)
    server = PageServer(listener, page, drivable=False)

    async def run() -> None:
        async with server.start():
            write(f"page: {server.link}\nCtrl-C ends.\n")
            await asyncio.get_running_loop().create_future()  # never done

    asyncio.run(run())
