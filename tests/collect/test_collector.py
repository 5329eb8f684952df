"""Collecting: what is in the files, and that nothing but the recipe decides it."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from collect.collector import SOURCES, SourceCollector, collect
from collect.recipes import CollectConfig, make_plan
from collect.worker import make_arrays, make_shard
from solo_doi.common.errors import SoloError
from solo_doi.common.files import WriteError
from solo_doi.data.dataset import Dataset
from solo_doi.data.manifest import MANIFEST_FILE, Manifest
from solo_doi.data.shard import DataError, checksums, file_hash
from solo_doi.policies.dominic_checkpoint import CheckpointError, read_policy, write_policy
from solo_doi.sim import SimulationError
from solo_doi.sim.domain import NOMINAL
from solo_doi.solo12.constants import JOINT_NAMES
from solo_doi.tasks.episode import draw_episodes
from solo_doi.tasks.locomotion import LocomotionTask
from solo_doi.tasks.randomisation import PRESETS
from tests.common.disks import read_only, small_disk
from tests.policies.checkpoints import VELOCITY, small_policy, velocity_checkpoint

from .recipes import (
    EXPERT,
    NUM_SKILLS,
    collect_here,
    fingerprint,
    made_up_policy,
    tiny,
    write_checkpoints,
    write_overflowing_checkpoints,
)

STEPS = 6


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest, collection: Path) -> Dataset:
    """The expert dataset, and the offline one."""
    return Dataset(collection / request.param)


# What is in the files.


def test_every_planned_trajectory_is_there_once(source: Dataset) -> None:
    """12 expert and 32 offline trajectories of six steps, in order, in shards of four."""
    count = {"expert": 12, "offline": 32}[source.manifest.name]
    assert source.column("episodes/index").tolist() == list(range(count))
    assert source.column("episodes/length").tolist() == [STEPS] * count
    assert len(source) == count * STEPS
    assert [shard.trajectories for shard in source.manifest.shards] == [4] * (count // 4)
    assert source.manifest.complete


def test_a_successor_is_the_next_row_within_a_trajectory(source: Dataset) -> None:
    """And at its end one more observation, which is no row's."""
    observations, following = source.column("observations"), source.column("next_observations")
    inner = ~source.column("timeouts")
    np.testing.assert_array_equal(following[inner], observations[np.flatnonzero(inner) + 1])
    starts = source.starts()
    assert (following[starts[1:] - 1] != observations[starts[1:]]).any(axis=1).all()


def test_flags_mark_first_and_last_rows_and_nothing_terminates(source: Dataset) -> None:
    """Falls do not end a trajectory."""
    starts = source.starts()
    assert np.flatnonzero(source.column("initials")).tolist() == starts.tolist()
    assert np.flatnonzero(source.column("timeouts")).tolist() == (starts + STEPS - 1).tolist()
    assert not source.column("terminals").any()


def test_checkpoints_and_skills_are_as_planned(config: CollectConfig, collection: Path) -> None:
    """16, 8, 4, 2, 1, 1 of 32, three skills in turn."""
    offline = Dataset(collection / "offline")
    plan = make_plan(config.offline, 32, dict.fromkeys(config.offline.mixture, NUM_SKILLS))
    np.testing.assert_array_equal(offline.column("episodes/checkpoint"), plan.checkpoint)
    np.testing.assert_array_equal(offline.column("episodes/skill"), plan.skill)
    assert np.bincount(plan.checkpoint).tolist() == [16, 8, 4, 2, 1, 1]


def test_a_quarter_starts_standing(source: Dataset) -> None:
    """And is recorded as such: level, at rest, before any push."""
    standing = source.column("episodes/standing")
    assert standing.mean() == pytest.approx(0.25, abs=0.11)
    height = source.column("infos/base_position")[source.starts(), 2]
    assert height[standing].max() < height[~standing].max()


def test_seeds_name_dataset_source_and_trajectory(source: Dataset) -> None:
    """No two trajectories of a collection share one."""
    number = SOURCES.index(source.manifest.name)
    expected = [[1, number, index] for index in range(source.manifest.num_trajectories)]
    assert source.column("episodes/seed").tolist() == expected


def test_the_recorded_domain_is_the_seeds_and_within_the_preset(source: Dataset) -> None:
    """One per trajectory, all parameters."""
    preset = PRESETS["robust"]
    seeds = [tuple(seed) for seed in source.column("episodes/seed").tolist()]
    domain = draw_episodes(
        LocomotionTask, seeds, source.column("episodes/standing"), STEPS, preset
    ).domain
    for name, nominal in NOMINAL.items():
        values = source.column(f"episodes/domain/{name}")
        np.testing.assert_array_equal(values, getattr(domain, name))
        low, high = preset.domain.get(name, (nominal, nominal))
        assert ((values >= low) & (values <= high)).all()
        assert low == high or len(np.unique(values)) == len(values)


def test_the_expert_acts_by_its_mean(collection: Path, checkpoints: Path) -> None:
    """The network's output for the stored observations, without noise."""
    expert, policy = Dataset(collection / "expert"), read_policy(checkpoints / EXPERT)
    mean = policy.mean_action(expert.column("observations"), 0)
    np.testing.assert_allclose(expert.column("actions"), mean, atol=1e-5)


def test_checkpoints_explore_with_their_own_deviation(collection: Path, checkpoints: Path) -> None:
    """Mean of the skill that is recorded, plus exp(log_std) times the seed's noise."""
    offline = Dataset(collection / "offline")
    for trajectory in (0, 17, 31):
        checkpoint, skill = (
            int(offline.column(f"episodes/{name}")[trajectory]) for name in ("checkpoint", "skill")
        )
        policy = read_policy(checkpoints / offline.manifest.policies[checkpoint]["name"])
        seed = tuple(offline.column("episodes/seed")[trajectory].tolist())
        noise = draw_episodes(
            LocomotionTask, [seed], np.zeros(1, dtype=bool), STEPS, PRESETS["robust"]
        ).action[:, 0]
        batch = offline.batch(offline.starts()[trajectory] + np.arange(STEPS))
        expected = policy.sample_action(batch["observations"], skill, noise)
        np.testing.assert_allclose(batch["actions"], expected, atol=1e-5)


def test_labels_agree_with_rows(source: Dataset) -> None:
    """Command, falls and checksums of whole trajectories."""
    assert (source.column("episodes/command") == [1.0, 0.0, 0.0]).all()
    fallen = np.logical_or.reduceat(source.column("infos/fallen"), source.starts())
    np.testing.assert_array_equal(source.column("episodes/fallen"), fallen)
    for arrays in source.shards:
        sums = checksums(arrays, arrays["episodes/start"], arrays["episodes/length"])
        np.testing.assert_array_equal(arrays["episodes/crc32"], sums)


def test_a_trajectory_of_250_steps_gives_250_rows(checkpoints: Path, tmp_path: Path) -> None:
    """Not 249: the last successor is stored."""
    collector = SourceCollector(tiny(checkpoints, expert=2, steps=250), "expert", tmp_path)
    arrays = make_arrays(collector.job(0, 1))
    assert arrays["observations"].shape == arrays["next_observations"].shape == (500, 48)
    assert np.isfinite(arrays["next_observations"]).all()
    assert np.flatnonzero(arrays["timeouts"]).tolist() == [249, 499]


def test_the_manifest_says_how_it_was_made(collection: Path, checkpoints: Path) -> None:
    """Recipe, versions, hashes of the checkpoints, layout, joints, rate.

    No path of this machine.
    """
    manifest = Manifest.read(collection / "offline")
    assert manifest.origin["recipe"]["offline"]["trajectories"] == 32
    assert manifest.origin["recipe"]["checkpoints"] is None
    assert {"python", "numpy", "mujoco", "solo-doi", "commit"} <= set(manifest.origin["software"])
    assert [policy["name"] for policy in manifest.policies][:2] == ["model_0.pt", "model_50.pt"]
    assert manifest.policies[0]["sha256"] == file_hash(checkpoints / "model_0.pt")
    assert (manifest.policies[0]["skills"], manifest.policies[0]["stochastic"]) == (
        NUM_SKILLS,
        True,
    )
    assert manifest.joint_names == JOINT_NAMES
    assert manifest.control_dt == 0.02
    assert sum(term["size"] for term in manifest.layout) == 48
    assert str(checkpoints) not in (collection / "offline" / MANIFEST_FILE).read_text()


def test_files_are_what_their_hashes_say(source: Dataset) -> None:
    """The hash is that of the bytes on disk."""
    for shard in source.manifest.shards:
        assert file_hash(source.folder / shard.file) == shard.sha256


# Nothing but the recipe decides the bytes.


def test_bytes_do_not_depend_on_the_number_of_workers(
    config: CollectConfig, collection: Path, tmp_path: Path
) -> None:
    """None, one and two: every shard and every manifest."""
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
    """In every shard."""
    other = collect_here(replace(config, seed=2), tmp_path)
    for name, value in fingerprint(collection).items():
        assert fingerprint(other)[name] != value, name


def test_an_old_copy_of_the_checkpoints_gives_the_same_bytes(
    config: CollectConfig, collection: Path, checkpoints: Path, tmp_path: Path
) -> None:
    """Their folder does not matter."""
    shutil.copytree(checkpoints, tmp_path / "elsewhere")
    out = collect_here(replace(config, checkpoints=tmp_path / "elsewhere"), tmp_path / "out")
    assert fingerprint(out) == fingerprint(collection)


def test_a_finished_collection_is_left_as_it_is(
    config: CollectConfig, collection: Path, tmp_path: Path
) -> None:
    """Nothing is simulated again."""
    out = tmp_path / "again"
    shutil.copytree(collection, out)
    times = {path: path.stat().st_mtime_ns for path in out.glob("*/shard-*.h5")}
    assert collect(config, out, 1)
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert fingerprint(out) == fingerprint(collection)


# Going on.


def test_missing_shards_are_made_to_the_same_bytes(
    config: CollectConfig, collection: Path, copy: Path
) -> None:
    """Two deleted; a remainder of a killed write is written over."""
    (copy / "offline" / "shard-00002.h5").unlink()
    (copy / "expert" / "shard-00001.h5").unlink()
    (copy / "offline" / ".shard-00002.h5.partial").write_bytes(b"half")
    collect_here(config, copy)
    assert fingerprint(copy) == fingerprint(collection)


def test_a_lost_manifest_is_written_again_and_shards_are_kept(
    config: CollectConfig, collection: Path, copy: Path
) -> None:
    """The remedy that the error about a damaged manifest names."""
    (copy / "offline" / MANIFEST_FILE).unlink()
    times = {path: path.stat().st_mtime_ns for path in copy.glob("offline/shard-*.h5")}
    collect_here(config, copy)
    assert fingerprint(copy) == fingerprint(collection)
    assert {path: path.stat().st_mtime_ns for path in times} == times


def test_what_is_there_can_be_read_before_the_collection_is_finished(
    config: CollectConfig, tmp_path: Path
) -> None:
    """Each shard is in the manifest as soon as it is made.

    The dataset says that it is not complete.
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
    """Two recipes never mix; the message names the setting."""
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


def test_an_unreadable_shard_stops_the_collection_with_what_to_do(
    config: CollectConfig, collection: Path, copy: Path
) -> None:
    """It is not overwritten: something may be left in it that `repair` saves."""
    (copy / "offline" / "shard-00001.h5").write_bytes(b"damaged")
    with pytest.raises(
        DataError, match=r"shard-00001\.h5: not a readable HDF5 file.*solo-collect repair"
    ):
        collect(config, copy, 1)
    assert (copy / "offline" / "shard-00001.h5").read_bytes() == b"damaged"


# Errors.


def test_a_folder_in_which_another_process_collects_is_refused(
    config: CollectConfig, tmp_path: Path
) -> None:
    """Two that write the same shards would spoil each other's; the lock goes with its process."""
    place = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(place, fcntl.LOCK_EX)
    with pytest.raises(DataError, match="another solo-collect is at work here"):
        collect(config, tmp_path, 1)
    os.close(place)
    assert not list(tmp_path.iterdir())


def test_a_number_of_workers_below_zero_is_refused(config: CollectConfig, tmp_path: Path) -> None:
    """Zero means one per core."""
    with pytest.raises(
        SoloError, match="Expected at least one worker, or 0 for one per core, found -1"
    ):
        collect(config, tmp_path, -1)


def test_the_official_layout_is_collected_from(config: CollectConfig, tmp_path: Path) -> None:
    """All contents of an official velocity checkpoint, with eight skills and real-valued masks."""
    content = velocity_checkpoint(replace(VELOCITY, hidden=(16, 8)))
    for name in (EXPERT, *config.offline.mixture):
        torch.save(content, tmp_path / name)
    out = collect_here(tiny(tmp_path, expert=8, offline=16, steps=2), tmp_path / "out")
    offline = Dataset(out / "offline")
    assert offline.manifest.policies[0]["skills"] == 8
    assert offline.column("episodes/skill")[:8].tolist() == list(range(8))


def test_a_missing_checkpoint_is_named(config: CollectConfig, tmp_path: Path) -> None:
    """Before anything is simulated."""
    write_checkpoints(tmp_path / "checkpoints")
    (tmp_path / "checkpoints" / "model_500.pt").unlink()
    with pytest.raises(CheckpointError, match=r"model_500\.pt: no such file"):
        collect(replace(config, checkpoints=tmp_path / "checkpoints"), tmp_path / "out", 1)


def test_a_checkpoint_of_another_task_is_refused(config: CollectConfig, tmp_path: Path) -> None:
    """Before a worker starts."""
    write_policy(tmp_path / EXPERT, small_policy())
    with pytest.raises(
        SoloError, match=r"expert\.pt: takes observations of 5 numbers, the task gives 48"
    ):
        collect(replace(config, checkpoints=tmp_path), tmp_path / "out", 1)


def test_a_workers_error_reaches_the_user_as_what_it_was(
    config: CollectConfig, tmp_path: Path
) -> None:
    """With an overflowing policy, the error is the simulator's message, not a broken pool."""
    folder = write_overflowing_checkpoints(tmp_path / "checkpoints")
    with pytest.raises(
        SimulationError, match=r"target of robot 0.* is nan: expected a finite number"
    ):
        collect(replace(config, checkpoints=folder), tmp_path / "out", 1)


def test_a_full_disk_keeps_what_was_made_and_more_space_lets_it_go_on(
    config: CollectConfig, collection: Path, tmp_path: Path
) -> None:
    """A real disk on which five of eleven shards fit."""
    out = tmp_path / "disk"
    out.mkdir()
    with small_disk(out, "200k"):
        with pytest.raises(
            WriteError, match=r"shard-0000\d\.h5: cannot be written \(No space left on device\)"
        ):
            collect(config, out, 1)
        expert = Dataset(out / "expert")
        assert len(expert)
        assert not list(out.rglob("*.partial"))
        subprocess.run(["mount", "-o", "remount,size=8m", str(out)], check=True)
        assert fingerprint(collect_here(config, out)) == fingerprint(collection)


def test_a_read_only_folder_is_one_clear_line(config: CollectConfig, tmp_path: Path) -> None:
    """Found before anything is simulated."""
    with (
        read_only(tmp_path),
        pytest.raises(DataError, match=r"cannot be made \((Read-only|Permission denied)"),
    ):
        collect(config, tmp_path / "out", 1)
