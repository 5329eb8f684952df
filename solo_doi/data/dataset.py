"""Reader of a dataset directory: random batches, whole fields, or all transitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from solo_doi.common.errors import UnknownNameError

from .labels import FOREIGN_TERM, Labels
from .manifest import MANIFEST_FILE, Manifest
from .shard import DataError, map_shard
from .transitions import Transitions, named

BATCH_FIELDS = ("observations", "actions", "next_observations")


class Dataset:
    """A dataset on disk. Opening it reads only the manifest and the headers of the files."""

    def __init__(self, folder: Path) -> None:
        """Read the manifest and map every shard."""
        self.folder = folder
        self.manifest = Manifest.read(folder)
        if not self.manifest.shards:
            raise DataError(
                f"{folder}: holds no trajectories yet. Run the solo-collect command that began it "
                "again."
            )
        self.shards: list[Mapping[str, np.ndarray]] = []
        """Fields of each file, memory-mapped."""
        for entry in self.manifest.shards:
            arrays = map_shard(folder / entry.file, self.manifest.fields)
            transitions = len(arrays["observations"])
            trajectories = len(arrays["episodes/start"])
            if (transitions, trajectories) != (entry.transitions, entry.trajectories):
                raise DataError(
                    f"{folder / entry.file}: {transitions} transitions in {trajectories} "
                    f"trajectories, the manifest says {entry.transitions} in {entry.trajectories}. "
                    "`solo-collect repair` corrects the manifest."
                )
            self.shards.append(arrays)
        self._first_row = np.cumsum([0, *(shard.transitions for shard in self.manifest.shards)])

    def __len__(self) -> int:
        """Return the number of transitions."""
        return int(self._first_row[-1])

    def batch(self, rows: np.ndarray, names: Sequence[str] = BATCH_FIELDS) -> dict[str, np.ndarray]:
        """Return some fields of some transitions; only these are read from disk."""
        rows = np.asarray(rows)
        if rows.size and not (rows.min() >= 0 and rows.max() < len(self)):
            raise DataError(
                f"{self.folder}: has transitions 0 to {len(self) - 1}, not {rows.min()} to "
                f"{rows.max()}."
            )
        for name in names:
            self._check_name(name, per_trajectory=False)
        # Gather in the order of the files, then restore the order of `rows`: twice as fast as
        # scattering shard by shard.
        order = np.argsort(rows, kind="stable")
        borders = np.searchsorted(rows[order], self._first_row)
        spans = []
        for number, arrays in enumerate(self.shards):
            first = borders[number]
            last = borders[number + 1]
            if first < last:
                local = rows[order[first:last]] - self._first_row[number]
                spans.append((arrays, slice(first, last), local))
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        result = {}
        for name in names:
            gathered = self._empty(name, len(rows))
            for arrays, span, local in spans:
                # mode="clip", because "raise" makes another copy.
                np.take(arrays[name], local, axis=0, out=gathered[span], mode="clip")
            result[name] = np.take(gathered, back, axis=0)
        return result

    def column(self, name: str) -> np.ndarray:
        """Return a whole field, loaded into memory."""
        self._check_name(name)
        return np.concatenate([arrays[name] for arrays in self.shards])

    def transitions(self) -> Transitions:
        """Return all transitions, loaded into memory, without labels."""
        terms = {}
        end = 0
        for term in self.manifest.layout:
            start = end
            end += term["size"]
            terms[term["name"]] = slice(start, end)
        actions = None
        if self.has("actions"):
            actions = self.column("actions")
        with named(self.folder):
            return Transitions(
                observations=self.column("observations"),
                next_observations=self.column("next_observations"),
                actions=actions,
                rewards=self.column("rewards"),
                terminals=self.column("terminals"),
                timeouts=self.column("timeouts"),
                starts=self.starts(),
                terms=terms,
                joint_names=self.manifest.joint_names,
            )

    def starts(self) -> np.ndarray:
        """Return the first transition of every trajectory, (trajectories,)."""
        starts = []
        for number, arrays in enumerate(self.shards):
            starts.append(arrays["episodes/start"] + self._first_row[number])
        return np.concatenate(starts)

    def has(self, name: str) -> bool:
        """Return True if there is a field of this name."""
        return name in self.shards[0]

    def _check_name(self, name: str, *, per_trajectory: bool = True) -> None:
        fields = self.manifest.fields
        if not per_trajectory:
            fields = tuple(field for field in fields if not field.per_trajectory)
        known = [field.name for field in fields]
        if name not in known:
            raise DataError(f"{self.folder}: {UnknownNameError('field', name, known)}")

    def _empty(self, name: str, count: int) -> np.ndarray:
        array = self.shards[0][name]
        return np.empty((count, *array.shape[1:]), dtype=array.dtype)


def is_dataset(path: Path) -> bool:
    """Return True for a dataset directory of `solo-collect`."""
    return (path / MANIFEST_FILE).is_file()


def is_foreign(path: Path) -> bool:
    """Return True for data of other programs: a file, or a directory of Minari or LeRobot."""
    from .lerobot_layout import is_lerobot
    from .minari import is_minari

    if path.is_file():
        return True
    return (is_minari(path) or is_lerobot(path)) and not is_dataset(path)


def labelled_task(path: Path) -> str:
    """Return the task that data of `solo-collect` name, exported or not; empty for other data.

    Raises:
        DataError: The data are of a dataset whose manifest is damaged.
    """
    if is_dataset(path):
        return Manifest.read(path).task
    from .lerobot_layout import is_lerobot, read_info
    from .lerobot_reader import lerobot_labels
    from .minari import data_file

    if is_lerobot(path):
        return lerobot_labels(path, read_info(path)).task
    return Labels.of_file(path if path.is_file() else data_file(path)).task


def read_transitions(
    path: Path, *, max_episode_steps: int | None = None, names: Labels | None = None
) -> Transitions:
    """Read a dataset of any format; `names` are those of columns that the data do not name."""
    data = _read_any(path, max_episode_steps=max_episode_steps)
    return data if names is None else with_names(path, data, names)


def with_names(path: Path, data: Transitions, names: Labels) -> Transitions:
    """Return unnamed data with the names of their columns.

    Raises:
        DataError: The data have names, or the names do not fit.
    """
    if [*data.terms] != [FOREIGN_TERM]:
        raise DataError(f"{path}: names its columns itself ({', '.join(data.terms)}).")
    actions = 0 if data.actions is None else data.actions.shape[1]
    if actions and names.joint_names and len(names.joint_names) != actions:
        raise DataError(
            f"{path}: has actions of {actions} numbers, {len(names.joint_names)} joints are named."
        )
    terms = names.columns(path, data.observations.shape[1])
    return replace(data, terms=terms, joint_names=names.joint_names)


def _read_any(path: Path, *, max_episode_steps: int | None = None) -> Transitions:
    """Read a dataset of solo-collect, a D4RL file, or a directory of Minari or LeRobot."""
    from .d4rl import read_d4rl
    from .lerobot_layout import is_lerobot
    from .lerobot_reader import read_lerobot
    from .minari import datasets_inside, is_minari_file, read_minari

    if path.is_file() and not is_minari_file(path):
        return read_d4rl(path, max_episode_steps=max_episode_steps)
    if is_foreign(path):
        return read_lerobot(path) if is_lerobot(path) else read_minari(path)
    if path.is_dir():
        inside = datasets_inside(path)
        if inside and not (path / MANIFEST_FILE).is_file():
            names = ", ".join(str(path / name) for name in inside[:5])
            raise DataError(f"{path}: a folder of Minari datasets. Name one of them: {names}.")
        return Dataset(path).transitions()
    raise DataError(
        f"{path}: no such file or directory. Expected a dataset directory, a D4RL file, a Minari "
        "dataset or a LeRobotDataset."
    )
