"""Reading and writing of D4RL's HDF5 files."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from solo_doi.common.files import reason
from solo_doi.common.untrusted import UntrustedFileError, open_hdf5

from .labels import Labels
from .shard import DataError, write_shard
from .transitions import Transitions, named

REQUIRED = ("observations", "terminals")
OPTIONAL = ("actions", "rewards", "timeouts", "next_observations")
VECTOR_FIELDS = ("observations", "actions", "next_observations")
OTHER_FORMATS = {
    b"\x80\x02": "a pickle",
    b"\x80\x03": "a pickle",
    b"\x80\x04": "a pickle",
    b"\x80\x05": "a pickle",
    b"\x93NUMPY": "a NumPy array",
    b"PK\x03\x04": "a zip archive, such as .npz or .pt",
    b"\x1f\x8b": "a gzip archive",
}
"""Formats that demonstrations are often stored in, by the first bytes of their files."""
PICKLE_SUFFIXES = (".pkl", ".pickle")
"""Names of pickles. Those of protocols 0 and 1 are text without a distinct beginning."""


def read_d4rl(path: Path, *, max_episode_steps: int | None = None) -> Transitions:
    """Read a D4RL file, compressed or not.

    Without `actions` it can be the expert's data only. Missing `rewards`, which training does not
    use, are NaN. Without `timeouts`, trajectories end after `max_episode_steps`. Without
    `next_observations`, the next row is used. The last row of a trajectory that did not terminate
    is then dropped, as D4RL's own tools do, because its next observation was not stored.
    """
    arrays, labels = _read(path)
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
            actions=arrays["actions"].astype(np.float32)[kept] if "actions" in arrays else None,
            rewards=_rewards(arrays, len(terminals))[kept],
            terminals=terminals[kept],
            timeouts=timeouts[kept],
            terms=labels.columns(path, observations.shape[1]),
            joint_names=labels.joint_names,
        )


def write_d4rl(path: Path, data: Transitions, task: str = "") -> None:
    """Write one file that D4RL's tools read; an attribute keeps the names of terms and joints."""
    if data.actions is None:
        raise DataError(
            f"{path}: a dataset without actions cannot be written as D4RL, which requires them."
        )
    names = ("observations", "actions", "next_observations", "rewards", "terminals", "timeouts")
    arrays = {name: np.asarray(getattr(data, name)) for name in names}
    write_shard(path, arrays, Labels.of(data, task).attributes())


def _read(path: Path) -> tuple[dict[str, np.ndarray], Labels]:
    """Read all known arrays: vectors (N, size), and scalars (N,); and the names of columns."""
    arrays: dict[str, np.ndarray] = {}
    try:
        with open_hdf5(path) as file:
            found = sorted(file)
            labels = Labels.read(path, file.attrs)
            for name in (*REQUIRED, *OPTIONAL):
                if isinstance(file.get(name), h5py.Dataset):
                    arrays[name] = np.atleast_1d(file[name][()])
    except (DataError, UntrustedFileError):
        raise
    except Exception as error:  # h5py raises many types for damaged bytes
        raise DataError(f"{path}: {_why_unreadable(path, error)}") from error
    missing = [name for name in REQUIRED if name not in arrays]
    if missing:
        raise DataError(
            f"{path}: lacks {missing}, found {found}. Expected a D4RL file: flat arrays "
            "observations, actions, rewards, terminals and timeouts."
        )
    rows = len(arrays["observations"])
    for name, array in arrays.items():
        if name in VECTOR_FIELDS:
            expected = f"({rows}, size)"
            fits = array.ndim == 2
        else:
            expected = f"({rows}, )"
            if array.size == len(array):  # some files keep rewards and flags as (N, 1)
                arrays[name] = array.reshape(-1)
            fits = arrays[name].ndim == 1
        if not fits or len(array) != rows:
            raise DataError(f"{path}: {name} has shape {array.shape}, expected {expected}.")
    return arrays, labels


def _why_unreadable(path: Path, error: Exception) -> str:
    """Return the reason, and the remedy if the file has another format."""
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError:
        start = b""
    kind = "a pickle" if path.suffix in PICKLE_SUFFIXES else ""
    for first, named_kind in OTHER_FORMATS.items():
        if start.startswith(first):
            kind = named_kind
    if not kind:
        return f"not a readable HDF5 file ({reason(error)})."
    why = " Pickles are never opened: they can run any code." if kind == "a pickle" else ""
    return (
        f"{kind}, not an HDF5 file.{why} Convert it with a program you trust to HDF5 with the "
        "arrays observations, actions, rewards, terminals and timeouts. Demonstrations need no "
        "actions and no rewards."
    )


def _rewards(arrays: dict[str, np.ndarray], rows: int) -> np.ndarray:
    """Return the rewards, NaN where the file has none, (N,)."""
    if "rewards" not in arrays:
        return np.full(rows, np.nan, dtype=np.float32)
    return arrays["rewards"].astype(np.float32)


def _timeouts(
    path: Path, arrays: dict[str, np.ndarray], terminals: np.ndarray, max_episode_steps: int | None
) -> np.ndarray:
    """Return the rows at which trajectories were cut, (N,)."""
    if "timeouts" in arrays:
        timeouts = arrays["timeouts"].astype(bool)
    elif max_episode_steps is None:
        raise DataError(
            f"{path}: has no 'timeouts', so trajectory ends are unknown. Give the length of an "
            "episode with --max-episode-steps (in Python max_episode_steps): 1000 for most MuJoCo "
            "tasks."
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
