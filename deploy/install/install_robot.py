"""Make the environment of a robot's computer: controller, robot process and drivers, no torch.

Run `solo-deploy install-robot`. In a checkout, before anything is installed, run
`python3 -m deploy.install.install_robot`. Standard library only, so that a Python without
installed packages can run it.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deploy.common.interpreter_rights import OWNER_ONLY
from deploy.common.robot_python import check_robot_python
from solo_doi.common.child_python import run_program
from solo_doi.common.errors import SoloError, one_line
from solo_doi.common.files import write_text
from solo_doi.common.version import __version__

from .installed_wheel import write_wheel

HERE = Path(__file__).parent
REQUIREMENTS = {
    "native": HERE / "robot-requirements.txt",
    "sdk": HERE / "robot-requirements-sdk.txt",
}
"""Exact versions of all packages, per driver. With `sdk` both drivers work."""
PYTHONS = ("3.10", "3.11")
MACHINES = ("x86_64", "aarch64")
DONE_FILE = "solo-robot.json"
"""Written last: an environment without this file is incomplete."""
# -I: neither pip nor venv may import from the current directory.
PIP = ("-I", "-m", "pip", "--disable-pip-version-check")
# The requirements are complete. Without --no-deps, pip would add the project's own requirements,
# which are for laboratory computers. The project requires Python 3.11, but the code that runs on a
# robot needs only 3.10, which tests ensure.
PIP_INSTALL = (*PIP, "install", "--quiet", "--no-deps", "--ignore-requires-python")
PIP_INSTALL_PINNED = (*PIP_INSTALL, "--require-hashes", "--only-binary", ":all:")


def install(out: Path, driver: str, python: Path) -> Path:
    """Make the environment in a new folder, test it, and return its interpreter.

    Raises:
        SoloError: This machine or Python has no wheels, the folder exists, or a step failed.
    """
    _check(out, python)
    interpreter = out.absolute() / "bin" / "python"
    try:
        # Copies, not links: capabilities such as raw sockets are granted to this interpreter only.
        _run(python, "-I", "-m", "venv", "--copies", str(out))
        requirements = str(REQUIREMENTS[driver])
        _run(interpreter, *PIP_INSTALL_PINNED, "--requirement", requirements)
        _install_project(interpreter)
        _run(interpreter, *PIP, "check")
        check_robot_python(interpreter, driver)
        for copy in interpreter.parent.glob("python*"):
            copy.chmod(OWNER_ONLY)  # whoever runs it would have its capabilities
        write_text(out / DONE_FILE, json.dumps({"solo-doi": __version__, "driver": driver}) + "\n")
    except BaseException:  # also Ctrl-C: leave no incomplete environment behind
        shutil.rmtree(out, ignore_errors=True)
        raise
    return interpreter


def _check(out: Path, python: Path) -> None:
    """Check machine, folder and Python before anything is written."""
    if platform.system() != "Linux" or platform.machine() not in MACHINES:
        found = f"{platform.system()} on {platform.machine()}"
        raise SoloError(
            f"This is {found}; a robot's computer runs Linux on {' or '.join(MACHINES)}."
        )
    if out.exists():
        state = "exists, and is not a finished"
        if (out / DONE_FILE).is_file():
            state = "is a finished"
        raise SoloError(f"{out}: {state} robot environment. Remove it, or choose another --out.")
    program = "import sys; print('%d.%d' % sys.version_info[:2])"
    version = run_program(python, program, "name another with --python")
    if version not in PYTHONS:
        raise SoloError(
            f"{python}: is Python {version}; expected {' or '.join(PYTHONS)}. Name one with "
            "--python."
        )


def _install_project(interpreter: Path) -> None:
    """Install the running project, from its checkout or from a wheel of its installed files."""
    checkout = HERE.parents[1]
    if (checkout / "pyproject.toml").is_file():
        _run(interpreter, *PIP_INSTALL, "--editable", str(checkout))
        return
    with tempfile.TemporaryDirectory() as folder:
        _run(interpreter, *PIP_INSTALL, "--no-index", str(write_wheel(Path(folder))))


def _run(*command: Path | str) -> None:
    """Run a command; if it fails, raise SoloError with the end of its output."""
    ran = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if ran.returncode == 0:
        return
    lines = [line for line in ran.stdout.strip().splitlines() if not line.startswith("WARNING")]
    reason = " ".join(lines[-3:]) or f"exit code {ran.returncode}"
    raise SoloError(f"{' '.join(map(str, command))}: {reason}")


def main(words: Sequence[str] | None = None) -> None:
    """Run the command; errors that the user can correct are printed in one line."""
    parser = argparse.ArgumentParser(prog="solo-deploy install-robot", description=__doc__)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(".venv-robot"),
        help="folder to make (default: .venv-robot)",
    )
    parser.add_argument(
        "--driver",
        choices=("sdk", "native"),
        default="sdk",
        help="sdk: both drivers; native: without the vendor's library (default: sdk)",
    )
    parser.add_argument(
        "--python",
        type=Path,
        default=Path(sys.executable),
        help="Python 3.10 or 3.11 to make it from (default: this one)",
    )
    arguments = parser.parse_args(words)
    with one_line("solo-deploy install-robot"):
        python = install(arguments.out, arguments.driver, arguments.python)
        sys.stdout.write(
            f"{arguments.out}: ready. Use {python.parent}/solo-deploy, or --robot-python {python}\n"
        )


if __name__ == "__main__":
    main()
