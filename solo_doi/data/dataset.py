"""Reads a dataset directory: random batches from memory maps, all of it as `Transitions`, or its labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from solo_doi.common.errors import UnknownNameError

from .manifest import MANIFEST_FILE, Manifest
from .shard import DataError, map_shard
from .transitions import Transitions, named

BATCH_FIELDS = ("observations", "actions", "next_observations")


class Dataset:
    """A dataset on disk. Opening it costs nothing but a look at the files."""

    def __init__(self, folder: Path) -> None:
        """Read the manifest and map every shard."""
        self.folder = folder
        self.manifest = Manifest.read(folder)
        if not self.manifest.shards:
            raise DataError(
                f"{folder}: holds no trajectories yet. Run the solo-collect command that began it again."
            )
        self.shards: list[Mapping[str, np.ndarray]] = []
        """Fields of each file, memory-mapped."""
        for entry in self.manifest.shards:
            arrays = map_shard(folder / entry.file, self.manifest.fields)
            found, expected = (
                (len(arrays["observations"]), len(arrays["episodes/start"])),
                (entry.transitions, entry.trajectories),
            )
            if found != expected:
                raise DataError(
                    f"{folder / entry.file}: {found[0]} transitions in {found[1]} trajectories, the manifest says "
                    f"{expected[0]} in {expected[1]}. `solo-collect repair` puts them right."
                )
            self.shards.append(arrays)
        self._first_row = np.cumsum([0, *(shard.transitions for shard in self.manifest.shards)])

    def __len__(self) -> int:
        """Return the number of transitions."""
        return int(self._first_row[-1])

    def batch(self, rows: np.ndarray, names: Sequence[str] = BATCH_FIELDS) -> dict[str, np.ndarray]:
        """Return some fields of transitions by number; only what is asked for is read from disk."""
        rows = np.asarray(rows)
        if rows.size and not (rows.min() >= 0 and rows.max() < len(self)):
            raise DataError(
                f"{self.folder}: has transitions 0 to {len(self) - 1}, not {rows.min()} to {rows.max()}."
            )
        for name in names:
            self._check_name(name, per_trajectory=False)
        # Rows in the order of the files, then back: twice as fast as scattering them shard by shard.
        order = np.argsort(rows, kind="stable")
        borders = np.searchsorted(rows[order], self._first_row)
        spans = [
            (arrays, slice(first, last), rows[order[first:last]] - offset)
            for arrays, first, last, offset in zip(
                self.shards, borders[:-1], borders[1:], self._first_row[:-1], strict=True
            )
            if first < last
        ]
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        result = {}
        for name in names:
            gathered = self._empty(name, len(rows))
            for arrays, span, local in spans:
                np.take(
                    arrays[name], local, axis=0, out=gathered[span], mode="clip"
                )  # "raise" makes another copy
            result[name] = np.take(gathered, back, axis=0)
        return result

    def column(self, name: str) -> np.ndarray:
        """Return a whole field, loaded into memory."""
        self._check_name(name)
        return np.concatenate([arrays[name] for arrays in self.shards])

    def transitions(self) -> Transitions:
        """Return all that training may see, loaded into memory."""
        ends = np.cumsum([term["size"] for term in self.manifest.layout]).tolist()
        layout = zip(self.manifest.layout, ends, strict=True)
        names = ("observations", "next_observations", "rewards", "terminals", "timeouts")
        with named(self.folder):
            return Transitions(
                **{name: self.column(name) for name in names},
                actions=self.column("actions") if self.has("actions") else None,
                starts=self.starts(),
                terms={term["name"]: slice(end - term["size"], end) for term, end in layout},
            )

    def starts(self) -> np.ndarray:
        """First transition of every trajectory, (trajectories,)."""
        offsets = zip(self.shards, self._first_row, strict=False)
        return np.concatenate([arrays["episodes/start"] + first for arrays, first in offsets])

    def has(self, name: str) -> bool:
        """Whether there is a field of this name."""
        return name in self.shards[0]

    def _check_name(self, name: str, *, per_trajectory: bool = True) -> None:
        known = [
            field.name
            for field in self.manifest.fields
            if per_trajectory or not field.per_trajectory
        ]
        if name not in known:
            raise DataError(f"{self.folder}: {UnknownNameError('field', name, known)}")

    def _empty(self, name: str, count: int) -> np.ndarray:
        array = self.shards[0][name]
        return np.empty((count, *array.shape[1:]), dtype=array.dtype)


def read_transitions(path: Path, *, max_episode_steps: int | None = None) -> Transitions:
    """Read a dataset of ours, a D4RL file or a Minari directory."""
    from .d4rl import read_d4rl
    from .minari import is_minari, read_minari

    if path.is_file():
        return read_d4rl(path, max_episode_steps=max_episode_steps)
    if is_minari(path) and not (path / MANIFEST_FILE).is_file():
        return read_minari(path)
    if path.is_dir():
        return Dataset(path).transitions()
    raise DataError(
        f"{path}: no such file or directory. Expected a dataset directory, a D4RL file or a Minari dataset."
    )
