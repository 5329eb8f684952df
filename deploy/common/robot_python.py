"""The robot process's interpreter: this one, or that of an environment made by `install_robot`.

Standard library only, since a bare Python imports this module too.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from solo_doi.common.child_python import child_environment, program_command
from solo_doi.common.errors import SoloError
from solo_doi.common.version import __version__

ADVICE = (
    "Make an environment: solo-deploy install-robot; "
    "then add: --robot-python .venv-robot/bin/python"
)
IMPORT_TIMEOUT = 60.0
"""Timeout of an interpreter's imports, which take about 1 s [s]."""
_LIBRARIES = {
    "native": "deploy.robots.odri.drivers.native_board",
    "sdk": "libmaster_board_sdk_pywrap",
}


def check_robot_python(python: Path | None, driver: str) -> None:
    """Check that an interpreter can run the robot process with a driver; None is this interpreter.

    Raises:
        SoloError: Something is missing; the message says how to get it.
    """
    if python is None and driver == "native":
        return  # comes with this project
    program = (
        f"import lcm, deploy.robots.process.__main__, {_LIBRARIES[driver]}, solo_doi; "
        "print(solo_doi.__version__)"
    )
    found = run_program(
        python or Path(sys.executable), program, f"it cannot run the driver {driver!r}. {ADVICE}"
    )
    if found != __version__:
        raise SoloError(
            f"{python}: has version {found} of this project, not {__version__}. {ADVICE}"
        )


def run_program(python: Path, program: str, otherwise: str) -> str:
    """Run a program in an interpreter and return its output.

    Raises:
        SoloError: It fails or does not exist. The message has the last line of its error output,
            and `otherwise`.
    """
    try:
        ran = subprocess.run(
            program_command(program, python=python),
            env=child_environment(),
            capture_output=True,
            text=True,
            timeout=IMPORT_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = (
            error.strerror
            if isinstance(error, OSError)
            else f"no answer within {IMPORT_TIMEOUT:g} s"
        )
        raise SoloError(f"{python}: no Python that can be run ({reason}); {otherwise}") from error
    if ran.returncode:
        complaint = (ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"])[-1]
        raise SoloError(f"{python}: {complaint}; {otherwise}")
    return ran.stdout.strip()
