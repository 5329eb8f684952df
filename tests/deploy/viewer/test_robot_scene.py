"""Scene of the robot, on a server that only records."""

from __future__ import annotations

import json
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from solo_doi.solo12.constants import CONTROL_SETUPS, FOOT_NAMES

pytest.importorskip("viser", reason="needs the extra `view`")
from deploy.viewer.robot_scene import GRID_CELL, RobotScene, pose_of

STANDING = CONTROL_SETUPS["locomotion"].default_pose


class Recorder:
    """Stand-in for viser's server."""

    def __init__(self) -> None:
        """Record names of meshes."""
        self.meshes: list[str] = []
        self.scene = self
        self.initial_camera = SimpleNamespace()
        self.atomic = nullcontext

    def add_frame(self, name: str, **options: Any) -> SimpleNamespace:
        """Return a handle."""
        return SimpleNamespace(name=name)

    def add_grid(self, name: str, **options: Any) -> SimpleNamespace:
        """Return a handle."""
        self.ground = SimpleNamespace(name=name)
        return self.ground

    def add_mesh_simple(self, name: str, **options: Any) -> None:
        """Record a mesh, which must be whole."""
        assert options["faces"].max() < len(options["vertices"])
        self.meshes.append(name)


def content(roll: float = 0.0, travelled: float = 0.0) -> dict[str, Any]:
    """Return a pose as the process receives it."""
    quaternion = [np.cos(roll / 2), np.sin(roll / 2), 0, 0]
    return {"joints": STANDING.tolist(), "quaternion": quaternion, "travelled": travelled}


def test_the_lowest_foot_is_on_the_ground() -> None:
    server = Recorder()
    scene = RobotScene(server)
    assert len(server.meshes) == 17  # base, and four bodies of each leg
    for roll in (0.0, 0.5):
        pose = pose_of(json.loads(json.dumps(content(roll, travelled=3.1 * GRID_CELL))))
        assert pose is not None
        places = scene.show(pose)
        heights = [places[name][2] for name in FOOT_NAMES]
        assert min(heights) == pytest.approx(0.0, abs=1e-9)
        assert bool(max(heights) > 0.05) == (roll > 0)
    assert server.ground.position[0] == pytest.approx(-0.1 * GRID_CELL)


@pytest.mark.parametrize(
    "change",
    [
        {"joints": [0.0] * 11},
        {"joints": None},
        {"joints": ["a"] * 12},
        {"joints": [float("nan")] * 12},
        {"quaternion": [0, 0, 0, 0]},
        {"quaternion": [1, 0, 0]},
        {"travelled": "far"},
        {"travelled": float("inf")},
    ],
)
def test_poses_that_cannot_be_drawn_are_left_out(change: dict[str, Any]) -> None:
    assert pose_of({**content(), **change}) is None
    assert pose_of({}) is None
