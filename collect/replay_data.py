"""Offline data of a Gym task from a file: the replay buffer of an agent, by D4RL or Minari."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.common.files import reason
from solo_doi.data.dataset import read_transitions
from solo_doi.data.manifest import Manifest
from solo_doi.data.shard import DataError, checksums, file_hash
from solo_doi.data.transitions import Transitions
from solo_doi.sim.domain import NOMINAL
from solo_doi.tasks import task_type

from .worker import shard_fields, store_shard

NO_SEED = -1
"""Seed of a trajectory that was not simulated."""


def write_replay(planned: Manifest, file: Path, folder: Path) -> None:
    """Write the data of `file` as the offline dataset of a collection."""
    data = read_transitions(file, max_episode_steps=task_type(planned.task).collection.steps)
    _check(data, file, planned.task)
    inner = file if file.is_file() else next(iter(sorted(file.rglob("*.hdf5"))))
    policy = {"name": file.name, "sha256": file_hash(inner), "skills": 1, "stochastic": True}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{folder}: cannot be made ({reason(error)}). Choose another --out."
        ) from error
    entry = store_shard(replay_arrays(data, planned.task), folder / "shard-00000.h5")
    manifest = dataclasses.replace(
        planned, seed=None, policies=(policy,), shards=(entry,), complete=True
    )
    manifest.write(folder)


def replay_arrays(data: Transitions, task: str) -> dict[str, np.ndarray]:
    """Return the fields of a shard; base poses, which such files lack, are NaN."""
    rows = len(data)
    count = len(data.starts)
    lengths = np.diff(data.starts, append=rows)
    known = {
        "observations": data.observations,
        "actions": data.actions,
        "next_observations": data.next_observations,
        "rewards": data.rewards,
        "terminals": data.terminals,
        "timeouts": data.timeouts & ~data.terminals,
        "initials": np.isin(np.arange(rows), data.starts),
        "infos/reward_groups": data.rewards[:, None],
        "infos/fallen": data.terminals,
        "episodes/index": np.arange(count),
        "episodes/start": data.starts,
        "episodes/length": lengths,
        "episodes/seed": np.full((count, 3), NO_SEED),
        "episodes/fallen": data.terminals[data.starts + lengths - 1],
    }
    known |= {f"episodes/domain/{name}": np.full(count, value) for name, value in NOMINAL.items()}
    arrays: dict[str, np.ndarray] = {}
    fields = shard_fields(task)
    for field in fields:
        shape = (count if field.per_trajectory else rows, *field.shape)
        missing = np.nan if np.dtype(field.dtype).kind == "f" else 0
        value = known.get(field.name)
        array = np.full(shape, missing) if value is None else np.asarray(value)
        arrays[field.name] = array.astype(field.dtype)
    arrays["episodes/crc32"] = checksums(
        arrays, arrays["episodes/start"], arrays["episodes/length"]
    )
    return arrays


def _check(data: Transitions, file: Path, task: str) -> None:
    """Refuse data of another environment."""
    if data.actions is None:
        raise DataError(f"{file}: has no actions, which offline data need.")
    declared = task_type(task)
    expected = (declared.layout.size, len(declared.joint_names))
    found = (data.observations.shape[1], data.actions.shape[1])
    if found != expected:
        raise SoloError(
            f"{file}: observations of {found[0]} and actions of {found[1]} numbers, task {task} "
            f"has {expected[0]} and {expected[1]}. Expected data of {task}."
        )
