"""Reading of LeRobotDatasets of version 3, without the lerobot package.

Pictures and videos are not read: policies of this project see numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from solo_doi.common.errors import SoloError
from solo_doi.common.files import reason
from solo_doi.common.memory import available_memory
from solo_doi.common.untrusted import UntrustedFileError, check_plain_file

from .labels import Labels
from .lerobot_layout import (
    ACTION,
    DONE,
    INFO_FILE,
    LABELS_KEY,
    NEXT_STATE,
    REWARD,
    STATE,
    TASK_ENDED,
    parquet,
    read_info,
)
from .shard import DataError
from .transitions import Transitions, named

OBSERVATION_PREFIX = "observation."
NUMBER_TYPES = ("float16", "float32", "float64", "int32", "int64")
"""Types of features that are rows of numbers."""
COPIES = 3
"""Copies of the numbers that reading needs at once, to check the memory before."""


def read_lerobot(path: Path) -> Transitions:
    """Read all episodes of a dataset.

    Features with numbers that begin with `observation.` are the terms of the observation. Without
    `next.observation.state`, the next frame is used and the last of each episode is dropped.
    """
    info = read_info(path)
    labels = lerobot_labels(path, info)
    terms = [STATE] if labels.terms else observation_features(path, info)
    wanted = [*terms, ACTION, REWARD, DONE, TASK_ENDED, NEXT_STATE, "episode_index", "index"]
    columns = _read_columns(path, [name for name in wanted if name in info["features"]])
    order = np.argsort(columns["index"], kind="stable")
    columns = {name: column[order] for name, column in columns.items()}
    observations = np.concatenate([_rows(path, columns, name) for name in terms], axis=1)
    data = _transitions(path, columns, observations)
    sizes = {name.removeprefix(OBSERVATION_PREFIX): columns[name].shape[1] for name in terms}
    if not labels.terms:
        labels = Labels(labels.task, sizes, labels.joint_names)
    with named(path):
        return Transitions.from_flags(
            **data,
            terms=labels.columns(path, observations.shape[1]),
            joint_names=labels.joint_names,
        )


def lerobot_labels(path: Path, info: dict[str, Any]) -> Labels:
    """Return the names that `solo-collect export` wrote; none for data of other programs."""
    if LABELS_KEY not in info:
        return Labels()
    return Labels.from_content(path / INFO_FILE, info[LABELS_KEY])


def observation_features(path: Path, info: dict[str, Any]) -> list[str]:
    """Return the features that are observations in numbers.

    Raises:
        DataError: There is none.
    """
    found = []
    for name, feature in info["features"].items():
        shape = feature.get("shape")
        is_row = isinstance(shape, list) and len(shape) == 1
        if name.startswith(OBSERVATION_PREFIX) and is_row and feature.get("dtype") in NUMBER_TYPES:
            found.append(name)
    if not found:
        raise DataError(
            f"{path}: no feature observation.* with rows of numbers, found "
            f"{sorted(info['features'])}."
        )
    return found


def _read_columns(path: Path, names: list[str]) -> dict[str, np.ndarray]:
    """Read columns of all files with frames, after a check of their size."""
    if not {ACTION, "episode_index", "index"} <= {*names}:
        raise DataError(f"{path}: has {names}, expected action, episode_index and index, too.")
    files = sorted((path / "data").glob("chunk-*/file-*.parquet"))
    if not files:
        raise DataError(f"{path}: no data/chunk-*/file-*.parquet in it.")
    try:
        _check_size(path, files, names)
        pieces: dict[str, list[np.ndarray]] = {name: [] for name in names}
        for file in files:
            table = parquet().read_table(file, columns=names, partitioning=None)
            for name in names:
                pieces[name].append(_array(file, name, table[name]))
        return {name: np.concatenate(arrays) for name, arrays in pieces.items()}
    except SoloError:
        raise
    except MemoryError as error:
        raise DataError(f"{path}: does not fit into memory.") from error
    except Exception as error:  # pyarrow raises many types for damaged bytes
        raise DataError(f"{path}: not readable as Parquet ({reason(error)}).") from error


def _check_size(path: Path, files: list[Path], names: list[str]) -> None:
    """Refuse links, and data that do not fit into memory."""
    needed = 0
    for file in files:
        check_plain_file(file)
        metadata = parquet().read_metadata(file)
        wanted = [name for name in names if name in metadata.schema.to_arrow_schema().names]
        if len(wanted) < len(names):
            raise DataError(f"{file}: lacks {sorted({*names} - {*wanted})}.")
        for group in range(metadata.num_row_groups):
            row_group = metadata.row_group(group)
            for column in range(row_group.num_columns):
                found = row_group.column(column)
                if found.path_in_schema.partition(".list")[0] in names:
                    needed += max(found.total_uncompressed_size, 8 * found.num_values)
    free = available_memory()
    if COPIES * needed > free:
        raise UntrustedFileError(
            f"{path}: reading needs {COPIES * needed / 1e9:.1f} GB of memory, but "
            f"{free / 1e9:.1f} GB are free."
        )


def _array(file: Path, name: str, column: Any) -> np.ndarray:  # noqa: ANN401  # of pyarrow
    """Return a column as an array (N,), or (N, size) for lists of one length."""
    import pyarrow

    array = column.combine_chunks()
    if array.null_count:
        raise DataError(f"{file}: {name} has missing values.")
    if not pyarrow.types.is_nested(array.type):
        return np.asarray(array.to_numpy(zero_copy_only=False))
    if pyarrow.types.is_struct(array.type):
        raise DataError(f"{file}: {name} is {array.type}, expected lists of numbers.")
    lengths = {*array.value_lengths().unique().to_pylist()} if len(array) else {0}
    flat = array.flatten()
    if len(lengths) != 1 or pyarrow.types.is_nested(flat.type) or flat.null_count:
        raise DataError(f"{file}: {name} has rows of different lengths, or missing numbers.")
    return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(len(array), -1)


def _rows(path: Path, columns: dict[str, np.ndarray], name: str) -> np.ndarray:
    """Return a column as rows of numbers, (N, size) float32."""
    column = columns[name]
    if column.dtype.kind not in "fiub":
        raise DataError(f"{path}: {name} has {column.dtype}, expected numbers.")
    if column.ndim == 1:  # a feature of one number
        column = columns[name] = column[:, None]
    return column.astype(np.float32)


def _transitions(
    path: Path, columns: dict[str, np.ndarray], observations: np.ndarray
) -> dict[str, np.ndarray]:
    """Return observations, actions, rewards and flags of all whole transitions."""
    count = len(observations)
    episode = columns["episode_index"]
    ends = np.append(episode[1:] != episode[:-1], True)
    terminals = np.zeros(count, dtype=bool)
    if TASK_ENDED in columns:
        terminals = columns[TASK_ENDED].reshape(-1).astype(bool)
    rewards = np.full(count, np.nan, dtype=np.float32)
    if REWARD in columns:
        rewards = columns[REWARD].reshape(-1).astype(np.float32)
    kept = np.ones(count, dtype=bool)
    timeouts = ends & ~terminals
    if NEXT_STATE in columns:
        following = _rows(path, columns, NEXT_STATE)
    else:
        following = np.concatenate([observations[1:], observations[-1:]])
        following[terminals] = observations[terminals]
        kept = ~timeouts
        timeouts |= np.append(~kept[1:], False) & ~terminals & ~ends
    return {
        "observations": observations[kept],
        "next_observations": following[kept],
        "actions": _rows(path, columns, ACTION)[kept],
        "rewards": rewards[kept],
        "terminals": terminals[kept],
        "timeouts": timeouts[kept],
    }
