"""solo-collect verify and repair: find damage in a dataset, and keep its intact trajectories."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from solo_doi.common.files import reason
from solo_doi.common.untrusted import check_plain_file
from solo_doi.data.manifest import Manifest
from solo_doi.data.shard import DataError, checksums, file_hash, map_shard

from .worker import store_shard

FINITE = ("observations", "next_observations", "actions", "rewards")
"""Fields with values that must be finite."""
MAX_LISTED = 10
"""Damaged trajectories that a message lists."""


def verify(folder: Path) -> list[str]:
    """Return a message for every problem found; none if the dataset is whole."""
    manifest = Manifest.read(folder)
    problems = []
    if not manifest.complete:
        problems.append("the collection is not complete: run its solo-collect command again")
    first = 0
    for shard in manifest.shards:
        path = folder / shard.file
        check_plain_file(path)
        if not path.is_file():
            problems.append(f"{shard.file}: missing")
        else:
            if file_hash(path) != shard.sha256:
                problems.append(f"{shard.file}: its bytes differ from what was written")
            problems += [f"{shard.file}: {text}" for text in _damage(path, manifest, first)]
        first += shard.trajectories
    return problems


def repair(folder: Path) -> tuple[int, int]:
    """Rewrite damaged shards with their intact trajectories; return the numbers kept and lost."""
    manifest = Manifest.read(folder)
    entries = []
    lost = 0
    for shard in manifest.shards:
        path = folder / shard.file
        check_plain_file(path)
        try:
            arrays = map_shard(path, manifest.fields)
        except DataError:
            if path.exists():
                _set_aside(path)
            lost += shard.trajectories
            continue
        intact = intact_trajectories(arrays)
        lost += shard.trajectories - int(intact.sum())
        if intact.all() and file_hash(path) == shard.sha256:
            entries.append(shard)
        elif intact.any():
            entries.append(store_shard(_selected(arrays, intact), path))
        else:
            _set_aside(path)
    repaired = dataclasses.replace(
        manifest, shards=tuple(entries), complete=manifest.complete and not lost
    )
    repaired.write(folder)
    return repaired.num_trajectories, lost


def intact_trajectories(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Return which trajectories of a shard are finite and as written, (trajectories,)."""
    start = np.array(arrays["episodes/start"])
    length = np.array(arrays["episodes/length"])
    rows = len(arrays["observations"])
    # Compared in this form, no sum can overflow.
    inside = (start >= 0) & (length > 0) & (length <= rows - start)
    found = checksums(arrays, np.where(inside, start, 0), np.where(inside, length, 0))
    intact = inside & (found == arrays["episodes/crc32"])
    for row in np.flatnonzero(intact):
        span = slice(start[row], start[row] + length[row])
        intact[row] = all(
            np.isfinite(arrays[name][span]).all() for name in FINITE if name in arrays
        )
    return intact


def _damage(path: Path, manifest: Manifest, first: int) -> list[str]:
    try:
        arrays = map_shard(path, manifest.fields)
    except DataError as error:
        return [str(error)]
    numbers = (first + np.flatnonzero(~intact_trajectories(arrays))).tolist()
    if not numbers:
        return []
    more = " and more" if len(numbers) > MAX_LISTED else ""
    return [f"trajectories {numbers[:MAX_LISTED]}{more} are damaged"]


def _set_aside(path: Path) -> None:
    try:
        path.rename(path.with_suffix(".damaged"))
    except OSError as error:
        raise DataError(f"{path}: is damaged and cannot be set aside ({reason(error)}).") from error


def _selected(arrays: dict[str, np.ndarray], chosen: np.ndarray) -> dict[str, np.ndarray]:
    """Return the arrays of the chosen trajectories only."""
    start = arrays["episodes/start"][chosen]
    length = arrays["episodes/length"][chosen]
    spans = [np.arange(first, first + count) for first, count in zip(start, length, strict=True)]
    rows = np.concatenate(spans)
    selected = {}
    for name, array in arrays.items():
        index = chosen if name.startswith("episodes/") else rows
        selected[name] = np.array(array[index])
    selected["episodes/start"] = np.concatenate([[0], np.cumsum(length)[:-1]]).astype(np.int64)
    return selected
