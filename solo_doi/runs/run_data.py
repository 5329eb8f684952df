"""Data of a run, and the fingerprints that recognise them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solo_doi.common.errors import SoloError

from .provenance import read_provenance

if TYPE_CHECKING:
    from solo_doi.data.transitions import Transitions

    from .run_config import RunConfig

Fingerprint = dict[str, int]


@dataclass(frozen=True)
class RunData:
    """Data that a run is trained on."""

    coverage: Transitions
    expert: Transitions

    def fingerprints(self) -> dict[str, Fingerprint]:
        """Return a fingerprint per dataset, under the names of provenance.json."""
        return {"data": fingerprint(self.coverage), "expert": fingerprint(self.expert)}

    def observation_terms(self) -> list[dict[str, str | int]]:
        """Return name and size of every observation term of the coverage data, in order."""
        ordered = sorted(self.coverage.terms.items(), key=lambda item: item[1].start)
        return [{"name": name, "size": place.stop - place.start} for name, place in ordered]

    def record(self) -> dict[str, Any]:
        """Return all that provenance.json says about the data."""
        return {**self.fingerprints(), "observation": self.observation_terms()}


def read_data(config: RunConfig) -> RunData:
    """Read coverage data and states of the expert."""
    from solo_doi.data.dataset import read_transitions

    # Find both before reading either: a missing one is reported at once.
    coverage = config.data or _default_folder(config, "coverage", "--data")
    expert = config.expert or _default_folder(config, "demonstrations", "--expert")
    steps = config.max_episode_steps
    return RunData(
        read_transitions(coverage, max_episode_steps=steps),
        read_transitions(expert, max_episode_steps=steps),
    )


def read_same_data(run: Path, config: RunConfig) -> RunData:
    """Read the data of a run; refuse other data in the same place."""
    data = read_data(config)
    check_same_data(run, data.fingerprints())
    return data


def check_same_data(run: Path, found: dict[str, Fingerprint]) -> None:
    """Refuse to continue a run with other data."""
    recorded = read_provenance(run)
    for name, numbers in found.items():
        before = recorded.get(name, {})
        for key, value in before.items():
            if numbers.get(key) != value:
                raise SoloError(
                    f"{run}: began with other {name} ({before}), found {numbers}. "
                    "Continue with the same."
                )


def fingerprint(data: Transitions) -> Fingerprint:
    """Return sizes and checksums, which other data do not share."""
    numbers = {
        "transitions": len(data),
        "trajectories": len(data.starts),
        "crc32": zlib.crc32(data.observations.data),
    }
    if data.actions is not None:
        numbers["crc32_actions"] = zlib.crc32(data.actions.data)
    return numbers


def _default_folder(config: RunConfig, name: str, flag: str) -> Path:
    folder = Path("datasets") / config.task / name
    if folder.is_dir():
        return folder
    remedy = "Name"
    if config.task == "locomotion":
        remedy = "Run `solo-collect --task locomotion` here first, or name"
    raise SoloError(f"{folder}: no such directory. {remedy} data with {flag}.")
