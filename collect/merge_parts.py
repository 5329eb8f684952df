"""Merging of a collection's parts, made on several machines, to the same bytes as one machine's."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from solo_doi.common import settings
from solo_doi.common.files import reason
from solo_doi.common.untrusted import check_plain_file
from solo_doi.data.manifest import MANIFEST_FILE, Manifest, ShardEntry
from solo_doi.data.shard import DataError, file_hash

from .collector import SOURCES
from .dataset_builders import link
from .recipes import CollectConfig


def merge_parts(out: Path, parts: tuple[Path, ...]) -> CollectConfig:
    """Link all shards into `out` and write complete manifests; return the recipe."""
    if not parts:
        raise DataError(
            "Nothing to merge: name the directories of the parts after that of the whole."
        )
    for name in SOURCES:
        _merge_source(out / name, [part / name for part in parts])
    recipe = Manifest.read(out / SOURCES[0]).origin["recipe"]
    return settings.from_dict(CollectConfig, recipe, str(out))


def _merge_source(out: Path, parts: list[Path]) -> None:
    manifests = [Manifest.read(part) for part in parts]
    common = dataclasses.replace(manifests[0], shards=(), complete=False)
    for part, manifest in zip(parts, manifests, strict=True):
        _check_same(part, manifest, parts[0], common)
    files = _find_shards(parts, manifests)
    shards = tuple(files[name][1] for name in sorted(files))
    planned = _planned_trajectories(manifests[0])
    found = sum(shard.trajectories for shard in shards)
    if found != planned:
        raise DataError(
            f"{out}: the parts hold {found} of {planned} trajectories. "
            "Name all parts, each complete."
        )
    if (out / MANIFEST_FILE).exists():
        _check_same(out, Manifest.read(out), parts[0], common)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{out}: cannot be made ({reason(error)}).") from error
    for part, shard in files.values():
        check_plain_file(part / shard.file)
        if file_hash(part / shard.file) != shard.sha256:
            raise DataError(
                f"{part / shard.file}: its bytes differ from what was written. Copy the part again."
            )
        if part != out:
            link(part / shard.file, out / shard.file)
    dataclasses.replace(common, shards=shards, complete=True).write(out)


def _find_shards(
    parts: list[Path], manifests: list[Manifest]
) -> dict[str, tuple[Path, ShardEntry]]:
    """Return folder and entry of every shard, by file name; refuse two different versions."""
    files: dict[str, tuple[Path, ShardEntry]] = {}
    for part, manifest in zip(parts, manifests, strict=True):
        for shard in manifest.shards:
            first, entry = files.setdefault(shard.file, (part, shard))
            if entry != shard:
                raise DataError(f"{part / shard.file}: differs from {first / shard.file}.")
    return files


def _check_same(folder: Path, manifest: Manifest, first: Path, common: Manifest) -> None:
    differing = common.differences(manifest)
    if differing:
        found = "; ".join(differing[:3])
        raise DataError(
            f"{folder}: was made with other settings, checkpoints or versions "
            f"than {first} ({found})."
        )


def _planned_trajectories(manifest: Manifest) -> int:
    config = settings.from_dict(CollectConfig, manifest.origin["recipe"], manifest.name)
    return config.planned(manifest.name)
