"""Manifest of a dataset: `manifest.json`, the description of its files and their origin."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from solo_doi.common.files import reason, replacing
from solo_doi.common.untrusted import check_bare_name, read_bounded

from .schema import DATASET_VERSION, Field
from .shard import DataError

DATASET_FORMAT = "solo-doi dataset"
MANIFEST_FILE = "manifest.json"
NUMBER_KINDS = "fiub"
"""Kinds of numpy's types that arrays may have: floating point, integers, truth values."""
LARGEST_COUNT = 10**12
"""Largest length of an array and number of transitions in a shard."""


@dataclass(frozen=True)
class ShardEntry:
    """One file of a dataset."""

    file: str
    """File name in the dataset's folder."""
    trajectories: int
    """Number of trajectories."""
    transitions: int
    """Number of transitions."""
    sha256: str
    """Hash of the file."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Description of a dataset. It has no time stamp: the same seed gives the same bytes."""

    name: str
    """Name of the dataset, such as coverage."""
    task: str
    """Task of the trajectories."""
    fields: tuple[Field, ...]
    """All arrays of a shard."""
    layout: tuple[dict[str, Any], ...]
    """Observation terms in order: name, size, unit, frame, noise."""
    joint_names: tuple[str, ...]
    """Joints in the order of actions."""
    control_dt: float
    """Time of a control step [s]."""
    seed: int | None
    """Seed of the collection; None for data that were not simulated, such as derived ones."""
    origin: dict[str, Any]
    """Recipe, simulator, randomisation, software versions, commit."""
    policies: tuple[dict[str, Any], ...]
    """Policies that acted: name, SHA-256, number of skills, sampled or not."""
    shards: tuple[ShardEntry, ...] = field(default=())
    """Files that are complete."""
    complete: bool = False
    """True if all files of the recipe are there."""

    @property
    def num_trajectories(self) -> int:
        """Number of trajectories in all shards."""
        return sum(shard.trajectories for shard in self.shards)

    def differences(self, other: Manifest) -> list[str]:
        """Describe all differences between two manifests, except in their shards."""
        one = json.loads(json.dumps(asdict(self)))
        two = json.loads(json.dumps(asdict(other)))
        found: list[str] = []
        for name in one:
            if name not in ("shards", "complete"):
                found += _differences(name, one[name], two[name])
        return found

    def write(self, folder: Path) -> None:
        """Write the file completely or not at all."""
        content = {"format": DATASET_FORMAT, "version": DATASET_VERSION, **asdict(self)}
        with replacing(folder / MANIFEST_FILE) as partial:
            partial.write_text(json.dumps(content, indent=1) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read the manifest of a dataset.

        Raises:
            DataError: There is none, it is damaged, or its version is unknown.
        """
        path = folder / MANIFEST_FILE
        if not path.is_file():
            raise DataError(
                f"{folder}: no {MANIFEST_FILE} in it. Expected a dataset made by solo-collect."
            )
        try:
            content = json.loads(read_bounded(path))
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({reason(error)}).") from error
        except (ValueError, RecursionError) as error:  # also for bytes that are not UTF-8
            raise DataError(
                f"{path}: not valid JSON ({error}). Delete it and run the solo-collect command "
                "that made the dataset again: existing shards are kept."
            ) from error
        if not isinstance(content, dict) or content.pop("format", None) != DATASET_FORMAT:
            raise DataError(f"{path}: not the manifest of a solo-doi dataset.")
        version = content.pop("version", None)
        if version != DATASET_VERSION:
            raise DataError(
                f"{path}: version {version!r}, this program reads version {DATASET_VERSION}. "
                "Update solo-doi."
            )
        try:
            for entry in content["fields"]:
                entry["shape"] = tuple(entry["shape"])
            content["fields"] = tuple(Field(**entry) for entry in content["fields"])
            _check_numbers(path, content["fields"], content["shards"])
            for entry in content["shards"]:
                check_bare_name(entry["file"], path)
            content["shards"] = tuple(ShardEntry(**entry) for entry in content["shards"])
            for name in ("layout", "joint_names", "policies"):
                content[name] = tuple(content[name])
            return cls(**content)
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{path}: incomplete, or of another program ({error}).") from error


def _check_numbers(path: Path, fields: tuple[Field, ...], shards: list[dict[str, Any]]) -> None:
    """Refuse arrays of anything but numbers, and counts that no file can have."""
    for field_ in fields:
        if np.dtype(field_.dtype).kind not in NUMBER_KINDS:
            raise DataError(f"{path}: {field_.name} is {field_.dtype}, expected numbers.")
        counts = field_.shape
        if not all(type(count) is int and 0 <= count <= LARGEST_COUNT for count in counts):
            raise DataError(f"{path}: {field_.name} has the shape {counts}.")
    for entry in shards:
        for name in ("trajectories", "transitions"):
            if type(entry[name]) is not int or not 0 <= entry[name] <= LARGEST_COUNT:
                raise DataError(f"{path}: {name} of a shard is {entry[name]!r:.40}.")


def _differences(name: str, one: object, two: object) -> list[str]:
    """Describe where two nested values differ, by dotted names."""
    if one == two:
        return []
    found: list[str] = []
    if isinstance(one, dict) and isinstance(two, dict):
        for part in sorted({*one, *two}):
            found += _differences(f"{name}.{part}", one.get(part), two.get(part))
        return found
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for number, (before, now) in enumerate(zip(one, two, strict=True)):
            found += _differences(f"{name}[{number}]", before, now)
        return found
    return [f"{name} was {one!r}, is {two!r}"]
