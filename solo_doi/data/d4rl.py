"""Reading and writing of D4RL's HDF5 files."""

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
"""Name of the only observation term of data without named terms."""


def read_d4rl(path: Path, *, max_episode_steps: int | None = None) -> Transitions:
    """Read a D4RL file, compressed or not, with or without `timeouts` and `next_observations`.

    Without `timeouts`, trajectories end after `max_episode_steps`. Without `next_observations`, the
    next row is used. The last row of a trajectory that did not terminate is then dropped, as D4RL's
    own tools do, because its next observation was not stored.
    """
    arrays = _read(path)
    terminals = arrays["terminals"].astype(bool)
    observations = arrays["observations"].astype(np.float32)
    timeouts = _timeouts(path, arrays, terminals, max_episode_steps)
    if "next_observations" in arrays:
        following = arrays["next_observations"].astype(np.float32)
        kept = np.ones(len(terminals), dtype=bool)
    else:
        following = np.concatenate([observations[1:], observations[-1:]])
        # The state after a terminal row was not stored; the terminal state takes its place.
        following[terminals] = observations[terminals]
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
    """Write one file that D4RL's tools read; names of observation terms are lost."""
    if data.actions is None:
        raise DataError(
            f"{path}: a dataset without actions cannot be written as D4RL, which requires them."
        )
    names = ("observations", "actions", "next_observations", "rewards", "terminals", "timeouts")
    write_shard(path, {name: np.asarray(getattr(data, name)) for name in names})


def _read(path: Path) -> dict[str, np.ndarray]:
    """Read all known arrays: vectors (N, size), and scalars (N,)."""
    arrays: dict[str, np.ndarray] = {}
    try:
        with h5py.File(path, "r") as file:
            found = sorted(file)
            for name in (*REQUIRED, *OPTIONAL):
                if isinstance(file.get(name), h5py.Dataset):
                    arrays[name] = np.atleast_1d(file[name][()])
    except Exception as error:  # h5py raises many types for damaged bytes
        raise DataError(f"{path}: not a readable HDF5 file ({reason(error)}).") from error
    missing = [name for name in REQUIRED if name not in arrays]
    if missing:
        raise DataError(f"{path}: lacks {missing}, found {found}. Expected a D4RL file.")
    rows = len(arrays["observations"])
    for name, array in arrays.items():
        if name in VECTORS:
            expected = f"({rows}, size)"
            fits = array.ndim == 2
        else:
            expected = f"({rows}, )"
            if array.size == len(array):  # some files keep rewards and flags as (N, 1)
                arrays[name] = array.reshape(-1)
            fits = arrays[name].ndim == 1
        if not fits or len(array) != rows:
            raise DataError(f"{path}: {name} has shape {array.shape}, expected {expected}.")
    return arrays


def _timeouts(
    path: Path, arrays: dict[str, np.ndarray], terminals: np.ndarray, max_episode_steps: int | None
) -> np.ndarray:
    """Return the rows at which trajectories were cut, (N,)."""
    if "timeouts" in arrays:
        timeouts = arrays["timeouts"].astype(bool)
    elif max_episode_steps is None:
        raise DataError(
            f"{path}: has no 'timeouts', so trajectory ends are unknown. Say how long an episode "
            "may be (max_episode_steps, 1000 for most MuJoCo tasks)."
        )
    else:
        timeouts = np.zeros(len(terminals), dtype=bool)
        age = 0
        for row, terminal in enumerate(terminals):
            age += 1
            timeouts[row] = age == max_episode_steps and not terminal
            if terminal or timeouts[row]:
                age = 0
    if len(timeouts) and not terminals[-1]:
        timeouts[-1] = True  # the last fragment ends with the file
    return timeouts
