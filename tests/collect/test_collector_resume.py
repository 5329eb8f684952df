"""Repeated and resumed collections: the bytes depend only on the recipe."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from collect.collector import SOURCES, SourceCollector, collect
from collect.recipes import CollectConfig
from collect.worker import make_shard
from solo_doi.data.dataset import Dataset
from solo_doi.data.manifest import MANIFEST_FILE
from solo_doi.data.shard import DataError
from solo_doi.policies.dominic_checkpoint import write_policy

from .recipes import (
    EXPERT,
    collect_here,
    fingerprint,
    made_up_policy,
    write_checkpoints,
)


def test_bytes_do_not_depend_on_the_number_of_workers(
    config: CollectConfig, collection: Path, tmp_path: Path
) -> None:
    """All shards and manifests are equal without workers, with one and with two."""
    expected = {
        name: value
        for name, value in fingerprint(collection).items()
        if name.split("/")[0] in SOURCES
    }
    for workers in (1, 2):
        assert collect(config, tmp_path / str(workers), workers)
        assert fingerprint(tmp_path / str(workers)) == expected


def test_another_seed_gives_other_bytes(
    config: CollectConfig, collection: Path, tmp_path: Path
) -> None:
    """Every shard differs."""
    other = collect_here(replace(config, seed=2), tmp_path)
    for name, value in fingerprint(collection).items():
        assert fingerprint(other)[name] != value, name


def test_an_old_copy_of_the_checkpoints_gives_the_same_bytes(
    config: CollectConfig, collection: Path, checkpoints: Path, tmp_path: Path
) -> None:
    """The folder of the checkpoints has no effect."""
    shutil.copytree(checkpoints, tmp_path / "elsewhere")
    out = collect_here(replace(config, checkpoints=tmp_path / "elsewhere"), tmp_path / "out")
    assert fingerprint(out) == fingerprint(collection)


def test_a_finished_collection_is_left_as_it_is(
    config: CollectConfig, collection: Path, tmp_path: Path
) -> None:
    """Shards are not simulated again."""
    out = tmp_path / "again"
    shutil.copytree(collection, out)
    times = {path: path.stat().st_mtime_ns for path in out.glob("*/shard-*.h5")}
    assert collect(config, out, 1)
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert fingerprint(out) == fingerprint(collection)


def test_missing_shards_are_made_to_the_same_bytes(
    config: CollectConfig, collection: Path, copy: Path
) -> None:
    """Two shards are missing; the partial file of a killed write is overwritten."""
    (copy / "offline" / "shard-00002.h5").unlink()
    (copy / "expert" / "shard-00001.h5").unlink()
    (copy / "offline" / ".shard-00002.h5.partial").write_bytes(b"half")
    collect_here(config, copy)
    assert fingerprint(copy) == fingerprint(collection)


def test_a_lost_manifest_is_written_again_and_shards_are_kept(
    config: CollectConfig, collection: Path, copy: Path
) -> None:
    """The error about a damaged manifest names this remedy."""
    (copy / "offline" / MANIFEST_FILE).unlink()
    times = {path: path.stat().st_mtime_ns for path in copy.glob("offline/shard-*.h5")}
    collect_here(config, copy)
    assert fingerprint(copy) == fingerprint(collection)
    assert {path: path.stat().st_mtime_ns for path in times} == times


def test_finished_shards_can_be_read_during_the_collection(
    config: CollectConfig, tmp_path: Path
) -> None:
    """Each shard is in the manifest as soon as it is complete.

    The manifest is marked as incomplete.
    """
    source = SourceCollector(config, "offline", tmp_path / "offline")
    with pytest.raises(DataError, match="holds no trajectories yet"):
        Dataset(tmp_path / "offline")
    for number in (3, 0):
        source.record(make_shard(source.job(number, 1), source.shard_path(number)))
    dataset = Dataset(tmp_path / "offline")
    assert dataset.column("episodes/index").tolist() == [0, 1, 2, 3, 12, 13, 14, 15]
    assert not dataset.manifest.complete
    assert source.missing(0, 1) == [1, 2, 4, 5, 6, 7]
    assert not source.finish()


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"seed": 2}, r"seed was 1, is 2"),
        ({"randomisation": "paper"}, r"origin\.recipe\.randomisation was 'robust', is 'paper'"),
        ({"command": (0.5, 0.0, 0.0)}, r"origin\.recipe\.command\[0\] was 1\.0, is 0\.5"),
        ({"scale": 2.0}, r"origin\.recipe\.scale was 1\.0, is 2\.0"),
    ],
)
def test_a_directory_begun_with_other_settings_is_refused(
    config: CollectConfig, collection: Path, changes: dict[str, object], difference: str
) -> None:
    """The message names the setting."""
    with pytest.raises(
        DataError, match=rf"begun with other settings.*{difference}.*Choose another --out"
    ):
        SourceCollector(replace(config, **changes), "expert", collection / "expert")  # type: ignore[arg-type]


def test_a_directory_begun_with_other_checkpoints_is_refused(
    config: CollectConfig, collection: Path, tmp_path: Path
) -> None:
    """Checkpoints with the same names and other weights have other hashes."""
    folder = write_checkpoints(tmp_path)
    write_policy(folder / EXPERT, made_up_policy(99, 1))
    with pytest.raises(DataError, match=r"begun with other .*policies\[0\]\.sha256 was"):
        SourceCollector(replace(config, checkpoints=folder), "expert", collection / "expert")


def test_an_unreadable_shard_stops_the_collection_with_a_remedy(
    config: CollectConfig, collection: Path, copy: Path
) -> None:
    """The shard is not overwritten, because `repair` may recover data from it."""
    (copy / "offline" / "shard-00001.h5").write_bytes(b"damaged")
    with pytest.raises(
        DataError, match=r"shard-00001\.h5: not a readable HDF5 file.*solo-collect repair"
    ):
        collect(config, copy, 1)
    assert (copy / "offline" / "shard-00001.h5").read_bytes() == b"damaged"
