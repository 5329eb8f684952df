"""Where the Isaac Gym worker of this package lies, and how many robots it is given."""

from __future__ import annotations

from pathlib import Path

from solo_doi.sim.isaac_config import IsaacConfig, find_isaac

WORKER = Path(__file__).parent / "isaac_worker"
NUM_ROBOTS = 4096
"""Robots that are simulated together unless told otherwise: enough to keep a GPU busy."""


def isaac_for(sim: str, python: Path | None = None) -> IsaacConfig | None:
    """Return how to start Isaac Gym if that is the simulator, nothing otherwise."""
    return find_isaac(WORKER, python) if sim == "isaacgym" else None
