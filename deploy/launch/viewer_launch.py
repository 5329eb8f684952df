"""Start of the process that shows the robot in three dimensions, and poses for it."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from solo_doi.common.child_python import child_environment, module_command

VIEWER_MODULE = "deploy.viewer"
VIEW_VARIABLE = "SOLO_VIEW_3D"
"""Environment variable; 0 leaves the view out, for slow computers."""
NEEDED_PACKAGES = ("viser", "mujoco")
START_TIMEOUT = 30.0
"""Timeout of the view's start; without it, the page continues without a view [s]."""
END_SECONDS = 5.0
"""Time for the view's process to end before it is killed [s]."""


class RobotViewer:
    """Connection to the process of the view; it can only be written to."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        """Write to a process that serves the view on a port."""
        assert process.stdin is not None
        self._pipe = process.stdin.fileno()
        os.set_blocking(self._pipe, False)
        self.port = port
        """Port of the view, on the loopback interface."""
        self._travelled = 0.0
        self._at = math.nan

    def show(self, snapshot: dict[str, Any]) -> None:
        """Draw the pose of a page's snapshot; leave it out if the process is busy or has ended."""
        if "position" not in snapshot or "quaternion" not in snapshot:
            return
        self._travel(snapshot)
        content = {
            "joints": snapshot["position"],
            "quaternion": snapshot["quaternion"],
            "travelled": self._travelled,
        }
        try:
            # Shorter than PIPE_BUF, so that it is written as a whole or not at all.
            os.write(self._pipe, json.dumps(content).encode() + b"\n")
        except OSError:
            return

    def _travel(self, snapshot: dict[str, Any]) -> None:
        """Add the way since the snapshot before, for the ground below the robot."""
        velocity = (snapshot.get("velocity") or [0.0])[0]
        step = snapshot["time"] - self._at
        if velocity is not None and math.isfinite(velocity) and 0 < step < 1:
            self._travelled += velocity * step
        self._at = snapshot["time"]


def can_view() -> bool:
    """Return True if the packages of the view are installed, and the view is not left out."""
    if os.environ.get(VIEW_VARIABLE) == "0":
        return False
    return all(importlib.util.find_spec(name) is not None for name in NEEDED_PACKAGES)


@contextmanager
def robot_viewer(page_port: int) -> Iterator[RobotViewer | None]:
    """Run the process of the view for a page; None without its packages, or if it fails."""
    if not can_view():
        yield None
        return
    process = subprocess.Popen(
        module_command(VIEWER_MODULE, str(page_port)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=child_environment(),
        cwd="/",  # it needs no file of the deployment
    )
    assert process.stdout is not None
    try:
        ready, _, _ = select.select([process.stdout], [], [], START_TIMEOUT)
        line = process.stdout.readline() if ready else b""
        yield RobotViewer(process, int(line)) if line.strip().isdigit() else None
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process by the end of its input; kill it if it stays."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.close()
        process.wait(END_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        process.kill()
        process.wait()
    process.stdout.close()
