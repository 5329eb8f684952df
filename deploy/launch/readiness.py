"""Conditions for moving a real robot: real-time rights, and a GO of today's check."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

from deploy.common.deploy_config import DeployConfig
from deploy.common.interpreter_rights import rights_command
from deploy.robots.odri.bring_up.calibration import default_path, load
from deploy.robots.registry import kind_of
from solo_doi.common.child_python import child_environment, program_command
from solo_doi.common.errors import SoloError
from solo_doi.common.files import write_text

RIGHTS_PROGRAM = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"
"""Program that fails without the right to real-time scheduling."""
RIGHTS_SECONDS = 20.0
"""Timeout of this program [s]."""


def go_path() -> Path:
    """Return the path of the record of the last GO, beside the calibration."""
    return default_path().with_name("check.json")


def record_go(board: str) -> None:
    """Store that all checks of a board were made today and passed."""
    go_path().parent.mkdir(parents=True, exist_ok=True)
    write_text(go_path(), json.dumps({"board": board, "date": date.today().isoformat()}) + "\n")


def check_readiness(config: DeployConfig) -> None:
    """Refuse a real robot without real-time rights or without a GO of today.

    `allow_jitter` and `skip_check` allow them; both are stored with the run's settings.

    Raises:
        SoloError: The message has the missing condition and the remedy.
    """
    if not kind_of(config).is_real:
        return
    if not config.allow_jitter:
        for python in {str(config.robot_python or sys.executable), sys.executable}:
            _check_rights(python)
    if not config.skip_check:
        _check_go(config)


def _check_rights(python: str) -> None:
    command = program_command(RIGHTS_PROGRAM, python=python)
    result = subprocess.run(
        command, env=child_environment(), check=False, capture_output=True, timeout=RIGHTS_SECONDS
    )
    if result.returncode != 0:
        raise SoloError(
            f"--robot real needs real-time scheduling, which {python} may not use: ticks would be "
            f"late, and the robot would lie down or drop. Allow it with: {rights_command()}. "
            "--allow-jitter starts without it."
        )


def _check_go(config: DeployConfig) -> None:
    advice = "Run --check until it says GO, or start with --skip-check."
    assert config.calibration is not None, "a real robot has a calibration file"
    board = load(config.calibration).board
    try:
        record = json.loads(go_path().read_text())
        found = record["board"], record["date"]
    except (OSError, ValueError, KeyError, TypeError):
        raise SoloError(f"No check of this robot said GO yet. {advice}") from None
    if found[0] != board:
        raise SoloError(f"The last GO belongs to board {found[0]}, this is {board}. {advice}")
    if found[1] != date.today().isoformat():
        raise SoloError(f"The last GO is of {found[1]}, not of today. {advice}")
