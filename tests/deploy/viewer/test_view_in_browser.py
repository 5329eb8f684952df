"""The view of the robot in a real browser, framed by the operator's page."""

from __future__ import annotations

import asyncio
import io
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from deploy.console.page.page_server import PageServer, listen
from deploy.launch.viewer_launch import RobotViewer, robot_viewer
from solo_doi.solo12.constants import CONTROL_SETUPS, JOINT_NAMES
from tests.deploy.console.page.chromium import BROWSER_TIMEOUT, Chromium, Tab

pytest.importorskip("viser", reason="needs the extra `view`")
STANDING = CONTROL_SETUPS["locomotion"].default_pose
ROBOT_SHARE = 0.01
"""Smallest share of the view that the robot covers, and that changes when it leans."""


class Content:
    """Content of a page with a robot that stands."""

    def __init__(self) -> None:
        """Count stops."""
        self.stops = 0

    def greeting(self) -> dict[str, Any]:
        """Return a greeting with all entries that the page reads."""
        command = {"low": [0, 0, 0], "high": [0, 0, 0], "steerable": False}
        return {
            "kind": "live",
            "robot": "mock",
            "operator": "script",
            "states": [],
            "skills": [],
            "command": command,
            "joints": JOINT_NAMES,
            "lateness_edges_us": [1000],
        }

    def on_drive(self, message: dict[str, Any]) -> None:
        """Ignore the driver."""

    def on_stop(self, who: str) -> int:
        """Count a stop."""
        self.stops += 1
        return self.stops


def snapshot(roll: float) -> dict[str, Any]:
    """Return a snapshot of a robot that leans."""
    return {
        "time": 1.0,
        "velocity": [0.0, 0.0, 0.0],
        "position": STANDING.tolist(),
        "quaternion": [float(np.cos(roll / 2)), float(np.sin(roll / 2)), 0.0, 0.0],
    }


@contextmanager
def served(content: Content) -> Iterator[tuple[PageServer, RobotViewer]]:
    """Serve a page with a view."""
    with listen(0) as port, robot_viewer(int(port.getsockname()[1])) as viewer:
        assert viewer is not None
        server = PageServer(port, content, drivable=False, frame=viewer.port)
        loop = asyncio.new_event_loop()
        ended = asyncio.Event()

        async def serve() -> None:
            async with server.start():
                await ended.wait()

        thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
        thread.start()
        try:
            yield server, viewer
        finally:
            loop.call_soon_threadsafe(ended.set)
            thread.join()


def picture_of(tab: Tab) -> np.ndarray:
    """Return the middle of the view as brightnesses, (height, width)."""
    with Image.open(io.BytesIO(tab.picture("#frame"))) as image:
        whole = np.asarray(image.convert("L"), dtype=np.int16)
    height, width = whole.shape
    return whole[height // 4 :, width // 4 : 3 * width // 4]


def wait_for_picture(tab: Tab, holds: Callable[[np.ndarray], bool]) -> np.ndarray:
    """Wait until a condition holds for the view; return its picture."""
    deadline = time.monotonic() + BROWSER_TIMEOUT
    while not holds(now := picture_of(tab)):
        assert time.monotonic() < deadline, "the view does not show it"
        time.sleep(0.2)
    return now


def has_robot(picture: np.ndarray) -> bool:
    """Return True if grey bodies cover a part of the picture."""
    return bool(((picture > 30) & (picture < 180)).mean() > ROBOT_SHARE)


def test_the_robot_moves_and_keys_still_stop(tmp_path: Path) -> None:
    content = Content()
    with served(content) as (server, viewer), Chromium(tmp_path / "profile") as browser:
        viewer.show(snapshot(0.0))
        tab = browser.tab()
        tab.open(server.link)
        tab.wait("page.hello && !place('scene').hidden")
        tab.evaluate("place('frame').scrollIntoView({block: 'center'})")  # else it is not drawn
        standing = wait_for_picture(tab, has_robot)
        viewer.show(snapshot(0.7))
        wait_for_picture(tab, lambda now: bool((np.abs(now - standing) > 40).mean() > ROBOT_SHARE))

        tab.click("#frame")
        tab.wait("document.activeElement !== place('frame') && document.hasFocus()")
        tab.press(" ")
        tab.wait("place('connection').textContent.includes('stop received')")
        assert content.stops >= 1
        assert tab.errors == []
