"""solo-collect replay: simulate a stored trajectory again from its seed, and compare."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from solo_doi.common import settings
from solo_doi.data.dataset import Dataset
from solo_doi.data.shard import DataError
from solo_doi.sim import WarpConfig
from solo_doi.sim.domain import NOMINAL, Domain
from solo_doi.tasks import task_type
from solo_doi.tasks.episode import draw_episodes
from solo_doi.tasks.randomisation import randomisation

from .gpu import warp_config
from .isaac_setup import isaac_config
from .recipes import CollectConfig
from .rollout import roll_out
from .worker import recipe_simulator, start_episodes

COMPARED = (
    "observations",
    "next_observations",
    "rewards",
    "infos/base_position",
    "infos/base_quaternion",
)
"""Fields that are compared."""


def replay(folder: Path, trajectory: int, isaac_python: Path | None = None) -> dict[str, float]:
    """Simulate a trajectory's stored actions from its seed; return the largest difference by field.

    With the dataset's own software all are zero, except on a GPU, where results need not repeat.
    """
    dataset = Dataset(folder)
    _check(dataset, trajectory)
    if "recipe" not in dataset.manifest.origin:
        raise DataError(f"{folder}: made from {dataset.manifest.origin['source']}, not simulated.")
    config = settings.from_dict(CollectConfig, dataset.manifest.origin["recipe"], str(folder))
    start = dataset.starts()[trajectory]
    length = int(dataset.column("episodes/length")[trajectory])
    stored = dataset.batch(np.arange(start, start + length), ("actions", *COMPARED))
    first, second, third = map(int, dataset.column("episodes/seed")[trajectory])
    if first < 0:
        raise DataError(
            f"{folder}: trajectory {trajectory} is from a file, not simulated. Replay another."
        )
    standing = dataset.column("episodes/standing")[[trajectory]]
    isaac = isaac_config(config.sim, isaac_python)
    warp = _recorded_solver(warp_config(config.sim), dataset)
    with recipe_simulator(config, 1, 1, isaac, warp) as simulator:
        preset = randomisation(config.randomisation)
        drawn = draw_episodes(
            task_type(config.task), [(first, second, third)], standing, length, preset
        )
        # The stored domain: engines differ in the fields that they can vary.
        draws = dataclasses.replace(drawn, domain=_stored_domain(dataset, trajectory))
        task = start_episodes(config, simulator, draws, length)
        again = roll_out(task, lambda step, _: stored["actions"][step][None], length)
    return {name: float(np.abs(again[name][0] - stored[name]).max()) for name in COMPARED}


def _check(dataset: Dataset, trajectory: int) -> None:
    """Refuse datasets without seeds, and trajectories that do not exist."""
    if not dataset.has("episodes/seed"):
        raise DataError(
            f"{dataset.folder}: holds states only, neither actions nor seeds: "
            "replay the expert dataset instead."
        )
    count = dataset.manifest.num_trajectories
    if not 0 <= trajectory < count:
        raise DataError(f"{dataset.folder}: has trajectories 0 to {count - 1}, not {trajectory}.")


def _recorded_solver(warp: WarpConfig | None, dataset: Dataset) -> WarpConfig | None:
    """Return settings of MuJoCo Warp with the solver that the dataset was made with."""
    recorded = dataset.manifest.origin.get("simulator")
    if warp is None or recorded is None:
        return warp
    return dataclasses.replace(warp, solver=recorded["solver"])


def _stored_domain(dataset: Dataset, trajectory: int) -> Domain:
    values = {}
    for name in NOMINAL:
        values[name] = dataset.column(f"episodes/domain/{name}")[[trajectory]]
    return Domain(**values)
