"""Interpreter of the robot process: this one, or that of an environment made by `install_robot`.

Standard library only: a Python without installed packages imports this module too.
"""

from __future__ import annotations

import sys
from pathlib import Path

from solo_doi.common.child_python import run_program
from solo_doi.common.errors import SoloError
from solo_doi.common.version import __version__

ADVICE = (
    "Make an environment: solo-deploy install-robot; "
    "then add: --robot-python .venv-robot/bin/python"
)
_LIBRARIES = {
    "native": "deploy.robots.odri.drivers.native_board",
    "sdk": "libmaster_board_sdk_pywrap",
}


def check_robot_python(python: Path | None, driver: str) -> None:
    """Check that an interpreter can run the robot process with a driver; None means this one.

    Raises:
        SoloError: Something is missing; the message says how to get it.
    """
    if python is None and driver == "native":
        return  # the native driver is part of this project
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
