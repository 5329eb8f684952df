"""Versions and commit of the software that makes an artefact."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from pathlib import Path

from solo_doi.common.version import __version__

PACKAGES = (
    "numpy",
    "mujoco",
    "mujoco-warp",
    "warp-lang",
    "pybullet",
    "torch",
    "h5py",
    "onnx",
    "onnxruntime",
)


def software() -> dict[str, str]:
    """Return the versions of Python, of this project and of packages that affect results."""
    versions = {"python": platform.python_version(), "solo-doi": __version__, "commit": commit()}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def commit() -> str:
    """Return the commit of the source tree, marked `-dirty` if files differ.

    `unknown` without git.
    """
    folder = str(Path(__file__).parent)
    command = ("git", "-C", folder, "describe", "--always", "--dirty", "--abbrev=12")
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return result.stdout.strip()
