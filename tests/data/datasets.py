"""Small made-up datasets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np

from solo_doi.data.manifest import Manifest, ShardEntry
from solo_doi.data.schema import INFO_FIELDS, Field, episode_fields, transition_fields
from solo_doi.data.shard import checksums, file_hash, write_shard
from solo_doi.data.transitions import Transitions

OBSERVATIONS = 4
FIELDS = (*transition_fields(OBSERVATIONS), *INFO_FIELDS, *episode_fields(("friction",)))
STATE_FIELDS = tuple(
    field
    for field in FIELDS
    if field.name != "actions"
    and (
        not field.per_trajectory
        or field.name.split("/")[1] in ("index", "start", "length", "crc32")
    )
)
LAYOUT = (
    {"name": "velocity", "size": 1, "unit": "m/s", "frame": "base", "noise": 0.1},
    {"name": "joints", "size": 3, "unit": "rad", "frame": "joint", "noise": 0.0},
)


def made_up_arrays(
    rng: np.random.Generator, lengths: Sequence[int], fields: Sequence[Field] = FIELDS
) -> dict[str, np.ndarray]:
    """Return the fields of a shard with trajectories of these lengths, every number different."""
    ends = np.cumsum(lengths)
    arrays = {
        field.name: rng.normal(
            size=(len(lengths) if field.per_trajectory else ends[-1], *field.shape)
        ).astype(field.dtype)
        for field in fields
    }
    arrays["terminals"][:] = False
    arrays["timeouts"][:] = np.isin(np.arange(ends[-1]), ends - 1)
    arrays["initials"][:] = np.isin(np.arange(ends[-1]), ends - lengths)
    arrays["episodes/index"] = np.arange(len(lengths))
    arrays["episodes/start"], arrays["episodes/length"] = ends - lengths, np.array(lengths)
    arrays["episodes/crc32"] = checksums(
        arrays, arrays["episodes/start"], arrays["episodes/length"]
    )
    return arrays


def made_up_manifest(
    shards: Sequence[ShardEntry] = (), fields: Sequence[Field] = FIELDS
) -> Manifest:
    """Return the manifest of shards of `made_up_arrays`."""
    return Manifest(
        name="offline",
        task="locomotion",
        fields=tuple(fields),
        layout=LAYOUT,
        joint_names=("FL_HAA", "FL_HFE"),
        control_dt=0.02,
        seed=1,
        origin={"recipe": {"seed": 1, "command": [1.0, 0.0, 0.0]}, "software": {"numpy": "2"}},
        policies=({"name": "model_0.pt", "sha256": "ab", "skills": 3, "stochastic": True},),
        shards=tuple(shards),
        complete=True,
    )


def write_dataset(
    folder: Path,
    shards: Sequence[Sequence[int]],
    *,
    seed: int = 0,
    fields: Sequence[Field] = FIELDS,
) -> list[dict[str, np.ndarray]]:
    """Write a dataset with one shard per list of lengths; return the arrays of each."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    written, entries = [], []
    for number, lengths in enumerate(shards):
        arrays, path = made_up_arrays(rng, lengths, fields), folder / f"shard-{number:05}.h5"
        write_shard(path, arrays)
        entries.append(ShardEntry(path.name, len(lengths), sum(lengths), file_hash(path)))
        written.append(arrays)
    made_up_manifest(entries, fields).write(folder)
    return written


def made_up_transitions(
    lengths: Sequence[int] = (3, 1, 4), *, terminal: Sequence[int] = (1,)
) -> Transitions:
    """Return trajectories of these lengths.

    Those listed in `terminal` end by a terminal, the others by a time-out.
    """
    rng, ends = np.random.default_rng(0), np.cumsum(lengths) - 1
    rows = int(ends[-1]) + 1
    observations = rng.normal(size=(rows, OBSERVATIONS)).astype(np.float32)
    following = np.roll(observations, -1, axis=0)
    following[ends] = rng.normal(size=(len(ends), OBSERVATIONS))
    terminals, timeouts = np.zeros(rows, dtype=bool), np.zeros(rows, dtype=bool)
    for number, end in enumerate(ends):
        (terminals if number in terminal else timeouts)[end] = True
    return Transitions(
        observations=observations,
        next_observations=following,
        actions=rng.normal(size=(rows, 2)).astype(np.float32),
        rewards=rng.normal(size=rows).astype(np.float32),
        terminals=terminals,
        timeouts=timeouts,
        starts=ends + 1 - np.array(lengths),
        terms={"observation": slice(0, OBSERVATIONS)},
    )


def assert_same(one: Transitions, other: Transitions) -> None:
    """Check that all arrays have the same type and are equal to the last bit."""
    names = {field.name for field in fields(Transitions)}
    arrays = sorted(names - {"terms", "joint_names"})
    for name in arrays:
        first, second = getattr(one, name), getattr(other, name)
        np.testing.assert_array_equal(first, second, err_msg=name)
        assert first.dtype == second.dtype, name
