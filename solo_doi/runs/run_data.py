"""Data of a run, and the fingerprints that recognise them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solo_doi.common.errors import SoloError
from solo_doi.policies.bundle.contract import ROBOT
from solo_doi.solo12.constants import JOINT_NAMES
from solo_doi.tasks import is_task

from .data_terms import read_terms
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

    def robot(self) -> str | None:
        """Return the robot with the joints of the coverage data; None if it is unknown."""
        if self.coverage.joint_names == JOINT_NAMES:
            return ROBOT
        return None

    def record(self) -> dict[str, Any]:
        """Return the entries of provenance.json that describe the data."""
        return {
            **self.fingerprints(),
            "observation": self.observation_terms(),
            "robot": self.robot(),
            "joint_names": list(self.coverage.joint_names),
        }


def read_data(config: RunConfig) -> RunData:
    """Read coverage data and states of the expert."""
    from solo_doi.data.dataset import read_transitions

    # Find both before reading either: a missing one is reported at once.
    coverage = coverage_path(config)
    expert = config.expert or _default_folder(config, "demonstrations", "--expert")
    steps = config.max_episode_steps
    names, expert_names = read_terms(config.terms)
    return RunData(
        read_transitions(coverage, max_episode_steps=steps, names=names),
        read_transitions(expert, max_episode_steps=steps, names=expert_names),
    )


def coverage_path(config: RunConfig) -> Path:
    """Return the place of the coverage data."""
    return config.data or _default_folder(config, "coverage", "--data")


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
    if is_task(config.task):
        remedy = f"Run `solo-collect --task {config.task}` here first, or name"
    raise SoloError(f"{folder}: no such directory. {remedy} data with {flag}.")
