"""The sets that training reads, made from those that were collected.

coverage (D_O): all offline trajectories plus a few unlabelled expert ones.
demonstrations (D_E): states of other expert trajectories. Their actions are not in the files: neither in a field
of their own, nor as the observation's `previous_action`, nor as seeds from which they could be simulated again.
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

from .recipe import CollectConfig
from .worker import store

EXPERT_SHARD = "expert.h5"
HIDDEN_TERM = "previous_action"
DEMONSTRATION_EPISODES = ("episodes/index", "episodes/start", "episodes/length", "episodes/crc32")


def make_coverage(config: CollectConfig, out: Path) -> Manifest:
    """Put the offline shards and some expert trajectories into one dataset; files are linked, not copied."""
    offline, expert = Manifest.read(out / "offline"), Dataset(out / "expert")
    chosen = np.arange(_available(expert, config.scaled(config.coverage_expert)))
    shards = offline.shards
    with _fresh(out / "coverage") as folder:
        for shard in offline.shards:
            link(out / "offline" / shard.file, folder / shard.file)
        if chosen.size:
            arrays = take_trajectories(expert, chosen)
            arrays["episodes/checkpoint"] += len(offline.policies)
            arrays["episodes/crc32"] = checksums(
                arrays, arrays["episodes/start"], arrays["episodes/length"]
            )
            shards = (*shards, store(arrays, folder / EXPERT_SHARD))
        policies = (*offline.policies, *expert.manifest.policies)
        manifest = dataclasses.replace(offline, name="coverage", policies=policies, shards=shards)
        manifest.write(folder)
    return manifest


def make_demonstrations(config: CollectConfig, out: Path) -> Manifest:
    """Write the expert's states, from trajectories that are not in the coverage set."""
    expert = Dataset(out / "expert")
    first = config.scaled(config.coverage_expert)
    last = _available(expert, first + config.scaled(config.demonstrations))
    arrays = take_trajectories(expert, np.arange(first, last))
    layout, kept = _without(expert.manifest.layout, HIDDEN_TERM)
    fields = (
        *transition_fields(int(kept.sum()), actions=False),
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
    with _fresh(out / "demonstrations") as folder:
        entry = store(chosen, folder / "shard-00000.h5")
        manifest = dataclasses.replace(
            expert.manifest, name="demonstrations", fields=fields, layout=layout, shards=(entry,),
            seed=None, origin={**origin, "recipe": recipe},
        )  # fmt: skip
        manifest.write(folder)
    return manifest


def take_trajectories(dataset: Dataset, chosen: np.ndarray) -> dict[str, np.ndarray]:
    """Copy whole trajectories, by their number in the dataset, into arrays of a new shard."""
    starts = dataset.starts()
    lengths = dataset.column("episodes/length")[chosen]
    rows = np.concatenate(
        [np.arange(starts[t], starts[t] + n) for t, n in zip(chosen, lengths, strict=True)]
    )
    fields: tuple[Field, ...] = dataset.manifest.fields
    arrays = {f.name: dataset.column(f.name)[chosen] for f in fields if f.per_trajectory}
    arrays |= dataset.batch(rows, [f.name for f in fields if not f.per_trajectory])
    arrays["episodes/start"] = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
    return {field.name: arrays[field.name] for field in fields}


def _available(expert: Dataset, wanted: int) -> int:
    if wanted > expert.manifest.num_trajectories:
        raise DataError(
            f"{expert.folder}: has {expert.manifest.num_trajectories} trajectories, {wanted} are needed for coverage "
            "and demonstrations. Collect at a larger --scale, or ask for fewer."
        )
    return wanted


def _without(
    layout: tuple[dict[str, Any], ...], name: str
) -> tuple[tuple[dict[str, Any], ...], np.ndarray]:
    kept = np.concatenate([np.full(term["size"], term["name"] != name) for term in layout])
    return tuple(term for term in layout if term["name"] != name), kept


@contextmanager
def _fresh(folder: Path) -> Iterator[Path]:
    """Give an empty folder that takes the place of `folder` if the block ends well.

    What is derived is made anew, so that it never mixes two collections, and appears at once.
    """
    if folder.exists():
        Manifest.read(folder)  # refuses to delete what is not a dataset
    new, old = (folder.with_name(f".{folder.name}.{word}") for word in ("new", "old"))
    try:
        for leftover in (new, old):  # of a killed attempt
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
    """Link a file, or copy it where links cannot be had; what was at the target is replaced."""
    if not source.is_file():
        raise DataError(
            f"{source}: missing. `solo-collect verify` shows what is left of its dataset."
        )
    with replacing(target) as partial:
        partial.unlink(missing_ok=True)  # of a killed attempt
        try:
            os.link(source, partial)
        except OSError:  # another file system, or one without links
            shutil.copyfile(source, partial)
