"""Commands that start a Python child process which imports nothing from the current directory.

`python -m` and `python -c` put the current directory first in `sys.path`. A file `random.py` or
`deploy.py` there would then run in every child process, on a robot with the right to raw sockets.

Alternatives that do not work:

- `-P` and `PYTHONSAFEPATH` alone: Python 3.10 and older do not support them.
- `-I`: it also drops `PYTHONPATH` and the user's site-packages, where a vendor's library may lie.
- `python FILE`: it puts the folder of the file first instead.

So a child runs a short program with `-c`. Its first statement imports `sys`, which is built in and
cannot be replaced by a file; its second takes the current directory out of `sys.path`. An
editable install, a wheel, `PYTHONPATH` and other interpreters keep working: their entries are
never the empty string.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .errors import SoloError

IMPORT_TIMEOUT = 60.0
"""Timeout of an interpreter's imports, which take about 1 s [s]."""

FORGET_CURRENT_DIRECTORY = (
    "import sys; sys.path[:] = [folder for folder in sys.path if folder]; "
    "import os; os.environ['PYTHONSAFEPATH'] = '1'; "
)
"""Start of every child's program. With `-c` the current directory is the empty string.

The variable protects processes that the child starts. Importing MuJoCo, for example, runs another
`python -c`.
"""
RUN_MODULE = (
    "del sys.argv[0]; import runpy; "
    "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)
"""Do what `-m` does with the first argument."""


def module_command(module: str, *arguments: str, python: Path | str = sys.executable) -> list[str]:
    """Return the command that runs a module as `python -m` does.

    The name of the module stays visible in the list of processes.
    """
    return [str(python), "-c", FORGET_CURRENT_DIRECTORY + RUN_MODULE, module, *arguments]


def program_command(
    program: str, *arguments: str, python: Path | str = sys.executable
) -> list[str]:
    """Return the command that runs a program text as `python -c` does."""
    return [str(python), "-c", FORGET_CURRENT_DIRECTORY + program, *arguments]


def child_environment() -> dict[str, str]:
    """Return this process's environment without empty entries in `PYTHONPATH`.

    `PYTHONPATH=/opt/lib:$PYTHONPATH` leaves one behind, and Python reads it as the current
    directory.
    """
    environment = dict(os.environ)
    folders = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    environment.pop("PYTHONPATH", None)
    if folders:
        environment["PYTHONPATH"] = os.pathsep.join(folders)
    return environment


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
