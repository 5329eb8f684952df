"""Shards: HDF5 files that are written completely or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import h5py
import numpy as np
import pytest

from solo_doi.common.files import WriteError, replacing
from solo_doi.data.shard import DataError, checksums, file_hash, map_shard, write_shard
from tests.common.disks import no_file_above, read_only, small_disk

from .datasets import FIELDS, made_up_arrays

LENGTHS = (3, 1, 5)


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    """Three trajectories."""
    return made_up_arrays(np.random.default_rng(0), LENGTHS)


@pytest.fixture
def shard(tmp_path: Path, arrays: dict[str, np.ndarray]) -> Path:
    """The same trajectories in a file."""
    path = tmp_path / "shard.h5"
    write_shard(path, arrays)
    return path


def test_what_is_written_is_read_back_to_the_last_bit(
    shard: Path, arrays: dict[str, np.ndarray]
) -> None:
    """All fields and types are equal."""
    mapped = map_shard(shard, FIELDS)
    assert list(mapped) == [field.name for field in FIELDS]
    for name, array in arrays.items():
        np.testing.assert_array_equal(mapped[name], array, err_msg=name)
        assert mapped[name].dtype == array.dtype


def test_arrays_are_views_into_the_file_at_the_offsets_of_hdf5(shard: Path) -> None:
    """All arrays share one memory map, read-only and aligned.

    Data are loaded on first access.
    """
    mapped = map_shard(shard, FIELDS)
    whole = mapped["observations"].base
    assert isinstance(whole, np.memmap)
    with h5py.File(shard) as file:
        for name, array in mapped.items():
            assert file[name].chunks is None
            assert file[name].compression is None
            assert np.shares_memory(array, whole)
            assert array.ctypes.data - whole.ctypes.data == file[name].id.get_offset(), name
            assert array.flags.aligned
            assert not array.flags.writeable


def test_a_mapped_shard_keeps_one_file_open(shard: Path) -> None:
    """A process may open about a thousand files.

    A map per field would use them up with forty shards.
    """
    before = len(os.listdir("/proc/self/fd"))
    mapped = map_shard(shard, FIELDS)
    assert len(os.listdir("/proc/self/fd")) <= before + 1
    assert mapped


def test_the_same_arrays_give_the_same_bytes(tmp_path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Files contain no time stamp or uninitialised space, so their checksums can be compared."""
    for name in ("one.h5", "two.h5"):
        write_shard(tmp_path / name, arrays)
    assert (tmp_path / "one.h5").read_bytes() == (tmp_path / "two.h5").read_bytes()
    assert file_hash(tmp_path / "one.h5") == file_hash(tmp_path / "two.h5")


def test_an_empty_field_is_read_as_empty(tmp_path: Path) -> None:
    """An empty field has no position in the file to map."""
    write_shard(tmp_path / "empty.h5", {"observations": np.zeros((0, 4), dtype=np.float32)})
    mapped = map_shard(tmp_path / "empty.h5", FIELDS[:1])
    assert mapped["observations"].shape == (0, 4)


def test_a_chunked_field_of_another_program_is_read_all_the_same(tmp_path: Path) -> None:
    """A tool repacked it with compression; reading is slower but correct."""
    values = np.arange(40, dtype=np.float32).reshape(10, 4)
    with h5py.File(tmp_path / "gzip.h5", "w") as file:
        file.create_dataset("observations", data=values, compression="gzip")
    np.testing.assert_array_equal(
        map_shard(tmp_path / "gzip.h5", FIELDS[:1])["observations"], values
    )


# Atomic writing.


def test_a_finished_write_leaves_one_file(shard: Path) -> None:
    assert os.listdir(shard.parent) == [shard.name]


def test_a_failed_write_keeps_only_the_old_file(
    shard: Path, arrays: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here the last step before the replacement fails."""
    old = shard.read_bytes()

    def fail(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(WriteError, match=r"shard\.h5: cannot be written \(Input/output error\)"):
        write_shard(shard, {**arrays, "rewards": arrays["rewards"] + 1})
    assert shard.read_bytes() == old
    assert os.listdir(shard.parent) == [shard.name]


def test_a_mistake_in_the_program_is_not_reported_as_a_full_disk(tmp_path: Path) -> None:
    """An error that is not the system's passes unchanged; no file is left."""

    def stumble() -> None:
        with replacing(tmp_path / "file") as partial:
            partial.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stumble()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("size", [0, 100, 1500, 4000])
def test_a_file_that_cannot_grow_is_one_clear_line(
    tmp_path: Path, size: int, arrays: dict[str, np.ndarray]
) -> None:
    """The space may end anywhere in the file, or while HDF5 closes it.

    The old file stays unchanged.
    """
    path = tmp_path / "shard.h5"
    path.write_text("old")
    with (
        no_file_above(size),
        pytest.raises(WriteError, match=r"cannot be written \(File too large\)") as caught,
    ):
        write_shard(path, arrays)
    assert "\n" not in str(caught.value)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["shard.h5"]


def test_a_full_disk_is_one_clear_line_and_keeps_written_files(
    tmp_path: Path, arrays: dict[str, np.ndarray]
) -> None:
    """On a real disk of 64 kB, the second file does not fit.

    The first stays intact, and no partial file takes up space.
    """
    large = {name: np.repeat(array, 60, axis=0) for name, array in arrays.items()}
    with small_disk(tmp_path, "64k"):
        write_shard(tmp_path / "one.h5", arrays)
        with pytest.raises(
            WriteError, match=r"two\.h5: cannot be written \(No space left on device\)"
        ) as caught:
            write_shard(tmp_path / "two.h5", large)
        assert "\n" not in str(caught.value)
        assert os.listdir(tmp_path) == ["one.h5"]
        np.testing.assert_array_equal(
            map_shard(tmp_path / "one.h5", FIELDS)["rewards"], arrays["rewards"]
        )
        write_shard(tmp_path / "two.h5", arrays)


def test_a_read_only_folder_is_one_clear_line(shard: Path, arrays: dict[str, np.ndarray]) -> None:
    """The existing file can be read."""
    with read_only(shard.parent):
        with pytest.raises(
            WriteError, match=r"cannot be written \((Read-only file system|Permission denied)\)"
        ):
            write_shard(shard, arrays)
        np.testing.assert_array_equal(map_shard(shard, FIELDS)["rewards"], arrays["rewards"])


# Files that are refused.


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The error contains the reason of the operating system."""
    with pytest.raises(
        DataError, match=r"absent\.h5: not a readable HDF5 file \(.*[Nn]o such file"
    ):
        map_shard(tmp_path / "absent.h5", FIELDS)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused_with_the_remedy(shard: Path, share: float) -> None:
    """This holds for any length of the rest."""
    content = shard.read_bytes()
    shard.write_bytes(content[: int(share * len(content))])
    with pytest.raises(
        DataError, match=r"shard\.h5: not a readable HDF5 file .*cut short.*solo-collect repair"
    ):
        map_shard(shard, FIELDS)


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    """The file is a picture with the wrong name."""
    (tmp_path / "picture.h5").write_bytes(b"\x89PNG\r\n" + bytes(1000))
    with pytest.raises(DataError, match=r"picture\.h5: not a readable HDF5 file \(.*signature"):
        map_shard(tmp_path / "picture.h5", FIELDS)


def test_a_missing_field_is_named_with_what_was_found(
    tmp_path: Path, arrays: dict[str, np.ndarray]
) -> None:
    """The file is HDF5, but not of this dataset."""
    del arrays["infos/fallen"], arrays["actions"]
    write_shard(tmp_path / "other.h5", arrays)
    with pytest.raises(
        DataError, match=r"has no 'actions', found \['episodes', 'infos', .*Is it a shard"
    ):
        map_shard(tmp_path / "other.h5", FIELDS)


@pytest.mark.parametrize("dtype", ["<f8", ">f4", "<i4"])
def test_a_field_of_another_type_is_refused(
    tmp_path: Path, arrays: dict[str, np.ndarray], dtype: str
) -> None:
    """A memory map would give wrong numbers.

    The other byte order has the same size and would raise no error.
    """
    arrays["rewards"] = arrays["rewards"].astype(dtype)
    write_shard(tmp_path / "other.h5", arrays)
    with pytest.raises(
        DataError, match=rf"rewards is {dtype} with shape \(9,\), expected <f4 with shape \('N',\)"
    ):
        map_shard(tmp_path / "other.h5", FIELDS)


@pytest.mark.parametrize(
    "value", [np.zeros((9, 5), np.float32), np.float32(1.0)], ids=["wide", "scalar"]
)
def test_a_field_of_another_shape_is_refused(
    tmp_path: Path, arrays: dict[str, np.ndarray], value: np.ndarray
) -> None:
    """Observations are those of another task, or a single number."""
    arrays["observations"] = value
    write_shard(tmp_path / "other.h5", arrays)
    with pytest.raises(
        DataError, match=r"observations is <f4 with shape .*expected <f4 with shape \('N', 4\)"
    ):
        map_shard(tmp_path / "other.h5", FIELDS)


def test_a_group_in_place_of_a_field_is_refused(tmp_path: Path) -> None:
    """Minari's nested spaces have this form."""
    with h5py.File(tmp_path / "nested.h5", "w") as file:
        file.create_group("observations")
    with pytest.raises(DataError, match="has no 'observations'"):
        map_shard(tmp_path / "nested.h5", FIELDS)


@pytest.mark.parametrize("name", ["actions", "episodes/skill"])
def test_fields_of_unequal_length_are_refused(
    tmp_path: Path, arrays: dict[str, np.ndarray], name: str
) -> None:
    """Rows of different fields would not match."""
    arrays[name] = arrays[name][:-1]
    write_shard(tmp_path / "short.h5", arrays)
    with pytest.raises(
        DataError, match=f"different lengths, expected one: .*'{name}': {len(arrays[name])}"
    ):
        map_shard(tmp_path / "short.h5", FIELDS)


def test_damage_anywhere_is_refused_or_leaves_the_shapes_alone(shard: Path) -> None:
    """Single bytes are flipped all over the file.

    The result is a clear error or arrays of the right shape.
    """
    content, rng = shard.read_bytes(), np.random.default_rng(0)
    shapes = {name: array.shape for name, array in map_shard(shard, FIELDS).items()}
    refused = 0
    for place in rng.choice(len(content), 300, replace=False):
        shard.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        try:
            mapped = map_shard(shard, FIELDS)
        except DataError:
            refused += 1
        else:
            assert {name: array.shape for name, array in mapped.items()} == shapes
    assert refused > 20


# Checksums.


def test_a_checksum_sees_every_byte_of_its_trajectory_and_no_other(
    arrays: dict[str, np.ndarray],
) -> None:
    """A change of a transition or label changes the checksum of its trajectory alone."""
    start, length = arrays["episodes/start"], arrays["episodes/length"]
    before = checksums(arrays, start, length)
    for field in FIELDS:
        if field.name in ("episodes/start", "episodes/crc32"):
            continue
        changed = {name: array.copy() for name, array in arrays.items()}
        row = 1 if field.per_trajectory else start[1]
        changed[field.name][row : row + 1].view(np.uint8).reshape(-1)[0] ^= 1
        after = checksums(changed, start, length)
        assert (after != before).tolist() == [False, True, False], field.name


def test_a_checksum_moves_with_its_trajectory(arrays: dict[str, np.ndarray]) -> None:
    """The same trajectory has the same checksum at another position, so copies can be checked."""
    start, length = arrays["episodes/start"], arrays["episodes/length"]
    alone = {
        field.name: arrays[field.name][1:2]
        if field.per_trajectory
        else arrays[field.name][start[1] :][: length[1]]
        for field in FIELDS
    }
    assert checksums(alone, np.array([0]), length[1:2])[0] == checksums(arrays, start, length)[1]


def test_a_hash_is_that_of_the_bytes(tmp_path: Path) -> None:
    """The reference is SHA-256 of an empty file and of 'abc', from the standard (FIPS 180-2)."""
    (tmp_path / "file").write_bytes(b"")
    assert file_hash(tmp_path / "file").startswith("e3b0c44298fc1c14")
    (tmp_path / "file").write_bytes(b"abc")
    assert file_hash(tmp_path / "file").startswith("ba7816bf8f01cfea")
