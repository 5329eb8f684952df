"""Datasets for training, derived from the collected ones.

coverage (D_O): all offline trajectories plus a few unlabelled expert ones.
demonstrations (D_E): states of other expert trajectories. The files do not contain their actions:
not as a field, not as the observation's `previous_action`, and not as seeds to simulate them again.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from solo_doi.common.files import reason, replacing
from solo_doi.data.dataset import Dataset
from solo_doi.data.manifest import Manifest
from solo_doi.data.schema import Field, transition_fields
from solo_doi.data.shard import DataError, checksums

from .recipes import CollectConfig
from .worker import store_shard, task_meanings

EXPERT_SHARD = "expert.h5"
"""File of the expert's trajectories in the coverage set."""
HIDDEN_TERM = "previous_action"
"""Observation term that demonstrations leave out."""
DEMONSTRATION_EPISODES = ("episodes/index", "episodes/start", "episodes/length", "episodes/crc32")


def make_coverage(config: CollectConfig, out: Path) -> Manifest:
    """Join the offline shards and some expert trajectories; files are linked, not copied."""
    offline = Manifest.read(out / "offline")
    expert = Dataset(out / "expert")
    chosen = np.arange(_available(expert, config.scaled_expert(config.coverage_expert)))
    shards = offline.shards
    with replaced_folder(out / "coverage") as folder:
        for shard in offline.shards:
            link(out / "offline" / shard.file, folder / shard.file)
        if chosen.size:
            arrays = copy_trajectories(expert, chosen)
            arrays["episodes/checkpoint"] += len(offline.policies)
            arrays["episodes/crc32"] = checksums(
                arrays, arrays["episodes/start"], arrays["episodes/length"]
            )
            shards = (*shards, store_shard(arrays, folder / EXPERT_SHARD))
        policies = (*offline.policies, *expert.manifest.policies)
        manifest = dataclasses.replace(offline, name="coverage", policies=policies, shards=shards)
        manifest.write(folder)
    return manifest


def make_demonstrations(config: CollectConfig, out: Path) -> Manifest:
    """Write the expert's states, from trajectories that are not in the coverage set."""
    expert = Dataset(out / "expert")
    first = config.scaled_expert(config.coverage_expert)
    last = _available(expert, first + config.scaled_expert(config.demonstrations))
    arrays = copy_trajectories(expert, np.arange(first, last))
    layout, kept = _without(expert.manifest.layout, HIDDEN_TERM)
    fields = (
        *transition_fields(int(kept.sum()), actions=False, meanings=task_meanings(config.task)),
        *(field for field in expert.manifest.fields if field.name in DEMONSTRATION_EPISODES),
    )
    chosen = {field.name: arrays[field.name] for field in fields}
    for name in ("observations", "next_observations"):
        chosen[name] = np.ascontiguousarray(arrays[name][:, kept])
    chosen["episodes/crc32"] = checksums(
        chosen, chosen["episodes/start"], chosen["episodes/length"]
    )
    origin = expert.manifest.origin
    recipe = {name: value for name, value in origin["recipe"].items() if name != "seed"}
    with replaced_folder(out / "demonstrations") as folder:
        entry = store_shard(chosen, folder / "shard-00000.h5")
        manifest = dataclasses.replace(
            expert.manifest,
            name="demonstrations",
            fields=fields,
            layout=layout,
            shards=(entry,),
            seed=None,
            origin={**origin, "recipe": recipe},
        )
        manifest.write(folder)
    return manifest


def copy_trajectories(dataset: Dataset, chosen: np.ndarray) -> dict[str, np.ndarray]:
    """Copy whole trajectories, by their number in the dataset, into arrays of a new shard."""
    starts = dataset.starts()
    lengths = dataset.column("episodes/length")[chosen]
    spans = []
    for start, length in zip(starts[chosen], lengths, strict=True):
        spans.append(np.arange(start, start + length))
    fields: tuple[Field, ...] = dataset.manifest.fields
    arrays = {}
    per_step = []
    for field in fields:
        if field.per_trajectory:
            arrays[field.name] = dataset.column(field.name)[chosen]
        else:
            per_step.append(field.name)
    arrays |= dataset.batch(np.concatenate(spans), per_step)
    arrays["episodes/start"] = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
    return {field.name: arrays[field.name] for field in fields}


def _available(expert: Dataset, wanted: int) -> int:
    if wanted > expert.manifest.num_trajectories:
        raise DataError(
            f"{expert.folder}: has {expert.manifest.num_trajectories} trajectories, {wanted} "
            "are needed for coverage and demonstrations. Collect at a larger --scale, "
            "or ask for fewer."
        )
    return wanted


def _without(
    layout: tuple[dict[str, Any], ...], name: str
) -> tuple[tuple[dict[str, Any], ...], np.ndarray]:
    """Return the layout without a term, and a mask of the remaining values."""
    mask = [np.full(term["size"], term["name"] != name) for term in layout]
    return tuple(term for term in layout if term["name"] != name), np.concatenate(mask)


@contextmanager
def replaced_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that replaces `folder` when the block ends without error.

    So a derived dataset never mixes two collections, and appears at once.
    """
    if folder.exists():
        Manifest.read(folder)  # never delete a folder that is not a dataset
    new = folder.with_name(f".{folder.name}.new")
    old = folder.with_name(f".{folder.name}.old")
    try:
        for leftover in (new, old):  # left by a killed attempt
            shutil.rmtree(leftover, ignore_errors=True)
        new.mkdir(parents=True)
        yield new
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    except OSError as error:
        raise DataError(
            f"{folder}: cannot be made ({reason(error)}). What was there before is kept."
        ) from error
    finally:
        for leftover in (new, old):
            shutil.rmtree(leftover, ignore_errors=True)


def link(source: Path, target: Path) -> None:
    """Link a file, or copy it if links are not possible; an existing target is replaced."""
    if not source.is_file():
        raise DataError(
            f"{source}: missing. `solo-collect verify` shows what is left of its dataset."
        )
    with replacing(target) as partial:
        partial.unlink(missing_ok=True)  # left by a killed attempt
        try:
            os.link(source, partial)
        except OSError:  # another file system, or one without links
            shutil.copyfile(source, partial)
