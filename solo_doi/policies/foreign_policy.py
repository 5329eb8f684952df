"""Policies of other projects, by the kind of their file."""

from __future__ import annotations

from pathlib import Path

from .mlp_policy import MlpPolicy, PolicyFileError


def read_foreign_policy(path: Path) -> MlpPolicy:
    """Read a Stable-Baselines3 archive or a .npz file.

    Raises:
        PolicyFileError: The file is of another kind, or it cannot be read safely.
    """
    if path.suffix == ".npz":
        from .npz_policy import read_npz_policy

        return read_npz_policy(path)
    if path.suffix == ".zip":
        from .sb3_policy import read_sb3_policy  # imports torch

        return read_sb3_policy(path)
    raise PolicyFileError(
        f"{path}: expected a .zip file of Stable-Baselines3 (SAC, TQC) or a .npz file of arrays. "
        "Other files, such as pickles, are never opened: they can run any code."
    )
