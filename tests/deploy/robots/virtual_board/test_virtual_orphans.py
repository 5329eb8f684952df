"""A virtual board with a killed parent ends by itself."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.common.signals import PARENT
from deploy.robots.virtual_board.veth import PC_END
from tests.contract.board_runs import need_namespace

from .test_virtual import ROOT

BOARD = [sys.executable, "-m", "deploy.robots.virtual_board", "--veth", "--spread", "0"]
KILLED = """
    sh -c '{board} >said & echo $! >board; wait' &
    until [ -s said ] && {started}; do sleep 0.05; done
    kill -9 $!
    for _ in $(seq 400); do [ -s report ] && break; sleep 0.05; done
    [ -s report ] || {{ echo board lives; kill -9 $(cat board); }}
    ip link show {end} >cable && echo cable is there
    [ -e command ] && kill -9 $(cat command) && echo command lives
    true
"""


@pytest.mark.parametrize("clock", ["wall", "lock-step"])
@pytest.mark.parametrize("command", [[], ["--", "sh", "-c", "echo $$ >command; exec sleep 600"]])
def test_an_orphaned_board_ends_with_its_command_and_takes_the_cable_away(
    command: list[str], clock: str, tmp_path: Path
) -> None:
    """solo-deploy was killed by SIGKILL, which it cannot handle."""
    need_namespace()
    words = [*BOARD, "--clock", clock, "--report", "report", *command]
    script = KILLED.format(
        board=shlex.join(words).replace("'", "'\\''"),
        started="[ -s command ]" if command else "true",
        end=PC_END,
    )
    ran = subprocess.run(
        ["unshare", "-Urn", "sh", "-c", script],
        cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.stdout == "", ran.stderr
    assert json.loads((tmp_path / "report").read_text())["state"]


def test_the_boards_command_gets_the_board_as_parent(tmp_path: Path) -> None:
    """The parent is the board, not the process that started it."""
    need_namespace()
    command = shlex.join([*BOARD, "--", "sh", "-c", f"echo ${PARENT} $PPID >told"])
    subprocess.run(
        ["unshare", "-Urn", "sh", "-c", command],
        cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        PARENT: str(os.getpid())},
        capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    told, parent = (tmp_path / "told").read_text().split()
    assert told == parent
