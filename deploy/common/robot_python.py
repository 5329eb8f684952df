"""The interpreter that the robot process runs in: this one, or that of an environment made by `install_robot`.

Standard library only: both this project's environment and a bare Python ask here.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from solo_doi.common.child_python import child_environment, program_command
from solo_doi.common.errors import SoloError
from solo_doi.common.version import __version__

ADVICE = "Make an environment: solo-deploy install-robot; then add: --robot-python .venv-robot/bin/python"
PATIENCE = 60.0
"""How long an interpreter may take to import [s]; it takes one."""
_LIBRARIES = {
    "native": "deploy.robots.odri.drivers.native_board",
    "sdk": "libmaster_board_sdk_pywrap",
}


def check_robot_python(python: Path | None, driver: str) -> None:
    """Refuse an interpreter that could not run the robot process with a driver; `None` is this interpreter.

    Raises:
        SoloError: Naming what it lacks, and how to get it.
    """
    if python is None and driver == "native":
        return  # comes with this project
    program = f"import lcm, deploy.robots.process.__main__, {_LIBRARIES[driver]}, solo_doi; print(solo_doi.__version__)"
    found = ask(
        python or Path(sys.executable), program, f"it cannot run the driver {driver!r}. {ADVICE}"
    )
    if found != __version__:
        raise SoloError(
            f"{python}: has version {found} of this project, not {__version__}. {ADVICE}"
        )


def ask(python: Path, program: str, otherwise: str) -> str:
    """Return what an interpreter prints when it runs a program.

    Raises:
        SoloError: It fails, with the last line of its complaint, or does not exist; and what `otherwise` says.
    """
    try:
        ran = subprocess.run(
            program_command(program, python=python),
            env=child_environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = (
            error.strerror if isinstance(error, OSError) else f"no answer within {PATIENCE:g} s"
        )
        raise SoloError(f"{python}: no Python that can be run ({reason}); {otherwise}") from error
    if ran.returncode:
        complaint = (ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"])[-1]
        raise SoloError(f"{python}: {complaint}; {otherwise}")
    return ran.stdout.strip()
