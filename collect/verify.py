"""solo-collect verify and repair: finds what is damaged in a dataset, and keeps what is whole."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from solo_doi.common.files import reason
from solo_doi.data.manifest import Manifest
from solo_doi.data.shard import DataError, checksums, file_hash, map_shard

from .worker import store

FINITE = ("observations", "next_observations", "actions", "rewards")


def verify(folder: Path) -> list[str]:
    """Return every problem found, in words; an empty list means that the dataset is whole."""
    manifest = Manifest.read(folder)
    problems = (
        []
        if manifest.complete
        else ["the collection is not complete: run its solo-collect command again"]
    )
    first = 0
    for shard in manifest.shards:
        path = folder / shard.file
        if not path.is_file():
            problems.append(f"{shard.file}: missing")
        else:
            if file_hash(path) != shard.sha256:
                problems.append(f"{shard.file}: its bytes differ from what was written")
            problems += [f"{shard.file}: {text}" for text in _damage(path, manifest, first)]
        first += shard.trajectories
    return problems


def repair(folder: Path) -> tuple[int, int]:
    """Rewrite damaged shards with their whole trajectories only; return how many were kept and lost."""
    manifest = Manifest.read(folder)
    entries, lost = [], 0
    for shard in manifest.shards:
        path = folder / shard.file
        try:
            arrays = map_shard(path, manifest.fields)
        except DataError:
            if path.exists():
                _set_aside(path)
            lost += shard.trajectories
            continue
        whole = whole_trajectories(arrays)
        lost += shard.trajectories - int(whole.sum())
        if whole.all() and file_hash(path) == shard.sha256:
            entries.append(shard)
        elif whole.any():
            entries.append(store(_kept(arrays, whole), path))
        else:
            _set_aside(path)
    repaired = dataclasses.replace(
        manifest, shards=tuple(entries), complete=manifest.complete and not lost
    )
    repaired.write(folder)
    return repaired.num_trajectories, lost


def whole_trajectories(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Which trajectories of a shard are finite and as they were written, (trajectories,)."""
    start, length = np.array(arrays["episodes/start"]), np.array(arrays["episodes/length"])
    rows = len(arrays["observations"])
    inside = (
        (start >= 0) & (length > 0) & (length <= rows - start)
    )  # in this order, no sum can overflow
    found = checksums(arrays, np.where(inside, start, 0), np.where(inside, length, 0))
    whole = inside & (found == arrays["episodes/crc32"])
    for row in np.flatnonzero(whole):
        span = slice(start[row], start[row] + length[row])
        whole[row] = all(np.isfinite(arrays[name][span]).all() for name in FINITE if name in arrays)
    return whole


def _damage(path: Path, manifest: Manifest, first: int) -> list[str]:
    try:
        arrays = map_shard(path, manifest.fields)
    except DataError as error:
        return [str(error)]
    numbers = (first + np.flatnonzero(~whole_trajectories(arrays))).tolist()
    return (
        [f"trajectories {numbers[:10]}{' and more' if len(numbers) > 10 else ''} are damaged"]
        if numbers
        else []
    )


def _set_aside(path: Path) -> None:
    try:
        path.rename(path.with_suffix(".damaged"))
    except OSError as error:
        raise DataError(f"{path}: is damaged and cannot be set aside ({reason(error)}).") from error


def _kept(arrays: dict[str, np.ndarray], whole: np.ndarray) -> dict[str, np.ndarray]:
    start, length = arrays["episodes/start"][whole], arrays["episodes/length"][whole]
    rows = np.concatenate(
        [np.arange(first, first + count) for first, count in zip(start, length, strict=True)]
    )
    kept = {
        name: np.array(array[whole] if name.startswith("episodes/") else array[rows])
        for name, array in arrays.items()
    }
    kept["episodes/start"] = np.concatenate([[0], np.cumsum(length)[:-1]]).astype(np.int64)
    return kept
