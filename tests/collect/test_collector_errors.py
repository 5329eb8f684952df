"""Errors of a collection: checkpoints, workers, disks."""

from __future__ import annotations

import fcntl
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from collect.collector import collect
from collect.recipes import CollectConfig
from solo_doi.common.errors import SoloError
from solo_doi.common.files import WriteError
from solo_doi.data.dataset import Dataset
from solo_doi.data.shard import DataError
from solo_doi.policies.dominic_checkpoint import CheckpointError, write_policy
from solo_doi.sim import SimulationError
from tests.common.disks import read_only, small_disk
from tests.policies.checkpoints import small_policy

from .recipes import (
    EXPERT,
    collect_here,
    fingerprint,
    write_checkpoints,
    write_overflowing_checkpoints,
)


def test_a_folder_in_which_another_process_collects_is_refused(
    config: CollectConfig, tmp_path: Path
) -> None:
    """Two processes would overwrite each other's shards; the lock ends with its process."""
    place = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(place, fcntl.LOCK_EX)
    with pytest.raises(DataError, match="another solo-collect is at work here"):
        collect(config, tmp_path, 1)
    os.close(place)
    assert not list(tmp_path.iterdir())


def test_a_number_of_workers_below_zero_is_refused(config: CollectConfig, tmp_path: Path) -> None:
    """Zero means one worker per core."""
    with pytest.raises(
        SoloError, match="Expected at least one worker, or 0 for one per core, found -1"
    ):
        collect(config, tmp_path, -1)


def test_a_missing_checkpoint_is_named(config: CollectConfig, tmp_path: Path) -> None:
    """The error comes before the simulation."""
    write_checkpoints(tmp_path / "checkpoints")
    (tmp_path / "checkpoints" / "model_500.pt").unlink()
    with pytest.raises(CheckpointError, match=r"model_500\.pt: no such file"):
        collect(replace(config, checkpoints=tmp_path / "checkpoints"), tmp_path / "out", 1)


def test_a_checkpoint_of_another_task_is_refused(config: CollectConfig, tmp_path: Path) -> None:
    """The error comes before a worker starts."""
    write_policy(tmp_path / EXPERT, small_policy())
    with pytest.raises(
        SoloError, match=r"expert\.pt: takes observations of 5 numbers, the task gives 48"
    ):
        collect(replace(config, checkpoints=tmp_path), tmp_path / "out", 1)


def test_a_workers_error_reaches_the_user_unchanged(config: CollectConfig, tmp_path: Path) -> None:
    """The policy overflows; the error is the simulator's message, not that of a broken pool."""
    folder = write_overflowing_checkpoints(tmp_path / "checkpoints")
    with pytest.raises(
        SimulationError, match=r"target of robot 0.* is nan: expected a finite number"
    ):
        collect(replace(config, checkpoints=folder), tmp_path / "out", 1)


def test_a_full_disk_keeps_finished_shards_and_more_space_continues(
    config: CollectConfig, collection: Path, tmp_path: Path
) -> None:
    """Five of eleven shards fit on a real disk."""
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
    """The error comes before the simulation."""
    with (
        read_only(tmp_path),
        pytest.raises(DataError, match=r"cannot be made \((Read-only|Permission denied)"),
    ):
        collect(config, tmp_path / "out", 1)
