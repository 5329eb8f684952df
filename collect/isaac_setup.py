"""Location of this package's Isaac Gym worker."""

from __future__ import annotations

from pathlib import Path

from solo_doi.sim.isaac_config import IsaacConfig, find_isaac

ISAAC_WORKER = Path(__file__).parent / "isaac_worker"
"""Folder of the worker's package."""


def isaac_config(sim: str, python: Path | None = None) -> IsaacConfig | None:
    """Return the settings of the worker if `sim` is Isaac Gym, None otherwise."""
    if sim != "isaacgym":
        return None
    return find_isaac(ISAAC_WORKER, python)
