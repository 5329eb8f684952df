"""Location of Isaac Gym: interpreter, worker folder and device."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from solo_doi.common.errors import ALL_CHECKS, SoloError

PYTHON_VARIABLE = "SOLO_ISAAC_PYTHON"
"""Environment variable with the interpreter's path."""


@dataclass(frozen=True, kw_only=True)
class IsaacConfig:
    """Settings with which the worker process is started."""

    python: Path
    """Python 3.8 in which `import isaacgym` works."""
    worker: Path
    """Folder that holds the worker's package, `solo_isaac`."""
    device: str = "cuda:0"
    """GPU to simulate on, or `cpu`, which is slow."""

    def __post_init__(self) -> None:
        """Refuse a program that cannot run, or a folder without the worker."""
        if not os.access(self.python, os.X_OK) or self.python.is_dir():
            raise SoloError(
                f"{self.python}: not a program that can be run. Name the Python 3.8 that has "
                f"Isaac Gym with --isaac-python or {PYTHON_VARIABLE}, such as "
                "~/miniconda3/envs/isaac/bin/python."
            )
        if not (self.worker / "solo_isaac" / "__main__.py").is_file():
            raise SoloError(
                f"{self.worker}: no worker of Isaac Gym here, "
                "expected a folder with solo_isaac in it."
            )


def find_isaac(worker: Path, python: Path | None = None) -> IsaacConfig:
    """Return the worker's settings, with the interpreter from the argument or the environment."""
    variable = os.environ.get(PYTHON_VARIABLE)
    if python is None and variable:
        python = Path(variable)
    if python is None:
        raise SoloError(
            "Isaac Gym runs in a separate Python 3.8: name it with --isaac-python or "
            f"{PYTHON_VARIABLE}, such as ~/miniconda3/envs/isaac/bin/python. "
            f"Without a GPU for it, use --sim mujoco. ({ALL_CHECKS})"
        )
    return IsaacConfig(python=python.expanduser(), worker=worker)
