"""Writing of LeRobotDatasets of version 3, without the lerobot package."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from solo_doi.common.files import reason

from .labels import FOREIGN_TERM, Labels
from .lerobot_layout import (
    ACTION,
    DATA_FILES,
    DONE,
    EPISODES_FILE,
    INDEX_FEATURES,
    INFO_FILE,
    LABELS_KEY,
    LEROBOT_VERSION,
    NEXT_STATE,
    REWARD,
    STATE,
    STATS_FILE,
    TASK_ENDED,
    TASKS_FILE,
    parquet,
)
from .shard import DataError
from .transitions import Transitions

FILES_PER_CHUNK = 1000
FILE_MEGABYTES = 100
"""Largest size of a file with frames, before compression [MB]."""
UNNAMED_TASK = "unnamed task"
QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
"""Quantiles in the statistics, by LeRobot's names."""


def write_lerobot(path: Path, data: Transitions, task: str, control_dt: float) -> None:
    """Write a dataset to a new directory; `control_dt` is the time between frames [s].

    Raises:
        DataError: The data have no actions, the rate is no whole number, or the disk is full.
    """
    if data.actions is None:
        raise DataError(
            f"{path}: a dataset without actions cannot be written for LeRobot, which needs them."
        )
    rate = round(1 / control_dt)
    if abs(rate * control_dt - 1) > 1e-6:
        raise DataError(
            f"{path}: a control step of {control_dt:g} s is no whole number of frames per second, "
            "which LeRobot needs."
        )
    partial = path.with_name(f".{path.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)  # left by a killed attempt
        (partial / "meta").mkdir(parents=True)
        columns = _columns(data, data.actions, rate)
        files = list(_write_frames(partial, data, columns))
        _write_episodes(partial, data, files, task)
        _write_tasks(partial, task)
        _write_json(partial / STATS_FILE, _statistics(columns))
        _write_json(partial / INFO_FILE, _info(data, columns, task, rate))
        partial.rename(path)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise DataError(f"{path}: cannot be written ({reason(error)}).") from error


def _columns(data: Transitions, actions: np.ndarray, rate: int) -> dict[str, np.ndarray]:
    """Return all columns of the frames."""
    rows = np.arange(len(data))
    frame = rows - data.starts[data.trajectory]
    index = {
        "timestamp": frame / rate,
        "frame_index": frame,
        "episode_index": data.trajectory,
        "index": rows,
        "task_index": np.zeros(len(data)),
    }
    return {
        STATE: data.observations,
        ACTION: actions,
        REWARD: data.rewards,
        DONE: data.terminals | data.timeouts,
        TASK_ENDED: data.terminals,
        NEXT_STATE: data.next_observations,
        **{name: index[name].astype(kind) for name, kind in INDEX_FEATURES.items()},
    }


def _write_frames(
    folder: Path, data: Transitions, columns: dict[str, np.ndarray]
) -> Iterator[tuple[int, int, int]]:
    """Write files of whole episodes; yield first and last episode of each, and its number."""
    row_bytes = sum(column.nbytes for column in columns.values()) / len(data)
    rows = FILE_MEGABYTES * 1e6 / row_bytes
    ends = np.append(data.starts[1:], len(data))
    first = 0
    number = 0
    while first < len(ends):
        last = int(np.searchsorted(ends, data.starts[first] + rows, side="right"))
        last = max(last, first + 1)  # an episode is never split
        span = slice(int(data.starts[first]), int(ends[last - 1]))
        file = folder / data_file_name(number)
        _write_table(file, {name: column[span] for name, column in columns.items()})
        yield first, last, number
        first = last
        number += 1


def data_file_name(number: int) -> str:
    """Return the name of a file with frames, counted over all chunks."""
    chunk, file = divmod(number, FILES_PER_CHUNK)
    return DATA_FILES.format(chunk_index=chunk, file_index=file)


def _write_episodes(
    folder: Path, data: Transitions, files: list[tuple[int, int, int]], task: str
) -> None:
    """Write the table that says where each episode is."""
    count = len(data.starts)
    ends = np.append(data.starts[1:], len(data))
    number = np.zeros(count, dtype=np.int64)
    for first, last, file in files:
        number[first:last] = file
    table: dict[str, Any] = {
        "episode_index": np.arange(count),
        "tasks": [[task or UNNAMED_TASK]] * count,
        "length": ends - data.starts,
        "data/chunk_index": number // FILES_PER_CHUNK,
        "data/file_index": number % FILES_PER_CHUNK,
        "dataset_from_index": data.starts,
        "dataset_to_index": ends,
        "meta/episodes/chunk_index": np.zeros(count, dtype=np.int64),
        "meta/episodes/file_index": np.zeros(count, dtype=np.int64),
    }
    _write_table(folder / EPISODES_FILE, table)


def _write_tasks(folder: Path, task: str) -> None:
    """Write the table of tasks. Their texts are its index, in the way of pandas."""
    import pyarrow

    index = "__index_level_0__"
    table = pyarrow.table({"task_index": [0], index: [task or UNNAMED_TASK]})
    columns: list[dict[str, Any]] = [
        {"name": "task_index", "pandas_type": "int64", "numpy_type": "int64"},
        {"name": None, "pandas_type": "unicode", "numpy_type": "object"},
    ]
    for column, field in zip(columns, ("task_index", index), strict=True):
        column.update(field_name=field, metadata=None)
    described = {"index_columns": [index], "column_indexes": [], "columns": columns}
    metadata = {"pandas": json.dumps({**described, "pandas_version": "2.0.0"})}
    parquet().write_table(table.replace_schema_metadata(metadata), folder / TASKS_FILE)


def _write_table(path: Path, columns: dict[str, Any]) -> None:
    """Write columns; rows of numbers are lists of a fixed length."""
    import pyarrow

    arrays = {}
    for name, column in columns.items():
        if isinstance(column, np.ndarray) and column.ndim == 2:
            flat = pyarrow.array(np.ascontiguousarray(column).reshape(-1))
            arrays[name] = pyarrow.FixedSizeListArray.from_arrays(flat, column.shape[1])
        else:
            arrays[name] = pyarrow.array(column)
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet().write_table(pyarrow.table(arrays), path)


def _info(
    data: Transitions, columns: dict[str, np.ndarray], task: str, rate: int
) -> dict[str, Any]:
    """Return the description of the dataset."""
    states = [
        f"{name}.{number}"
        for name, place in data.terms.items()
        for number in range(place.stop - place.start)
    ]
    names: dict[str, Any] = {STATE: states, NEXT_STATE: states, ACTION: list(data.joint_names)}
    features = {}
    for name, column in columns.items():
        features[name] = {
            "dtype": str(column.dtype),
            "shape": list(column.shape[1:]) or [1],
            "names": names.get(name) or None,
        }
    labels = Labels.of(data, task)
    if labels.terms.keys() == {FOREIGN_TERM}:
        labels = Labels(task, {}, data.joint_names)
    return {
        "codebase_version": LEROBOT_VERSION,
        "robot_type": "solo12" if data.joint_names else None,
        "total_episodes": len(data.starts),
        "total_frames": len(data),
        "total_tasks": 1,
        "chunks_size": FILES_PER_CHUNK,
        "data_files_size_in_mb": FILE_MEGABYTES,
        "video_files_size_in_mb": FILE_MEGABYTES,
        "fps": rate,
        "splits": {"train": f"0:{len(data.starts)}"},
        "data_path": DATA_FILES,
        "video_path": None,
        "features": features,
        LABELS_KEY: labels.content(),
    }


def _statistics(columns: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return minimum, maximum, mean, deviation and quantiles of every column."""
    found = {}
    for name, column in columns.items():
        numbers = column.reshape(len(column), -1).astype(np.float64)
        found[name] = {
            "min": numbers.min(axis=0).tolist(),
            "max": numbers.max(axis=0).tolist(),
            "mean": numbers.mean(axis=0).tolist(),
            "std": numbers.std(axis=0).tolist(),
            "count": [len(column)],
        }
        quantiles = np.quantile(numbers, [*QUANTILES.values()], axis=0)
        found[name] |= dict(zip(QUANTILES, quantiles.tolist(), strict=True))
    return found


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n")
