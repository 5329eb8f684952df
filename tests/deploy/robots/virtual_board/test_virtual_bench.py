"""Calibration and preflight by the command line, on a virtual board and a virtual cable."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import numpy as np

from deploy.robots.odri.bring_up.calibration import load, nearest
from deploy.robots.virtual_board.virtual_robot import CALIBRATION
from tests.command import SOLO_DEPLOY
from tests.contract.board_runs import ROOT, need_namespace


def solo_deploy(folder: Path, *commands: list[str]) -> list[tuple[int, str]]:
    """Run commands in a network of their own; return exit code and output of each."""
    need_namespace()
    program = shlex.join(SOLO_DEPLOY)
    script = "; ".join(f"{program} {shlex.join(words)} 2>&1; echo code=$?" for words in commands)
    ran = subprocess.run(
        ["unshare", "-Urn", "sh", "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,
    )
    found, words = [], []
    for line in ran.stdout.splitlines():
        if line.startswith("code="):
            found.append((int(line.removeprefix("code=")), "\n".join(words)))
            words = []
        else:
            words.append(line)
    assert len(found) == len(commands), ran.stdout + ran.stderr
    return found


def test_a_robot_is_calibrated_and_checked(tmp_path: Path) -> None:
    """The file has this robot's offsets, is not overwritten, and passes the preflight."""
    virtual = ["--robot", "virtual", "--fast", "--yes"]
    (made, words), (again, refusal), (checked, table) = solo_deploy(
        tmp_path,
        ["calibrate", *virtual, "--out", "robot.json"],
        ["calibrate", *virtual, "--out", "robot.json"],
        ["--check", *virtual, "--calibration", "robot.json"],
    )
    assert made == 0, words
    assert "robot.json: calibration of board 02:30:12:00:00:01" in words
    offset = load(tmp_path / "robot.json").offset
    np.testing.assert_allclose(nearest(offset - CALIBRATION.offset), 0, atol=0.012)
    assert (
        json.loads((tmp_path / "robot.json").read_text())["measured_with"] == "native, protocol 4"
    )
    assert again == 1
    assert "exists already" in refusal
    assert checked == 3, table
    assert "NO-GO" not in table
    assert "Nothing wrong, but not checked: joint order, joint signs, IMU nose up" in table


def test_looking_shows_joints_and_ends_by_itself(tmp_path: Path) -> None:
    """With --readonly it runs on the wall clock.

    The number of packets in that time depends on the machine.
    """
    ((code, words),) = solo_deploy(
        tmp_path, ["--robot", "virtual", "--readonly", "--seconds", "0.5"]
    )
    assert code == 0, words
    assert "HR_KFE" in words
    assert "0 lost, protocol 4" in words
    assert list(tmp_path.iterdir()) == []
