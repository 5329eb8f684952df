"""Reading and writing of Minari datasets (HDF5 storage), without the minari package.

An episode of T steps is a group with T + 1 observations.
"""

from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path

import h5py
import numpy as np

from solo_doi.common.files import reason
from solo_doi.common.untrusted import UntrustedFileError, open_hdf5

from .labels import Labels
from .shard import DataError
from .transitions import Transitions, named

DATA_FILE = "main_data.hdf5"
METADATA_FILE = "metadata.json"
IDENTIFIER = re.compile(r"([-\w][-\w/]*[-\w]/)?[-\w]+-v\d+")
"""Names of datasets that the minari package accepts."""


def is_minari(path: Path) -> bool:
    """Return True if a directory holds a Minari dataset, in any storage format."""
    for folder in _places(path):
        if (folder / DATA_FILE).is_file() or (folder / METADATA_FILE).is_file():
            return True
    return False


def is_minari_file(path: Path) -> bool:
    """Return True if a file holds the episodes of a Minari dataset."""
    try:
        with open_hdf5(path) as file:
            return isinstance(file.get("episode_0"), h5py.Group)
    except Exception:  # h5py raises many types for damaged bytes; the reader reports them
        return False


def datasets_inside(folder: Path) -> list[str]:
    """Return the names of the Minari datasets in a folder, as in the package's root folder."""
    found = []
    for pattern in (f"*/data/{METADATA_FILE}", f"*/*/data/{METADATA_FILE}"):
        found += [str(file.parents[1].relative_to(folder)) for file in folder.glob(pattern)]
    return sorted(found)


def read_minari(path: Path) -> Transitions:
    """Read all episodes of a dataset with array observations and actions.

    `path` is the directory of the dataset, or the file in it that holds the episodes.
    """
    file_path = data_file(path)
    try:
        with open_hdf5(file_path) as file:
            labels = Labels.read(file_path, file.attrs)
            episodes = [_episode(file_path, file[name]) for name in _in_order(file_path, file)]
    except (DataError, UntrustedFileError):
        raise
    except Exception as error:  # h5py raises many types for damaged bytes
        raise DataError(f"{file_path}: not a readable HDF5 file ({reason(error)}).") from error
    if not episodes:
        raise DataError(f"{file_path}: holds no episodes.")
    sizes = set()
    for episode in episodes:
        sizes.add((episode["observations"].shape[1], episode["actions"].shape[1]))
    if len(sizes) > 1:
        raise DataError(
            f"{file_path}: episodes have different sizes of observations and actions: "
            f"{sorted(sizes)}."
        )
    arrays = {name: np.concatenate([episode[name] for episode in episodes]) for name in episodes[0]}
    terms = labels.columns(file_path, arrays["observations"].shape[1])
    with named(path):
        return Transitions.from_flags(**arrays, terms=terms, joint_names=labels.joint_names)


def write_minari(path: Path, data: Transitions, dataset_id: str, task: str = "") -> None:
    """Write a dataset for the minari package at `path`, the package's root folder / dataset_id.

    An attribute of its file keeps the names of terms and joints.
    """
    if data.actions is None:
        raise DataError(
            f"{path}: a dataset without actions cannot be written as Minari, which requires them."
        )
    if not IDENTIFIER.fullmatch(dataset_id):
        raise DataError(
            f"{dataset_id!r} is no name of a Minari dataset: expected one such as "
            "solo12/offline-v0."
        )
    folder = path / "data"
    partial = path / ".data.partial"
    if folder.exists():
        raise DataError(f"{folder}: exists already. Delete it or choose another place.")
    try:
        shutil.rmtree(partial, ignore_errors=True)  # left by a killed attempt
        partial.mkdir(parents=True)
        labels = Labels.of(data, task).attributes()
        (partial / DATA_FILE).write_bytes(_episodes(data, data.actions, labels))
        metadata = _metadata(data, data.actions, dataset_id)
        (partial / METADATA_FILE).write_text(json.dumps(metadata, indent=2))
        partial.rename(folder)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise DataError(f"{path}: cannot be written ({reason(error)}).") from error


def _places(path: Path) -> tuple[Path, Path]:
    """Return the folders in which the files of a dataset may be."""
    return path / "data", path


def data_file(path: Path) -> Path:
    """Return the file with the episodes of a dataset."""
    if path.is_file():
        return path
    for folder in _places(path):
        if (folder / DATA_FILE).is_file():
            return folder / DATA_FILE
    raise DataError(
        f"{path}: no {DATA_FILE} in it or in its data folder. Expected a Minari dataset stored as "
        "HDF5 (data_format='hdf5'), not as arrow or parquet."
    )


def _in_order(path: Path, file: h5py.File) -> list[str]:
    """Return the names of all episodes, in the order of their numbers."""
    for name in file:
        if re.fullmatch(r"episode_(\d+)", name) is None:
            raise DataError(
                f"{path}: holds {name!r}, expected groups episode_0, episode_1 and so on only."
            )
    return sorted(file, key=lambda name: int(name.rsplit("_", 1)[1]))


def _episode(path: Path, group: h5py.Group) -> dict[str, np.ndarray]:
    """Read one episode as transitions."""
    for name in ("observations", "actions", "rewards", "terminations", "truncations"):
        if isinstance(group.get(name), h5py.Group):
            raise DataError(
                f"{path}: {name} of {group.name} are not one array: dictionary spaces are not "
                "supported."
            )
        if name not in group:
            raise DataError(f"{path}: {group.name} has no {name!r}, found {sorted(group)}.")
    observations = group["observations"][:].astype(np.float32)
    actions = group["actions"][:].astype(np.float32)
    if observations.ndim != 2 or actions.ndim != 2:
        raise DataError(
            f"{path}: {group.name} has observations {observations.shape} and actions "
            f"{actions.shape}, expected one row of numbers per step: discrete and image spaces are "
            "not supported."
        )
    rewards = group["rewards"][:].astype(np.float32).reshape(-1)
    terminals = group["terminations"][:].astype(bool).reshape(-1)
    timeouts = group["truncations"][:].astype(bool).reshape(-1)
    steps = {len(actions), len(rewards), len(terminals), len(timeouts), len(observations) - 1}
    if len(steps) > 1 or not len(actions):
        raise DataError(
            f"{path}: {group.name} has {len(observations)} observations for {len(actions)} "
            f"actions, {len(rewards)} rewards and {len(terminals)} flags: expected one more "
            "observation than of the others."
        )
    timeouts[-1] |= not terminals[-1]  # an episode that was cut without a flag
    return {
        "observations": observations[:-1],
        "next_observations": observations[1:],
        "actions": actions,
        "rewards": rewards,
        "terminals": terminals,
        "timeouts": timeouts,
    }


def _episodes(data: Transitions, actions: np.ndarray, attributes: dict[str, str]) -> memoryview:
    """Return the bytes of the HDF5 file."""
    ends = np.append(data.starts[1:], len(data))
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        file.attrs.update(attributes)
        for number, (start, end) in enumerate(zip(data.starts, ends, strict=True)):
            group = file.create_group(f"episode_{number}")
            group.attrs.update(id=number, total_steps=end - start)
            group.create_group("infos")
            last = data.next_observations[end - 1 : end]
            observations = np.concatenate([data.observations[start:end], last])
            group.create_dataset("observations", data=observations)
            group.create_dataset("actions", data=actions[start:end])
            group.create_dataset("rewards", data=data.rewards[start:end])
            group.create_dataset("terminations", data=data.terminals[start:end])
            group.create_dataset("truncations", data=data.timeouts[start:end])
    return content.getbuffer()


def _metadata(data: Transitions, actions: np.ndarray, dataset_id: str) -> dict[str, object]:
    return {
        "dataset_id": dataset_id,
        "total_episodes": len(data.starts),
        "total_steps": len(data),
        "data_format": "hdf5",
        "observation_space": _space(data.observations.shape[1]),
        "action_space": _space(actions.shape[1]),
        "minari_version": "0.5.4",
    }


def _space(size: int) -> str:
    """Serialise an unbounded box as Minari does: a JSON string inside the JSON."""
    bound = float("inf")
    space = {
        "type": "Box",
        "dtype": "float32",
        "shape": [size],
        "low": [-bound] * size,
        "high": [bound] * size,
    }
    return json.dumps(space)
