"""Live page of a deployment: a thread that serves it while robot and controller run.

The thread belongs to the supervisor. The control loop is another process and does not notice it.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from deploy.common.deploy_config import DeployConfig
from deploy.console.console import Sender
from deploy.messages.lcm_link import COMMAND_CHANNEL, STATE_CHANNEL, STATUS_CHANNEL, LcmLink
from solo_doi.policies.bundle.reader import Bundle

from .page_device import PageDevice
from .page_server import PageServer
from .robot_view import RobotView
from .stop_button import StopButton

PAGE_POLL_SECONDS = 0.02
"""Period of receiving messages and repeating a stop [s]."""
SNAPSHOT_POLLS = 3
"""Polls between two snapshots: 17 per second."""
NEWEST = 3
"""Length of the receive queues. LCM drops what does not fit, so that a thousand states per second
cost no more than those that are shown."""


class LivePage:
    """Content of the page of a running deployment."""

    def __init__(
        self,
        config: DeployConfig,
        bundle: Bundle,
        link: LcmLink,
        device: PageDevice | None,
        log: Callable[[str], object],
    ) -> None:
        """Subscribe to all messages that are shown; `device` gets the driver's requests."""
        self._config = config
        self._device = device
        self._link = link
        self._low = np.array(bundle.contract.command_range["low"])
        self._high = np.array(bundle.contract.command_range["high"])
        allowed = frozenset(bundle.allowed(force=config.force))
        self.view = RobotView(bundle.contract, allowed, config.controller.safety)
        self._button = StopButton(Sender(link), log)
        for channel in (STATE_CHANNEL, COMMAND_CHANNEL, STATUS_CHANNEL):
            link.subscribe(channel, self._updater(channel), queue=NEWEST)

    def greeting(self) -> dict[str, Any]:
        """Return what does not change."""
        return {
            "kind": "live",
            "robot": self._config.robot,
            "operator": self._config.operator,
            **self.view.layout(),
        }

    def on_drive(self, message: dict[str, Any]) -> None:
        """Pass a message of the driver to the console."""
        if self._device is not None:
            self._device.drive(message, self._low, self._high)

    def on_stop(self, who: str) -> int | None:
        """Stop the robot; the console repeats it too, if the page drives."""
        request = self._button.press(f"viewer {who}")
        if request is None:
            return None
        if self._device is not None:
            self._device.put(request)
        return self._button.presses

    def poll(self) -> None:
        """Receive messages, and repeat a stop that is not confirmed."""
        self._link.receive()
        self._button.repeat(confirmed=self.view.is_stopped)

    def snapshot(self) -> dict[str, Any]:
        """Return what the page shows now."""
        return {**self.view.snapshot(), "stops": self._button.presses}

    def _updater(self, channel: str) -> Callable[[Any, bytes], None]:
        return lambda message, data: self.view.update(channel, message)


@contextmanager
def live_page(
    page: LivePage,
    listener: socket.socket,
    write: Callable[[str], object],
    *,
    drivable: bool,
    frame: int = 0,
    on_snapshot: Callable[[dict[str, Any]], object] = lambda snapshot: None,
) -> Iterator[PageServer]:
    """Serve a page in a thread; print its link.

    `frame` is the port of a view that the page frames, `on_snapshot` is called with its poses.
    """
    server = PageServer(listener, page, drivable=drivable, frame=frame)
    ended = threading.Event()
    serving = _serve(page, server, ended, on_snapshot)
    thread = threading.Thread(target=lambda: asyncio.run(serving), name="page", daemon=True)
    thread.start()
    write(f"page: {server.link}\n")
    try:
        yield server
    finally:
        ended.set()
        thread.join()


async def _serve(
    page: LivePage,
    server: PageServer,
    ended: threading.Event,
    on_snapshot: Callable[[dict[str, Any]], object],
) -> None:
    async with server.start():
        polls = 0
        while not ended.is_set():
            page.poll()
            polls += 1
            if polls % SNAPSHOT_POLLS == 0:
                snapshot = page.snapshot()
                server.broadcast(snapshot)
                on_snapshot(snapshot)
            await asyncio.sleep(PAGE_POLL_SECONDS)
        await server.farewell({"ended": True})
