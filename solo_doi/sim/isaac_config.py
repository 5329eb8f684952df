"""Where Isaac Gym is: the interpreter that has it, the worker that runs there, the device it uses."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from solo_doi.common.errors import SoloError

PYTHON_VARIABLE = "SOLO_ISAAC_PYTHON"


@dataclass(frozen=True, kw_only=True)
class IsaacConfig:
    """How the worker is started; whoever owns the worker says where it lies."""

    python: Path
    """Python 3.8 in which `import isaacgym` works."""
    worker: Path
    """Folder that holds the worker's package, `solo_isaac`."""
    device: str = "cuda:0"
    """GPU to simulate on, or `cpu`, which is slow."""

    def __post_init__(self) -> None:
        """Refuse what cannot be started, before anything waits for it."""
        if not os.access(self.python, os.X_OK) or self.python.is_dir():
            raise SoloError(
                f"{self.python}: not a program that can be run. Name the Python 3.8 that has Isaac Gym with "
                f"--isaac-python or {PYTHON_VARIABLE}, such as ~/miniconda3/envs/isaac/bin/python."
            )
        if not (self.worker / "solo_isaac" / "__main__.py").is_file():
            raise SoloError(
                f"{self.worker}: no worker of Isaac Gym here, expected a folder with solo_isaac in it."
            )


def find_isaac(worker: Path, python: Path | None = None) -> IsaacConfig:
    """Return the worker's configuration, with the interpreter from the argument or the environment."""
    named = python or (
        Path(os.environ[PYTHON_VARIABLE]) if os.environ.get(PYTHON_VARIABLE) else None
    )
    if named is None:
        raise SoloError(
            f"Isaac Gym runs in a Python 3.8 of its own: name it with --isaac-python or {PYTHON_VARIABLE}, such as "
            "~/miniconda3/envs/isaac/bin/python. Without a GPU for it, use --sim mujoco."
        )
    return IsaacConfig(python=named.expanduser(), worker=worker)
