"""D4RL's HDF5 files, in and out."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from solo_doi.common.files import reason

from .shard import DataError, write_shard
from .transitions import Transitions, named

REQUIRED = ("observations", "actions", "rewards", "terminals")
OPTIONAL = ("timeouts", "next_observations")
VECTORS = ("observations", "actions", "next_observations")
FOREIGN_TERM = "observation"


def read_d4rl(path: Path, *, max_episode_steps: int | None = None) -> Transitions:
    """Read a D4RL file, compressed or not, with or without `timeouts` and `next_observations`.

    Without `timeouts`, `max_episode_steps` says where trajectories were cut. Without `next_observations` the
    next row is taken, and the last row of a trajectory that did not terminate, whose successor was never
    stored, is dropped, as D4RL's own tools do.
    """
    arrays = _read(path)
    terminals, observations = (
        arrays["terminals"].astype(bool),
        arrays["observations"].astype(np.float32),
    )
    timeouts = _timeouts(path, arrays, terminals, max_episode_steps)
    if "next_observations" in arrays:
        following, kept = (
            arrays["next_observations"].astype(np.float32),
            np.ones(len(terminals), dtype=bool),
        )
    else:
        following = np.concatenate([observations[1:], observations[-1:]])
        following[terminals] = observations[
            terminals
        ]  # was not stored: as if the last state were never left
        kept = terminals | ~timeouts
        cut = np.append(~kept[1:], False)  # the row before a dropped one is now the last
        timeouts = timeouts | (cut & ~terminals)
    with named(path):
        return Transitions.from_flags(
            observations=observations[kept],
            next_observations=following[kept],
            actions=arrays["actions"].astype(np.float32)[kept],
            rewards=arrays["rewards"].astype(np.float32)[kept],
            terminals=terminals[kept],
            timeouts=timeouts[kept],
            terms={FOREIGN_TERM: slice(0, observations.shape[1])},
        )


def write_d4rl(path: Path, data: Transitions) -> None:
    """Write one file that D4RL's tools read."""
    if data.actions is None:
        raise DataError(
            f"{path}: a dataset without actions cannot be written as D4RL, which requires them."
        )
    names = ("observations", "actions", "next_observations", "rewards", "terminals", "timeouts")
    write_shard(path, {name: np.asarray(getattr(data, name)) for name in names})


def _read(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays that are there; every one has a row per transition, and the scalars have no second axis."""
    try:
        with h5py.File(path, "r") as file:
            names = [
                name for name in (*REQUIRED, *OPTIONAL) if isinstance(file.get(name), h5py.Dataset)
            ]
            missing, found = [name for name in REQUIRED if name not in names], sorted(file)
            arrays = {name: np.atleast_1d(file[name][()]) for name in names}
    except (
        Exception
    ) as error:  # damaged bytes make h5py raise OSError, KeyError, RuntimeError and more
        raise DataError(f"{path}: not a readable HDF5 file ({reason(error)}).") from error
    if missing:
        raise DataError(f"{path}: lacks {missing}, found {found}. Expected a D4RL file.")
    rows = len(arrays["observations"])
    for name, array in arrays.items():
        vector = name in VECTORS
        # Some files keep rewards and flags as (N, 1).
        arrays[name] = array if vector or array.size != len(array) else array.reshape(-1)
        if arrays[name].ndim != 1 + vector or len(array) != rows:
            raise DataError(
                f"{path}: {name} has shape {array.shape}, expected ({rows}, {'size' if vector else ''})."
            )
    return arrays


def _timeouts(
    path: Path, arrays: dict[str, np.ndarray], terminals: np.ndarray, max_episode_steps: int | None
) -> np.ndarray:
    if "timeouts" in arrays:
        timeouts = arrays["timeouts"].astype(bool)
    elif max_episode_steps is None:
        raise DataError(
            f"{path}: has no 'timeouts', so trajectory ends are unknown. Say how long an episode may be "
            "(max_episode_steps, 1000 for most MuJoCo tasks)."
        )
    else:
        timeouts, age = np.zeros(len(terminals), dtype=bool), 0
        for row, terminal in enumerate(terminals):
            age += 1
            timeouts[row] = age == max_episode_steps and not terminal
            if terminal or timeouts[row]:
                age = 0
    if len(timeouts) and not terminals[-1]:
        timeouts[-1] = True  # the last fragment ends with the file
    return timeouts
