"""solo-deploy install-robot: make the environment of a robot's computer."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class InstallRobotCommand:
    """Make the environment of a robot's computer: the vendor's library, LCM, no torch.

    Example: solo-deploy install-robot --out /opt/robot
    """

    out: Path = Path(".venv-robot")
    """Directory of the new environment."""
    driver: Literal["sdk", "native"] = "sdk"
    """Driver of the master board: sdk installs both drivers, native omits the vendor's library."""
    python: Path = Path(sys.executable)
    """Interpreter of the new environment, Python 3.10 or 3.11."""


def install_robot(command: InstallRobotCommand) -> None:
    """Make the environment."""
    from deploy.install.install_robot import install

    python = install(command.out, command.driver, command.python)
    print(
        f"{command.out}: ready. Use {python.parent}/solo-deploy, or pass --robot-python {python}."
    )
