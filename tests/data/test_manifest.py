"""Manifests: the description of a dataset."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from solo_doi.common.files import WriteError
from solo_doi.data.manifest import MANIFEST_FILE, Manifest, ShardEntry
from solo_doi.data.schema import DATASET_VERSION
from solo_doi.data.shard import DataError
from tests.common.disks import no_file_above, read_only

from .datasets import made_up_manifest

MANIFEST = made_up_manifest(
    [ShardEntry("shard-00000.h5", 3, 9, "12"), ShardEntry("shard-00001.h5", 2, 4, "34")]
)


def change(folder: Path, how: Callable[[dict[str, Any]], object]) -> None:
    """Change a manifest."""
    content = json.loads((folder / MANIFEST_FILE).read_text())
    how(content)
    (folder / MANIFEST_FILE).write_text(json.dumps(content))


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    """All fields are equal, including tuples."""
    MANIFEST.write(tmp_path)
    assert Manifest.read(tmp_path) == MANIFEST


def test_it_is_plain_json_with_format_and_version_first(tmp_path: Path) -> None:
    """The first lines identify the file for human readers."""
    MANIFEST.write(tmp_path)
    content = json.loads((tmp_path / MANIFEST_FILE).read_text())
    assert list(content)[:2] == ["format", "version"]
    assert content["version"] == DATASET_VERSION


def test_sizes_are_sums_over_shards() -> None:
    """The shards have 3 + 2 trajectories."""
    assert MANIFEST.num_trajectories == 5


def test_differences_are_named_by_place_and_both_values() -> None:
    """The list names the settings that differ; missing shards do not count."""
    other = replace(
        MANIFEST,
        seed=2,
        origin={**MANIFEST.origin, "recipe": {"seed": 2, "command": [1.0, 0.5, 0.0]}},
        shards=(),
    )
    assert MANIFEST.differences(other) == [
        "seed was 1, is 2",
        "origin.recipe.command[1] was 0.0, is 0.5",
        "origin.recipe.seed was 1, is 2",
    ]
    assert MANIFEST.differences(replace(MANIFEST, shards=(), complete=False)) == []


def test_a_setting_that_only_one_has_is_a_difference() -> None:
    """A newer program added the field."""
    other = replace(MANIFEST, origin={**MANIFEST.origin, "cluster": "big"})
    assert MANIFEST.differences(other) == ["origin.cluster was None, is 'big'"]


def test_a_file_and_its_reading_have_no_differences(tmp_path: Path) -> None:
    """Tuples become lists in JSON, which is not a difference."""
    MANIFEST.write(tmp_path)
    assert Manifest.read(tmp_path).differences(MANIFEST) == []


def test_a_failed_write_keeps_the_old_manifest(tmp_path: Path) -> None:
    """On a full disk the old dataset stays readable."""
    MANIFEST.write(tmp_path)
    with (
        no_file_above(50),
        pytest.raises(WriteError, match=r"manifest\.json: cannot be written \(File too large\)"),
    ):
        replace(MANIFEST, seed=2).write(tmp_path)
    assert Manifest.read(tmp_path) == MANIFEST
    assert os.listdir(tmp_path) == [MANIFEST_FILE]


def test_a_read_only_folder_is_one_clear_line(tmp_path: Path) -> None:
    """The existing manifest can be read."""
    MANIFEST.write(tmp_path)
    with read_only(tmp_path):
        with pytest.raises(
            WriteError, match=r"manifest\.json: cannot be written \((Read-only|Permission denied)"
        ):
            MANIFEST.write(tmp_path)
        assert Manifest.read(tmp_path) == MANIFEST


def test_a_folder_without_a_manifest_is_no_dataset(tmp_path: Path) -> None:
    """The message names the expected content."""
    with pytest.raises(
        DataError, match=r"no manifest\.json in it\. Expected a dataset made by solo-collect"
    ):
        Manifest.read(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b'{"format": "solo-doi', b"\xff\xfe\x00"], ids=["empty", "cut", "bytes"]
)
def test_a_damaged_manifest_is_refused_with_the_remedy(tmp_path: Path, content: bytes) -> None:
    """The remedy works, because the collector keeps existing shards."""
    (tmp_path / MANIFEST_FILE).write_bytes(content)
    with pytest.raises(
        DataError,
        match=r"manifest\.json: not valid JSON .*Delete it and run the solo-collect command",
    ):
        Manifest.read(tmp_path)


@pytest.mark.parametrize("content", ["[]", "7", '{"dataset_id": "x"}', '{"format": "lerobot"}'])
def test_the_manifest_of_another_program_is_refused(tmp_path: Path, content: str) -> None:
    """Valid JSON is not sufficient."""
    (tmp_path / MANIFEST_FILE).write_text(content)
    with pytest.raises(DataError, match="not the manifest of a solo-doi dataset"):
        Manifest.read(tmp_path)


@pytest.mark.parametrize("version", [DATASET_VERSION + 1, None, "1"])
def test_a_newer_version_is_refused_with_the_remedy(tmp_path: Path, version: object) -> None:
    """The message names the remedy."""
    MANIFEST.write(tmp_path)
    change(tmp_path, lambda content: content.update(version=version))
    with pytest.raises(
        DataError,
        match=rf"version {version!r}, this program reads version {DATASET_VERSION}\. Update",
    ):
        Manifest.read(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content.pop("fields"),
        lambda content: content.pop("control_dt"),
        lambda content: content.update(stranger=1),
        lambda content: content["shards"][0].pop("sha256"),
        lambda content: content["fields"][0].pop("shape"),
        lambda content: content.update(shards=7),
    ],
)
def test_an_incomplete_manifest_is_refused(
    tmp_path: Path, damage: Callable[[dict[str, Any]], object]
) -> None:
    """The file was edited by hand."""
    MANIFEST.write(tmp_path)
    change(tmp_path, damage)
    with pytest.raises(DataError, match=r"manifest\.json: incomplete, or of another program"):
        Manifest.read(tmp_path)
