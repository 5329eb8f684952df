"""Layout of a LeRobotDataset of version 3: names of its files and columns.

A directory has `meta/info.json`, tables of tasks and episodes, and tables of frames in `data/`.
Tables are Parquet files; pyarrow reads and writes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

from solo_doi.common.errors import MissingPackageError
from solo_doi.common.files import reason
from solo_doi.common.untrusted import read_bounded

from .shard import DataError

LEROBOT_VERSION = "v3.0"
INFO_FILE = "meta/info.json"
STATS_FILE = "meta/stats.json"
TASKS_FILE = "meta/tasks.parquet"
EPISODES_FILE = "meta/episodes/chunk-000/file-000.parquet"
DATA_FILES = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
LABELS_KEY = "solo_doi"
"""Entry of info.json with the names of terms, joints and task; other programs ignore it."""
STATE = "observation.state"
ACTION = "action"
REWARD = "next.reward"
DONE = "next.done"
TASK_ENDED = "next.terminal"
"""Column of our own: the task ended here, in contrast to a trajectory that was cut."""
NEXT_STATE = "next.observation.state"
"""Column of our own: the observation one step later, also at the end of an episode."""
INDEX_FEATURES = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}
"""Columns that every dataset has, with their types."""


def is_lerobot(path: Path) -> bool:
    """Return True if a directory holds a LeRobotDataset of any version."""
    return (path / INFO_FILE).is_file()


def read_info(path: Path) -> dict[str, Any]:
    """Return the description of a dataset.

    Raises:
        DataError: It is damaged, or of another version.
    """
    file = path / INFO_FILE
    try:
        info = json.loads(read_bounded(file))
        version = info["codebase_version"]
        if not all(isinstance(feature, dict) for feature in info["features"].values()):
            raise TypeError("features")
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({reason(error)}).") from error
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{file}: not the description of a LeRobotDataset ({type(error).__name__}: {error})."
        ) from error
    if not str(version).startswith("v3."):
        raise DataError(
            f"{file}: version {version!r:.20}, this program reads {LEROBOT_VERSION}. LeRobot has a "
            "program that converts older datasets."
        )
    return dict(info)


def parquet() -> ModuleType:
    """Return pyarrow's module for Parquet files.

    Raises:
        MissingPackageError: pyarrow is not installed.
    """
    try:
        from pyarrow import parquet as module
    except ImportError as error:
        raise MissingPackageError(
            "pyarrow", "A LeRobotDataset", "Run: pip install 'solo-doi[lerobot]'"
        ) from error
    return module
