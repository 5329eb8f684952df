"""Memory does not grow with the number of trajectories, only with the size of a shard."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from collect.cli.collect import finish
from collect.collector import SOURCES, SourceCollector
from collect.recipes import CollectConfig
from collect.worker import make_shard, shard_fields, store_shard
from solo_doi.data.shard import checksums

from .recipes import tiny

STEPS = 400
PER_SHARD = 4


def peak(work: Callable[[], object]) -> int:
    """Return the peak memory that numpy and Python allocate during a call [bytes]."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def fill(config: CollectConfig, out: Path) -> None:
    """Write the shards of a recipe with zeros instead of simulated robots."""
    for name in SOURCES:
        source = SourceCollector(config, name, out / name)
        for number, index in enumerate(source.shard_ranges):
            count = len(index)
            arrays = {
                field.name: np.zeros(
                    (count if field.per_trajectory else count * STEPS, *field.shape), field.dtype
                )
                for field in shard_fields("locomotion")
            }
            arrays["episodes/index"][:], arrays["episodes/length"][:] = index, STEPS
            arrays["episodes/start"][:] = np.arange(count) * STEPS
            arrays["episodes/crc32"] = checksums(
                arrays, arrays["episodes/start"], arrays["episodes/length"]
            )
            source.record(store_shard(arrays, source.shard_path(number)))
        assert source.finish()


def test_finishing_ten_times_as_many_trajectories_takes_no_more_memory(
    checkpoints: Path, tmp_path: Path
) -> None:
    """This covers manifests, coverage, demonstrations, tables and picture.

    The tables have one row per trajectory in their sums.
    """

    def filled(shards: int) -> tuple[CollectConfig, Path]:
        sizes = {"expert": shards * PER_SHARD, "offline": shards * PER_SHARD, "steps": STEPS}
        config = tiny(
            checkpoints, **sizes, shard_trajectories=PER_SHARD, coverage_expert=2, demonstrations=2
        )
        fill(config, tmp_path / str(shards))
        return config, tmp_path / str(shards)

    few, many = filled(1), filled(10)
    finish(*few)  # imports matplotlib, which keeps its memory
    assert peak(lambda: finish(*many)) < 1.3 * peak(lambda: finish(*few))


def test_a_worker_takes_no_more_memory_for_many_shards_than_for_one(
    checkpoints: Path, tmp_path: Path
) -> None:
    """The memory of each shard is freed before the next."""
    config = tiny(checkpoints, expert=16, steps=30)
    source = SourceCollector(config, "expert", tmp_path)

    def make(numbers: range) -> None:
        for number in numbers:
            make_shard(source.job(number, 1), source.shard_path(number))

    make(range(1))
    one, four = (peak(lambda: make(numbers)) for numbers in (range(1), range(4)))  # noqa: B023
    assert four < 1.2 * one


@pytest.mark.parametrize("count", [4, 400])
def test_jobs_carry_numbers_of_trajectories_not_trajectories(
    checkpoints: Path, tmp_path: Path, count: int
) -> None:
    """Queued jobs are small, since they share the policies."""
    source = SourceCollector(tiny(checkpoints, expert=count), "expert", tmp_path)
    jobs = [source.job(number, 1) for number in range(len(source.shard_ranges))]
    assert all(job.policies is source.acting for job in jobs)
    assert sum(len(job.index) for job in jobs) == count
