"""Verification names damage; repair keeps every undamaged trajectory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from collect.dataset_repair import intact_trajectories, repair, verify
from collect.recipes import CollectConfig
from collect.worker import shard_fields
from solo_doi.common.files import WriteError
from solo_doi.data.dataset import Dataset
from solo_doi.data.manifest import Manifest
from solo_doi.data.schema import Field
from solo_doi.data.shard import checksums, file_hash, map_shard, write_shard
from tests.common.disks import no_file_above

from .recipes import DATASETS, collect_here, fingerprint

SHARD = "shard-00002.h5"  # trajectories 8 to 11
SUMMED = [
    field
    for field in shard_fields("locomotion")
    if field.name not in ("episodes/start", "episodes/length", "episodes/crc32")
]


@pytest.fixture
def offline(copy: Path) -> Path:
    """The offline dataset of the copy, eight shards of four trajectories."""
    return copy / "offline"


def flip(path: Path, name: str, row: int) -> None:
    """Change one bit of a field in the file."""
    with h5py.File(path) as file:
        dataset = file[name]
        offset = dataset.id.get_offset() + row * dataset.dtype.itemsize * int(
            np.prod(dataset.shape[1:])
        )
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", DATASETS)
def test_a_whole_dataset_has_no_problems(collection: Path, name: str) -> None:
    assert verify(collection / name) == []


@pytest.mark.parametrize("field", SUMMED, ids=lambda field: field.name)
def test_a_flipped_bit_is_found_and_its_trajectory_named(offline: Path, field: Field) -> None:
    """The bit is in any field of transitions or labels.

    Here it is in the second trajectory of the third shard.
    """
    flip(offline / SHARD, field.name, 1 if field.per_trajectory else 6 + 3)
    assert verify(offline) == [
        f"{SHARD}: its bytes differ from what was written",
        f"{SHARD}: trajectories [9] are damaged",
    ]
    assert repair(offline) == (31, 1)


@pytest.mark.parametrize("name", ["episodes/start", "episodes/length", "episodes/crc32"])
def test_a_flipped_bit_in_the_bookkeeping_damages_its_trajectory_only(
    offline: Path, name: str
) -> None:
    """The other trajectories are still found."""
    flip(offline / SHARD, name, 1)
    assert verify(offline)[1] == f"{SHARD}: trajectories [9] are damaged"


def test_invalid_bookkeeping_is_reported_as_damage(offline: Path) -> None:
    """Some indices lie far outside of the file, or overflow when added."""
    arrays = {
        name: np.array(array)
        for name, array in map_shard(offline / SHARD, shard_fields("locomotion")).items()
    }
    largest = np.iinfo(np.int64).max
    arrays["episodes/start"][:2] = largest, -largest
    arrays["episodes/length"][1:3] = largest, -1
    assert intact_trajectories(arrays).tolist() == [False, False, False, True]


def test_many_damaged_trajectories_are_not_all_listed(
    config: CollectConfig, tmp_path: Path
) -> None:
    """The list ends after ten."""
    out = collect_here(replace(config, shard_trajectories=16), tmp_path)
    for row in range(12):
        flip(out / "offline" / "shard-00000.h5", "episodes/skill", row)
    assert verify(out / "offline")[1].endswith(
        "trajectories [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] and more are damaged"
    )


def test_a_missing_and_an_unreadable_shard_are_named(offline: Path) -> None:
    """Each is listed with its reason."""
    (offline / "shard-00000.h5").unlink()
    (offline / SHARD).write_bytes((offline / SHARD).read_bytes()[:5000])
    missing, differing, unreadable = verify(offline)
    assert missing == "shard-00000.h5: missing"
    assert differing == f"{SHARD}: its bytes differ from what was written"
    assert "not a readable HDF5 file" in unreadable


def test_numbers_that_are_not_finite_are_found_although_the_bytes_are_as_written(
    offline: Path,
) -> None:
    """A diverged simulation wrote them."""
    arrays = {
        name: np.array(array)
        for name, array in map_shard(offline / SHARD, shard_fields("locomotion")).items()
    }
    arrays["actions"][6 * 3, 4] = np.nan
    arrays["episodes/crc32"] = checksums(
        arrays, arrays["episodes/start"], arrays["episodes/length"]
    )
    write_shard(offline / SHARD, arrays)
    manifest = Manifest.read(offline)
    entries = [replace(e, sha256=file_hash(offline / e.file)) for e in manifest.shards]
    replace(manifest, shards=tuple(entries)).write(offline)
    assert verify(offline) == [f"{SHARD}: trajectories [11] are damaged"]
    assert repair(offline) == (31, 1)
    assert np.isfinite(Dataset(offline).transitions().actions).all()


def test_an_unfinished_collection_is_reported(offline: Path) -> None:
    """The message names the command to run."""
    replace(Manifest.read(offline), complete=False).write(offline)
    assert verify(offline) == ["the collection is not complete: run its solo-collect command again"]


# Repair.


def test_repair_of_a_whole_dataset_changes_no_byte(copy: Path, collection: Path) -> None:
    """All 32 trajectories are kept."""
    assert repair(copy / "offline") == (32, 0)
    assert fingerprint(copy) == fingerprint(collection)


def test_repair_keeps_every_whole_trajectory_and_drops_damaged_ones(
    offline: Path, collection: Path
) -> None:
    """Two trajectories in two shards are damaged.

    The others are unchanged in all fields, and the dataset can be opened.
    """
    flip(offline / SHARD, "observations", 6 + 3)
    flip(offline / "shard-00005.h5", "infos/base_position", 0)
    assert repair(offline) == (30, 2)
    repaired, before = Dataset(offline), Dataset(collection / "offline")
    kept = np.delete(np.arange(32), [9, 20])
    assert repaired.column("episodes/index").tolist() == kept.tolist()
    rows = np.concatenate([np.arange(6 * number, 6 * number + 6) for number in kept])
    for field in shard_fields("locomotion"):
        if field.name != "episodes/start":
            expected = before.column(field.name)[kept if field.per_trajectory else rows]
            np.testing.assert_array_equal(repaired.column(field.name), expected, err_msg=field.name)
    assert repaired.transitions().starts.tolist() == list(range(0, 180, 6))
    assert verify(offline) == ["the collection is not complete: run its solo-collect command again"]
    assert not repaired.manifest.complete


def test_a_shard_without_usable_trajectories_is_set_aside(offline: Path) -> None:
    """The file is kept for inspection; missing trajectories count as lost."""
    cut = (offline / SHARD).read_bytes()[:3000]
    (offline / SHARD).write_bytes(cut)
    (offline / "shard-00000.h5").unlink()
    for row in range(4):
        flip(offline / "shard-00001.h5", "rewards", 6 * row)
    assert repair(offline) == (20, 12)
    assert (offline / "shard-00002.damaged").read_bytes() == cut
    assert (offline / "shard-00001.damaged").exists()
    assert len(Dataset(offline)) == 20 * 6


def test_damage_outside_of_the_data_is_undone(offline: Path, collection: Path) -> None:
    """The file has an extra byte; all trajectories are kept, and the file is restored."""
    with (offline / SHARD).open("ab") as file:
        file.write(b"x")
    assert verify(offline) == [f"{SHARD}: its bytes differ from what was written"]
    assert repair(offline) == (32, 0)
    assert (offline / SHARD).read_bytes() == (collection / "offline" / SHARD).read_bytes()


def test_a_repaired_collection_can_be_completed_again(
    config: CollectConfig, copy: Path, collection: Path
) -> None:
    """The same command restores the lost trajectories to the same bytes."""
    flip(copy / "offline" / SHARD, "actions", 2)
    (copy / "offline" / "shard-00004.h5").write_bytes(b"")
    assert repair(copy / "offline") == (27, 5)
    collect_here(config, copy)
    (copy / "offline" / "shard-00004.damaged").unlink()
    assert fingerprint(copy) == fingerprint(collection)


def test_demonstrations_are_repaired_too(copy: Path) -> None:
    """Demonstrations have fewer fields."""
    flip(copy / "demonstrations" / "shard-00000.h5", "observations", 6)
    assert verify(copy / "demonstrations")[1] == "shard-00000.h5: trajectories [1] are damaged"
    assert repair(copy / "demonstrations") == (4, 1)
    assert Dataset(copy / "demonstrations").column("episodes/index").tolist() == [3, 5, 6, 7]


def test_a_full_disk_while_repairing_keeps_the_damaged_shard(offline: Path) -> None:
    """No undamaged trajectory is lost."""
    flip(offline / SHARD, "observations", 0)
    damaged = (offline / SHARD).read_bytes()
    with no_file_above(10_000), pytest.raises(WriteError, match=f"{SHARD}: cannot be written"):
        repair(offline)
    assert (offline / SHARD).read_bytes() == damaged
    assert repair(offline) == (31, 1)
