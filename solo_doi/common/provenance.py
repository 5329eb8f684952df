"""What made an artefact: versions and commit, recorded beside it."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from pathlib import Path

from solo_doi.common.version import __version__

PACKAGES = ("numpy", "mujoco", "pybullet", "torch", "h5py", "onnx", "onnxruntime")


def software() -> dict[str, str]:
    """Return versions of Python, of this project and of the packages that numbers depend on."""
    versions = {"python": platform.python_version(), "solo-doi": __version__, "commit": commit()}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def commit() -> str:
    """Return the commit of the source tree, with a mark if files differ from it; `unknown` outside of git."""
    command = (
        "git",
        "-C",
        str(Path(__file__).parent),
        "describe",
        "--always",
        "--dirty",
        "--abbrev=12",
    )
    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
