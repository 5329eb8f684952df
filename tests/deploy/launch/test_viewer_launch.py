"""Poses for the process of the view: it never delays or ends the page."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from deploy.launch import viewer_launch
from deploy.launch.viewer_launch import RobotViewer, robot_viewer
from solo_doi.solo12.constants import NUM_JOINTS

POSE = {
    "time": 1.0,
    "velocity": [1.0, 0.0, 0.0],
    "position": [0.0] * NUM_JOINTS,
    "quaternion": [1.0, 0.0, 0.0, 0.0],
}


def child(program: str) -> subprocess.Popen[bytes]:
    """Start a process in place of the view."""
    return subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def test_a_pose_is_a_line_with_the_way_ahead() -> None:
    process = child("import sys; print(sys.stdin.readline() * 0 + sys.stdin.readline())")
    viewer = RobotViewer(process, 5)
    assert viewer.port == 5
    viewer.show({"time": 0.5, "velocity": None})  # no state yet
    viewer.show(POSE)
    viewer.show({**POSE, "time": 1.5})
    written, _ = process.communicate()
    found = json.loads(written)
    assert found["travelled"] == pytest.approx(0.5)
    assert found["joints"] == POSE["position"]


def test_a_process_that_does_not_read_costs_nothing() -> None:
    """The pipe is full after some thousand poses; further ones are dropped."""
    process = child("import time; time.sleep(600)")
    viewer = RobotViewer(process, 5)
    for _ in range(3000):
        viewer.show(POSE)
    process.kill()
    process.wait()
    viewer.show(POSE)  # an ended process is no error either
    process.communicate()


@pytest.mark.parametrize("missing", ["package", "variable", "process"])
def test_without_a_view_the_page_goes_on(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    if missing == "package":
        monkeypatch.setattr(viewer_launch, "NEEDED_PACKAGES", ("no_such_package",))
    if missing == "variable":
        monkeypatch.setenv(viewer_launch.VIEW_VARIABLE, "0")
    if missing == "process":
        monkeypatch.setattr(viewer_launch, "NEEDED_PACKAGES", ())
        monkeypatch.setattr(viewer_launch, "VIEWER_MODULE", "no_such_module")
    with robot_viewer(1) as viewer:
        assert viewer is None
