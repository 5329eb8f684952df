"""Datasets for training: coverage with hidden experts, demonstrations without actions."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from collect.dataset_builders import HIDDEN_TERM, link, make_coverage, make_demonstrations
from collect.recipes import CollectConfig
from solo_doi.data.d4rl import write_d4rl
from solo_doi.data.dataset import Dataset
from solo_doi.data.manifest import Manifest
from solo_doi.data.minari import write_minari
from solo_doi.data.shard import DataError, checksums
from solo_doi.solo12.observation import LAYOUTS

from .recipes import collect_here, fingerprint

LAYOUT = LAYOUTS["locomotion"]


def rows(dataset: Dataset, name: str) -> set[bytes]:
    """Return the rows of a field as a set."""
    return {row.tobytes() for row in dataset.column(name)}


# Coverage.


def test_coverage_is_offline_and_then_a_few_experts(collection: Path) -> None:
    """It has all 32 offline and the first three expert trajectories, with all fields."""
    coverage, offline, expert = (
        Dataset(collection / name) for name in ("coverage", "offline", "expert")
    )
    assert coverage.manifest.num_trajectories == 32 + 3
    taken = len(coverage) - len(offline)
    for field in coverage.manifest.fields:
        if not field.per_trajectory:
            both = np.concatenate([offline.column(field.name), expert.column(field.name)[:taken]])
            np.testing.assert_array_equal(coverage.column(field.name), both, err_msg=field.name)
    assert coverage.manifest.complete


def test_experts_in_coverage_are_named_for_evaluation_only(collection: Path) -> None:
    """The manifest lists the expert's checkpoint last.

    The transitions for training do not contain it.
    """
    coverage = Dataset(collection / "coverage")
    assert [policy["name"] for policy in coverage.manifest.policies][-2:] == [
        "model_2000.pt",
        "expert.pt",
    ]
    assert coverage.column("episodes/checkpoint")[-4:].tolist() == [5, 6, 6, 6]
    assert not {"checkpoint", "skill", "source"} & set(vars(coverage.transitions()))


def test_checksums_of_coverage_hold(collection: Path) -> None:
    """The checksums account for the expert's new checkpoint number."""
    for arrays in Dataset(collection / "coverage").shards:
        sums = checksums(arrays, arrays["episodes/start"], arrays["episodes/length"])
        np.testing.assert_array_equal(arrays["episodes/crc32"], sums)


def test_offline_shards_are_linked_not_copied(collection: Path) -> None:
    """A million transitions are stored on the disk once."""
    for path in (collection / "coverage").glob("shard-*.h5"):
        assert path.samefile(collection / "offline" / path.name)


def test_coverage_without_experts_is_the_offline_set(config: CollectConfig, copy: Path) -> None:
    """Both variants can be compared."""
    make_coverage(replace(config, coverage_expert=0), copy)
    coverage, offline = Dataset(copy / "coverage"), Dataset(copy / "offline")
    np.testing.assert_array_equal(coverage.column("observations"), offline.column("observations"))
    assert coverage.manifest.shards == offline.manifest.shards


# Demonstrations.


def test_demonstrations_are_other_trajectories_than_those_in_coverage(collection: Path) -> None:
    """They are the five after the first three; the coverage set has none of their rows."""
    demonstrations, coverage = (
        Dataset(collection / name) for name in ("demonstrations", "coverage")
    )
    assert demonstrations.column("episodes/index").tolist() == [3, 4, 5, 6, 7]
    kept = np.ones(LAYOUT.size, dtype=bool)
    kept[LAYOUT.slices[HIDDEN_TERM]] = False
    seen = {row.tobytes() for row in coverage.column("observations")[:, kept]}
    assert not rows(demonstrations, "observations") & seen


def test_demonstrations_are_the_experts_states(collection: Path) -> None:
    """The numbers are the same, without the twelve of the previous action."""
    demonstrations, expert = (Dataset(collection / name) for name in ("demonstrations", "expert"))
    part = slice(int(expert.starts()[3]), int(expert.starts()[8]))
    kept = np.ones(LAYOUT.size, dtype=bool)
    kept[LAYOUT.slices[HIDDEN_TERM]] = False
    for name in ("observations", "next_observations"):
        np.testing.assert_array_equal(
            demonstrations.column(name), expert.column(name)[part][:, kept]
        )
    assert demonstrations.transitions().terms["command"] == slice(33, 36)
    assert demonstrations.starts().tolist() == [0, 6, 12, 18, 24]


def test_no_file_of_the_demonstrations_holds_an_action(collection: Path) -> None:
    """Files contain no field or observation term with actions, and no seed for a new simulation.

    The expert's actions, as 4-byte floats, do not occur in the bytes of the shard.
    """
    folder = collection / "demonstrations"
    demonstrations, expert = Dataset(folder), Dataset(collection / "expert")
    with h5py.File(folder / "shard-00000.h5") as file:
        names: list[str] = []
        file.visit(names.append)
    assert not [
        name for name in names if "action" in name or "seed" in name or "checkpoint" in name
    ]
    assert HIDDEN_TERM not in [term["name"] for term in demonstrations.manifest.layout]
    assert HIDDEN_TERM not in demonstrations.transitions().terms
    assert demonstrations.transitions().actions is None
    content = (folder / "shard-00000.h5").read_bytes()
    part = slice(int(expert.starts()[3]), int(expert.starts()[8]))
    actions = expert.column("actions")[part]
    assert not [number for number in actions.ravel() if number.tobytes() in content]


def test_the_manifest_of_the_demonstrations_names_no_seed(collection: Path) -> None:
    """Seed, number and expert would allow a new simulation of the trajectory."""
    manifest = Manifest.read(collection / "demonstrations")
    assert manifest.seed is None
    assert "seed" not in manifest.origin["recipe"]


def test_demonstrations_cannot_be_written_where_actions_are_required(
    collection: Path, tmp_path: Path
) -> None:
    """D4RL and Minari require actions; the coverage set can be written in both formats."""
    states = Dataset(collection / "demonstrations").transitions()
    with pytest.raises(DataError, match="without actions cannot be written as D4RL"):
        write_d4rl(tmp_path / "demonstrations.hdf5", states)
    with pytest.raises(DataError, match="without actions cannot be written as Minari"):
        write_minari(tmp_path / "demonstrations-v0", states, "demonstrations-v0")
    coverage = Dataset(collection / "coverage").transitions()
    write_d4rl(tmp_path / "coverage.hdf5", coverage)
    write_minari(tmp_path / "coverage-v0", coverage, "coverage-v0")


def test_too_few_experts_are_an_error_with_the_way_out(config: CollectConfig, copy: Path) -> None:
    """3 + 10 of 12 trajectories are needed; existing files stay unchanged."""
    before = fingerprint(copy)
    with pytest.raises(
        DataError, match=r"expert: has 12 trajectories, 13 are needed .*larger --scale"
    ):
        make_demonstrations(replace(config, demonstrations=10), copy)
    assert fingerprint(copy) == before


# Repeated creation.


def test_making_them_again_gives_the_same_bytes(
    config: CollectConfig, collection: Path, copy: Path
) -> None:
    """No other files are left."""
    make_coverage(config, copy)
    make_demonstrations(config, copy)
    assert fingerprint(copy) == fingerprint(collection)
    assert sorted(path.name for path in copy.iterdir()) == [
        "coverage",
        "demonstrations",
        "expert",
        "offline",
    ]


def test_remainders_of_a_killed_attempt_are_cleared(
    config: CollectConfig, collection: Path, copy: Path
) -> None:
    """The attempt was killed while it filled the new folder, or between the two renames."""
    shutil.rmtree(copy / "demonstrations")
    (copy / "coverage").rename(copy / ".coverage.old")
    (copy / ".coverage.new").mkdir()
    (copy / ".coverage.new" / "shard-00000.h5").write_bytes(b"half")
    assert fingerprint(collect_here(config, copy)) == fingerprint(collection)


def test_a_folder_that_is_not_a_dataset_is_never_deleted(config: CollectConfig, copy: Path) -> None:
    """The folder may contain a user's notes."""
    shutil.rmtree(copy / "coverage")
    (copy / "coverage").mkdir()
    (copy / "coverage" / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match=r"coverage: no manifest\.json in it"):
        make_coverage(config, copy)
    assert (copy / "coverage" / "notes.txt").read_text() == "mine"


def test_links_replace_existing_files_and_fall_back_to_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target may already be a link to the source."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("new")
    target.write_text("old")
    for _ in range(2):
        link(source, target)
        assert target.samefile(source)

    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    link(source, target)
    assert target.read_text() == "new"
    assert not target.samefile(source)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "target"]
    with pytest.raises(DataError, match=r"absent: missing\. `solo-collect verify` shows"):
        link(tmp_path / "absent", target)
