"""Killed, unplugged and interrupted processes of a deployment on the virtual board.

The tests check outcomes, not times.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.contract.board_runs import need_namespace
from tests.sizes import size

from .test_virtual import NETWORK, ROOT

STOPPED = "stopped before the script was done"


def play(name: str, out: Path) -> tuple[int, dict[str, Any]]:
    """Run a scenario in a network of its own; return the exit code and the summary."""
    need_namespace()
    script = f"{NETWORK} && exec {sys.executable} -m tests.deploy.scenarios '{name}' {out}"
    ran = subprocess.run(
        ["unshare", "-Urn", "sh", "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert "Traceback" not in ran.stderr, ran.stderr
    assert (out / "summary.json").exists(), ran.stdout + ran.stderr
    return ran.returncode, json.loads((out / "summary.json").read_text())


FAULTS = [
    ("robot process killed", "the robot process ended without a report"),
    ("cable out", "robot: no data from the motors"),
    ("Ctrl-C in bring-up", STOPPED),
]
MORE_FAULTS = [
    ("board killed", "the robot process ended without a report"),
    ("Ctrl-C walking", STOPPED),
]
"""Faults for `.ci/full`: in CI, they happen to the PyBullet robot and to a board in memory."""


@pytest.mark.parametrize(("name", "problem"), size(in_ci=FAULTS, in_full=[*FAULTS, *MORE_FAULTS]))
def test_faults_of_processes_are_reported(name: str, problem: str, tmp_path: Path) -> None:
    """The exit code is 1, the problem has a text, and an incident folder has its history."""
    code, summary = play(name, tmp_path / "run")
    assert code == 1
    assert any(found.startswith(problem) for found in summary["problems"]), summary["problems"]
    (incident, *_) = sorted((tmp_path / "run").glob("incident-*"))
    assert (incident / "cause.txt").read_text().strip()
    assert (incident / "log.lcm").stat().st_size > 0


def test_a_network_that_is_gone_damps(tmp_path: Path) -> None:
    """No message is delivered.

    Both processes continue, and each reports the silence of the other.
    """
    code, summary = play("loopback gone", tmp_path / "run")
    robot, controller = (
        json.loads((tmp_path / "run" / f"{name}.json").read_text())
        for name in ("robot", "controller")
    )
    assert code == 1
    assert robot["fault"], summary["problems"]
    assert controller["faults"]
    assert min(robot["unsent"], controller["unsent"]) > 0
    (incident, *_) = sorted((tmp_path / "run").glob("incident-*"))
    assert (incident / "cause.txt").read_text().strip()


def test_another_host_cannot_move_the_robot(tmp_path: Path) -> None:
    """Its commands do not arrive, and the robot walks to the end.

    No message leaves this host.
    """
    code, summary = play("stranger", tmp_path / "run")
    sent, heard = map(int, (tmp_path / "run" / "stranger.txt").read_text().split())
    assert code == 0, summary["problems"]
    assert sent > 100
    assert heard == 0
    assert summary["forged"] == 0
    assert summary["walk"]["velocity"] > 0.5
