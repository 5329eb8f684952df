"""Make the environment of a robot's computer: controller, robot process and drivers, without torch or a simulator.

`solo-deploy install-robot`, or in a checkout, before anything is installed, `python3 -m deploy.install.install_robot`.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from deploy.common.robot_python import ask, check_robot_python
from solo_doi import __version__
from solo_doi.common.errors import SoloError, one_line
from solo_doi.common.files import write_text

HERE = Path(__file__).parent
REQUIREMENTS = {
    "native": HERE / "robot-requirements.txt",
    "sdk": HERE / "robot-requirements-sdk.txt",
}
"""The one place where versions are written. With `sdk` both drivers work."""
PYTHONS = ("3.10", "3.11")
MACHINES = ("x86_64", "aarch64")
DONE_FILE = "solo-robot.json"
"""Written last: a folder without it was not finished."""
PIP = ("-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
"""Without dependencies: the requirements are complete, and the project's own would bring the laboratory's."""


def install(out: Path, driver: str, python: Path) -> Path:
    """Make the environment in a new folder, prove that it can run a robot, and return its interpreter.

    Raises:
        SoloError: This machine or Python has no wheels, the folder exists, or something could not be installed.
    """
    source = _check(out, python)
    interpreter = out.absolute() / "bin" / "python"
    try:
        _run(
            python, "-I", "-m", "venv", "--copies", str(out)
        )  # an interpreter of its own can be given rights of its own
        _run(
            interpreter, *PIP, "--only-binary", ":all:", "--requirement", str(REQUIREMENTS[driver])
        )
        # The project asks for Python 3.11, as its laboratory does; what runs on a robot is tested to need 3.10 only.
        _run(interpreter, *PIP, "--ignore-requires-python", "--editable", str(source))
        _run(interpreter, "-I", "-m", "pip", "--disable-pip-version-check", "check")
        check_robot_python(interpreter, driver)
        write_text(out / DONE_FILE, json.dumps({"solo-doi": __version__, "driver": driver}) + "\n")
    except BaseException:  # also Ctrl-C: what is half-made goes
        shutil.rmtree(out, ignore_errors=True)
        raise
    return interpreter


def _check(out: Path, python: Path) -> Path:
    """Refuse before anything is made; return where this project's source is."""
    if platform.system() != "Linux" or platform.machine() not in MACHINES:
        found = f"{platform.system()} on {platform.machine()}"
        raise SoloError(
            f"This is {found}; a robot's computer runs Linux on {' or '.join(MACHINES)}."
        )
    if out.exists():
        state = "is a finished" if (out / DONE_FILE).is_file() else "exists, and is not a finished"
        raise SoloError(f"{out}: {state} robot environment. Remove it, or choose another --out.")
    version = ask(
        python, "import sys; print('%d.%d' % sys.version_info[:2])", "name another with --python"
    )
    if version not in PYTHONS:
        raise SoloError(
            f"{python}: is Python {version}; expected {' or '.join(PYTHONS)}. Name one with --python."
        )
    if not (HERE.parents[1] / "pyproject.toml").is_file():
        raise SoloError(
            f"{HERE.parents[1]}: no pyproject.toml beside the code. Run this in a checkout of the project."
        )
    return HERE.parents[1]


def _run(*command: Path | str) -> None:
    ran = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if ran.returncode:
        lines = [line for line in ran.stdout.strip().splitlines() if not line.startswith("WARNING")]
        raise SoloError(
            f"{' '.join(map(str, command))}: {' '.join(lines[-3:]) or f'exit code {ran.returncode}'}"
        )


def main(words: Sequence[str] | None = None) -> None:
    """Run the command; errors the user can mend are one line."""
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
        help="native: leave the vendor's library out",
    )
    parser.add_argument(
        "--python",
        type=Path,
        default=Path(sys.executable),
        help="Python 3.10 or 3.11 to make it from",
    )
    arguments = parser.parse_args(words)
    with one_line("solo-deploy install-robot"):
        python = install(arguments.out, arguments.driver, arguments.python)
        sys.stdout.write(
            f"{arguments.out}: ready. Use {python.parent}/solo-deploy, or --robot-python {python}\n"
        )


if __name__ == "__main__":
    main()
