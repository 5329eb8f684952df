"""What a dataset says of itself, in `manifest.json`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from solo_doi.common.files import reason, replacing

from .schema import VERSION, Field
from .shard import DataError

FORMAT = "solo-doi dataset"
MANIFEST_FILE = "manifest.json"


@dataclass(frozen=True)
class ShardEntry:
    """One file of a dataset."""

    file: str
    trajectories: int
    transitions: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Everything but the numbers. No time of day: the same seed gives the same bytes."""

    name: str
    task: str
    fields: tuple[Field, ...]
    layout: tuple[dict[str, Any], ...]
    """Observation terms in order: name, size, unit, frame, noise."""
    joint_names: tuple[str, ...]
    control_dt: float
    seed: int | None
    """Seed of the collection; nothing where trajectories must not be simulated again."""
    origin: dict[str, Any]
    """How it was made: recipe, simulator, randomisation, software versions, commit."""
    policies: tuple[dict[str, Any], ...]
    """Who acted: name, SHA-256, number of skills, whether sampled."""
    shards: tuple[ShardEntry, ...] = field(default=())
    complete: bool = False

    @property
    def num_trajectories(self) -> int:
        """Trajectories in all shards."""
        return sum(shard.trajectories for shard in self.shards)

    def differences(self, other: Manifest) -> list[str]:
        """Say in what two manifests differ, apart from the shards that are there."""
        one, two = (json.loads(json.dumps(asdict(manifest))) for manifest in (self, other))
        return [
            text
            for name in one
            if name not in ("shards", "complete")
            for text in _differences(name, one[name], two[name])
        ]

    def write(self, folder: Path) -> None:
        """Write completely or not at all."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        with replacing(folder / MANIFEST_FILE) as partial:
            partial.write_text(json.dumps(content, indent=1) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read and check the version."""
        path = folder / MANIFEST_FILE
        if not path.is_file():
            raise DataError(
                f"{folder}: no {MANIFEST_FILE} in it. Expected a dataset made by solo-collect."
            )
        try:
            content = json.loads(path.read_text())
        except OSError as error:
            raise DataError(f"{path}: cannot be read ({reason(error)}).") from error
        except ValueError as error:  # bytes that are no text are one too
            raise DataError(
                f"{path}: not valid JSON ({error}). Delete it and run the solo-collect command that made the dataset "
                "again: shards that are there are kept."
            ) from error
        if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
            raise DataError(f"{path}: not the manifest of a solo-doi dataset.")
        version = content.pop("version", None)
        if version != VERSION:
            raise DataError(
                f"{path}: version {version!r}, this program reads version {VERSION}. Update solo-doi."
            )
        try:
            content["fields"] = tuple(
                Field(**{**entry, "shape": tuple(entry["shape"])}) for entry in content["fields"]
            )
            content["shards"] = tuple(ShardEntry(**entry) for entry in content["shards"])
            for name in ("layout", "joint_names", "policies"):
                content[name] = tuple(content[name])
            return cls(**content)
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{path}: incomplete, or of another program ({error}).") from error


def _differences(name: str, one: object, two: object) -> list[str]:
    if one == two:
        return []
    if isinstance(one, dict) and isinstance(two, dict):
        names = sorted({*one, *two})
        return [
            text
            for part in names
            for text in _differences(f"{name}.{part}", one.get(part), two.get(part))
        ]
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        pairs = enumerate(zip(one, two, strict=True))
        return [
            text for number, (a, b) in pairs for text in _differences(f"{name}[{number}]", a, b)
        ]
    return [f"{name} was {one!r}, is {two!r}"]
