"""Deployments in a folder of hostile files: no process runs one of them."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
from pathlib import Path

import pytest

from solo_doi.common.child_python import child_environment, program_command
from tests.common.hostile_folder import HostileFolder
from tests.contract.board_runs import need_namespace

DEPLOY = "from deploy.cli.deploy import main; main()"


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostileFolder:
    """Return a folder of hostile files; unset the protection that Python 3.10 lacks."""
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    return HostileFolder(tmp_path)


def run(command: list[str], hostile: HostileFolder) -> None:
    """Run a command in the hostile folder; it must succeed, and no hostile file may run."""
    ran = subprocess.run(
        command,
        cwd=hostile.path,
        env={**child_environment(), "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert hostile.executed() == set(), ran.stdout + ran.stderr
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_robot_controller_and_recorder(hostile: HostileFolder) -> None:
    """The test covers the three processes of a deployment with the mock robot."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("", 0))
        url = f"udpm://239.255.76.67:{probe.getsockname()[1]}?ttl=0"
    words = ["--mock", "--fast", "--seconds", "1", "--url", url, "--out", "run"]
    run(program_command(DEPLOY, *words), hostile)
    assert (hostile.path / "run" / "log.lcm").stat().st_size > 0  # written by the recorder


def test_board_and_bench_process(hostile: HostileFolder) -> None:
    """The test covers the virtual board and the process that calibrates a robot."""
    need_namespace()
    words = ["calibrate", "--robot", "virtual", "--fast", "--yes", "--out", "robot.json"]
    script = shlex.join(program_command(DEPLOY, *words))
    run(["unshare", "-Urn", "sh", "-c", script], hostile)
    assert (hostile.path / "robot.json").is_file()
    assert os.listdir(hostile.path.parent) == ["hostile"]
