"""Merging of parts that were collected separately."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from collect.collector import SOURCES, SourceCollector
from collect.dataset_builders import make_coverage, make_demonstrations
from collect.merge_parts import merge_parts
from collect.recipes import CollectConfig
from collect.worker import make_shard
from solo_doi.data.manifest import Manifest
from solo_doi.data.shard import DataError

from .recipes import fingerprint

PARTS = 3


def make_part(config: CollectConfig, out: Path, part: int) -> Path:
    """Run the equivalent of `solo-collect --shard PART/3`."""
    for name in SOURCES:
        source = SourceCollector(config, name, out / name)
        for number in source.missing(part, PARTS):
            source.record(make_shard(source.job(number, 1), source.shard_path(number)))
        source.finish()
    return out


@pytest.fixture(scope="module")
def parts(config: CollectConfig, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """Three parts of one collection."""
    folder = tmp_path_factory.mktemp("parts")
    return tuple(make_part(config, folder / str(part), part) for part in range(PARTS))


def test_a_part_is_a_dataset_marked_as_incomplete(parts: tuple[Path, ...]) -> None:
    """The eight shards are divided into three parts without overlap."""
    manifests = [Manifest.read(part / "offline") for part in parts]
    assert not any(manifest.complete for manifest in manifests)
    files = [shard.file for manifest in manifests for shard in manifest.shards]
    assert sorted(files) == [f"shard-{number:05}.h5" for number in range(8)]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_parts_give_the_same_bytes_as_one_run(
    parts: tuple[Path, ...],
    order: tuple[int, ...],
    config: CollectConfig,
    collection: Path,
    tmp_path: Path,
) -> None:
    """Parts may come in any order; derived datasets are included."""
    merged = merge_parts(tmp_path / "whole", tuple(parts[part] for part in order))
    assert merged == replace(config, checkpoints=None)
    make_coverage(merged, tmp_path / "whole")
    make_demonstrations(merged, tmp_path / "whole")
    assert fingerprint(tmp_path / "whole") == fingerprint(collection)


def test_merging_again_gives_the_same_files(parts: tuple[Path, ...], tmp_path: Path) -> None:
    """This may happen after a kill or by mistake."""
    merge_parts(tmp_path / "whole", parts)
    before = fingerprint(tmp_path / "whole")
    merge_parts(tmp_path / "whole", parts)
    assert fingerprint(tmp_path / "whole") == before


def test_a_part_may_be_named_twice_or_be_the_whole(
    parts: tuple[Path, ...], collection: Path, tmp_path: Path
) -> None:
    """The same shard from two places counts once."""
    merge_parts(tmp_path / "whole", (*parts, parts[0], collection))
    assert Manifest.read(tmp_path / "whole" / "offline") == Manifest.read(collection / "offline")


def test_parts_can_be_merged_into_one_of_them(
    parts: tuple[Path, ...], collection: Path, tmp_path: Path
) -> None:
    """The machine that made a part can collect the others."""
    shutil.copytree(parts[0], tmp_path / "whole")
    merge_parts(tmp_path / "whole", (tmp_path / "whole", *parts[1:]))
    assert Manifest.read(tmp_path / "whole" / "offline") == Manifest.read(collection / "offline")


def test_a_missing_part_is_refused_before_anything_is_written(
    parts: tuple[Path, ...], tmp_path: Path
) -> None:
    """The message states the number of trajectories found."""
    with pytest.raises(
        DataError, match=r"the parts hold 8 of 12 trajectories\. Name all parts, each complete"
    ):
        merge_parts(tmp_path / "whole", parts[1:])
    assert not (tmp_path / "whole").exists()


def test_parts_of_different_recipes_are_refused(
    parts: tuple[Path, ...], config: CollectConfig, tmp_path: Path
) -> None:
    """The error names the setting that differs."""
    other = make_part(replace(config, seed=2), tmp_path / "other", 2)
    with pytest.raises(
        DataError, match=r"other/expert: was made with other settings.*seed was 1, is 2"
    ):
        merge_parts(tmp_path / "whole", (*parts[:2], other))


def test_another_collection_is_not_merged_into(
    parts: tuple[Path, ...], config: CollectConfig, tmp_path: Path
) -> None:
    """The shards of the other collection have the same names."""
    other = make_part(replace(config, seed=2), tmp_path / "other", 0)
    before = fingerprint(other)
    with pytest.raises(DataError, match=r"other/expert: was made with other settings"):
        merge_parts(other, parts)
    assert fingerprint(other) == before


def test_a_part_damaged_on_its_way_is_refused(parts: tuple[Path, ...], tmp_path: Path) -> None:
    """The bytes are compared with the manifest."""
    part = tmp_path / "copied"
    shutil.copytree(parts[1], part)
    path = part / "expert" / "shard-00001.h5"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(
        DataError, match=r"copied/expert/shard-00001\.h5: its bytes differ.*Copy the part again"
    ):
        merge_parts(tmp_path / "whole", (parts[0], part, parts[2]))


def test_a_shard_lost_on_its_way_is_named(parts: tuple[Path, ...], tmp_path: Path) -> None:
    """The manifest was copied, but the file was not."""
    part = tmp_path / "copied"
    shutil.copytree(parts[1], part)
    (part / "offline" / "shard-00004.h5").unlink()
    with pytest.raises(
        DataError, match=r"copied/offline/shard-00004\.h5: cannot be read \(No such file"
    ):
        merge_parts(tmp_path / "whole", (parts[0], part, parts[2]))


def test_two_different_shards_of_one_name_are_refused(
    parts: tuple[Path, ...], tmp_path: Path
) -> None:
    """If two machines compute different numbers, neither can be trusted."""
    part = tmp_path / "other"
    shutil.copytree(parts[0], part)
    manifest = Manifest.read(part / "offline")
    entries = (replace(manifest.shards[0], sha256="0"), *manifest.shards[1:])
    replace(manifest, shards=entries).write(part / "offline")
    with pytest.raises(
        DataError, match=r"other/offline/shard-00000\.h5: differs from .*0/offline/shard-00000\.h5"
    ):
        merge_parts(tmp_path / "whole", (*parts, part))


def test_merging_without_parts_is_an_error(tmp_path: Path) -> None:
    """The argument was forgotten."""
    with pytest.raises(DataError, match="Nothing to merge"):
        merge_parts(tmp_path / "whole", ())


def test_a_folder_that_is_no_part_is_named(tmp_path: Path) -> None:
    """The path was misspelt."""
    with pytest.raises(DataError, match=r"absent/expert: no manifest\.json"):
        merge_parts(tmp_path / "whole", (tmp_path / "absent",))
