"""Contents of collected datasets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from collect.collector import SOURCES, SourceCollector
from collect.recipes import CollectConfig, make_plan
from collect.worker import make_arrays
from solo_doi.data.dataset import Dataset
from solo_doi.data.manifest import MANIFEST_FILE, Manifest
from solo_doi.data.shard import checksums, file_hash
from solo_doi.policies.dominic_checkpoint import read_policy
from solo_doi.sim.domain import NOMINAL
from solo_doi.solo12.constants import JOINT_NAMES
from solo_doi.tasks.episode import draw_episodes
from solo_doi.tasks.locomotion import LocomotionTask
from solo_doi.tasks.randomisation import PRESETS
from tests.policies.checkpoints import VELOCITY, velocity_checkpoint

from .recipes import (
    EXPERT,
    NUM_SKILLS,
    collect_here,
    tiny,
)

STEPS = 6


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest, collection: Path) -> Dataset:
    """The expert dataset, and the offline one."""
    return Dataset(collection / request.param)


def test_every_planned_trajectory_is_there_once(source: Dataset) -> None:
    """12 expert and 32 offline trajectories of six steps, in order, in shards of four."""
    count = {"expert": 12, "offline": 32}[source.manifest.name]
    assert source.column("episodes/index").tolist() == list(range(count))
    assert source.column("episodes/length").tolist() == [STEPS] * count
    assert len(source) == count * STEPS
    assert [shard.trajectories for shard in source.manifest.shards] == [4] * (count // 4)
    assert source.manifest.complete


def test_a_successor_is_the_next_row_within_a_trajectory(source: Dataset) -> None:
    """The last successor of a trajectory is an additional observation."""
    observations, following = source.column("observations"), source.column("next_observations")
    inner = ~source.column("timeouts")
    np.testing.assert_array_equal(following[inner], observations[np.flatnonzero(inner) + 1])
    starts = source.starts()
    assert (following[starts[1:] - 1] != observations[starts[1:]]).any(axis=1).all()


def test_flags_mark_first_and_last_rows_without_terminals(source: Dataset) -> None:
    """A fall does not end a trajectory."""
    starts = source.starts()
    assert np.flatnonzero(source.column("initials")).tolist() == starts.tolist()
    assert np.flatnonzero(source.column("timeouts")).tolist() == (starts + STEPS - 1).tolist()
    assert not source.column("terminals").any()


def test_checkpoints_and_skills_are_as_planned(config: CollectConfig, collection: Path) -> None:
    """The six checkpoints have 16, 8, 4, 2, 1, 1 of 32 trajectories, with three skills in turn."""
    offline = Dataset(collection / "offline")
    plan = make_plan(config.offline, 32, dict.fromkeys(config.offline.mixture, NUM_SKILLS))
    np.testing.assert_array_equal(offline.column("episodes/checkpoint"), plan.checkpoint)
    np.testing.assert_array_equal(offline.column("episodes/skill"), plan.skill)
    assert np.bincount(plan.checkpoint).tolist() == [16, 8, 4, 2, 1, 1]


def test_a_quarter_starts_standing(source: Dataset) -> None:
    """The dataset records these starts: level, at rest, before any push."""
    standing = source.column("episodes/standing")
    assert standing.mean() == pytest.approx(0.25, abs=0.11)
    height = source.column("infos/base_position")[source.starts(), 2]
    assert height[standing].max() < height[~standing].max()


def test_seeds_name_dataset_source_and_trajectory(source: Dataset) -> None:
    """Each trajectory of a collection has its own seed."""
    number = SOURCES.index(source.manifest.name)
    expected = [[1, number, index] for index in range(source.manifest.num_trajectories)]
    assert source.column("episodes/seed").tolist() == expected


def test_the_recorded_domain_is_the_seeds_and_within_the_preset(source: Dataset) -> None:
    """Each trajectory has its own value of every parameter."""
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
    """The actions are the network's output for the stored observations, without noise."""
    expert, policy = Dataset(collection / "expert"), read_policy(checkpoints / EXPERT)
    mean = policy.mean_action(expert.column("observations"), 0)
    np.testing.assert_allclose(expert.column("actions"), mean, atol=1e-5)


def test_checkpoints_explore_with_their_own_deviation(collection: Path, checkpoints: Path) -> None:
    """The action is the mean of the recorded skill plus exp(log_std) times the seed's noise."""
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
    """The labels are command, falls and checksums of trajectories."""
    assert (source.column("episodes/command") == [1.0, 0.0, 0.0]).all()
    fallen = np.logical_or.reduceat(source.column("infos/fallen"), source.starts())
    np.testing.assert_array_equal(source.column("episodes/fallen"), fallen)
    for arrays in source.shards:
        sums = checksums(arrays, arrays["episodes/start"], arrays["episodes/length"])
        np.testing.assert_array_equal(arrays["episodes/crc32"], sums)


def test_a_trajectory_of_250_steps_gives_250_rows(checkpoints: Path, tmp_path: Path) -> None:
    """The last successor is stored, so there are 250 rows and not 249."""
    collector = SourceCollector(tiny(checkpoints, expert=2, steps=250), "expert", tmp_path)
    arrays = make_arrays(collector.job(0, 1))
    assert arrays["observations"].shape == arrays["next_observations"].shape == (500, 48)
    assert np.isfinite(arrays["next_observations"]).all()
    assert np.flatnonzero(arrays["timeouts"]).tolist() == [249, 499]


def test_the_manifest_describes_the_collection(collection: Path, checkpoints: Path) -> None:
    """It contains recipe, versions, checkpoint hashes, layout, joints and rate; no local path."""
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


def test_files_match_their_hashes(source: Dataset) -> None:
    """The hash is that of the bytes on disk."""
    for shard in source.manifest.shards:
        assert file_hash(source.folder / shard.file) == shard.sha256


def test_the_official_layout_is_collected_from(config: CollectConfig, tmp_path: Path) -> None:
    """All contents of an official velocity checkpoint, with eight skills and real-valued masks."""
    content = velocity_checkpoint(replace(VELOCITY, hidden=(16, 8)))
    for name in (EXPERT, *config.offline.mixture):
        torch.save(content, tmp_path / name)
    out = collect_here(tiny(tmp_path, expert=8, offline=16, steps=2), tmp_path / "out")
    offline = Dataset(out / "offline")
    assert offline.manifest.policies[0]["skills"] == 8
    assert offline.column("episodes/skill")[:8].tolist() == list(range(8))
