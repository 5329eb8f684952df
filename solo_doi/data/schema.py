"""Schema of a dataset: names, shapes, types and units of all fields, and the format version.

A shard is an HDF5 file in D4RL's shape: consecutive transitions in `observations`, `actions` and
other arrays. Values for evaluation are under `infos/`, values of whole trajectories under
`episodes/`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from solo_doi.solo12.constants import NUM_JOINTS

DATASET_VERSION = 1
"""Format version; increased when an older reader could misread the files."""


@dataclass(frozen=True)
class Field:
    """One array of a shard, with one entry per transition, or per trajectory under `episodes/`."""

    name: str
    shape: tuple[int, ...]
    """Shape of one entry."""
    dtype: str
    """Type and byte order, as numpy writes them."""
    meaning: str
    """Description with unit. It is part of the manifest, so a change changes datasets' bytes."""

    @property
    def per_trajectory(self) -> bool:
        """True if there is one entry per trajectory instead of one per transition."""
        return self.name.startswith("episodes/")


@dataclass(frozen=True, kw_only=True)
class Meanings:
    """Parts of the schema that differ between tasks."""

    reward: str = "tracking reward exp(-((vx - command)/0.3)^2)"
    groups: str = "the trainer's rewards: regular, task"
    num_groups: int = 2
    fallen: str = "base, shoulder or thigh touched the ground"
    command: str = "velocity command: vx, vy [m/s], yaw rate [rad/s]"
    command_size: int = 3
    ended: str = "the task ended here; never, while falls do not end a trajectory"
    action: str = "raw policy output; joint target = default pose + 0.25 action"
    num_actions: int = NUM_JOINTS


LOCOMOTION_MEANINGS = Meanings()
"""Parts of the schema of the locomotion task."""


def transition_fields(
    observation_size: int, *, actions: bool = True, meanings: Meanings = LOCOMOTION_MEANINGS
) -> tuple[Field, ...]:
    """Return the fields that D4RL defines, and a flag for first transitions."""
    fields = (
        Field(
            "observations",
            (observation_size,),
            "<f4",
            "what the policy saw, noise included; see `layout`",
        ),
        Field(
            "next_observations",
            (observation_size,),
            "<f4",
            "what it saw one control step later, also at the end",
        ),
        Field("rewards", (), "<f4", meanings.reward),
        Field(
            "terminals",
            (),
            "|b1",
            meanings.ended,
        ),
        Field("timeouts", (), "|b1", "last transition of a trajectory"),
        Field("initials", (), "|b1", "first transition of a trajectory"),
    )
    if not actions:
        return fields
    taken = Field("actions", (meanings.num_actions,), "<f4", meanings.action)
    return (fields[0], taken, *fields[1:])


def info_fields(meanings: Meanings = LOCOMOTION_MEANINGS) -> tuple[Field, ...]:
    """Return the fields for evaluation."""
    return (
        Field(
            "infos/base_position",
            (3,),
            "<f4",
            "true position of the base in the world, after the step [m]",
        ),
        Field(
            "infos/base_quaternion",
            (4,),
            "<f4",
            "true orientation of the base (w, x, y, z), after the step",
        ),
        Field("infos/reward_groups", (meanings.num_groups,), "<f4", meanings.groups),
        Field("infos/fallen", (), "|b1", meanings.fallen),
    )


INFO_FIELDS = info_fields()
"""Fields for evaluation of the locomotion task."""


def episode_fields(
    domain: Iterable[str], meanings: Meanings = LOCOMOTION_MEANINGS
) -> tuple[Field, ...]:
    """Return the fields of whole trajectories, with one for each recorded physical parameter."""
    return (
        Field("episodes/index", (), "<i8", "number of the trajectory in its recipe"),
        Field("episodes/start", (), "<i8", "first transition, counted from the shard's beginning"),
        Field("episodes/length", (), "<i8", "number of transitions"),
        Field("episodes/seed", (3,), "<i8", "seed of everything random in the trajectory"),
        Field("episodes/checkpoint", (), "<i8", "which entry of the manifest's `policies` acted"),
        Field("episodes/skill", (), "<i8", "which of its skills"),
        Field("episodes/command", (meanings.command_size,), "<f4", meanings.command),
        Field("episodes/standing", (), "|b1", "started from the controller's standing pose"),
        Field("episodes/fallen", (), "|b1", "fell at any step"),
        Field(
            "episodes/crc32",
            (),
            "<u4",
            "checksum of the trajectory's transitions, to find damaged ones",
        ),
        *(Field(f"episodes/domain/{name}", (), "<f8", "physics of the robot") for name in domain),
    )
