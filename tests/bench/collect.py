"""Datasets: speed of collecting and reading, and the memory that they need."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from collect.collector import SourceCollector, collect
from collect.recipes import CollectConfig, SourceConfig
from collect.worker import make_shard, shard_fields
from solo_doi.data.dataset import BATCH_FIELDS, Dataset
from solo_doi.data.manifest import Manifest, ShardEntry
from solo_doi.data.schema import Field, transition_fields
from solo_doi.data.shard import map_shard, write_shard
from solo_doi.sim import SimConfig, make_simulator
from solo_doi.sim.domain import NOMINAL, Domain
from solo_doi.solo12.action import joint_target
from solo_doi.solo12.constants import CONTROL_SETUPS
from solo_doi.solo12.state import standing

from .harness import MIN_PAIRS, Pairs, benchmark, interleaved, seconds

SETUP = CONTROL_SETUPS["locomotion"]
ROBOTS = 500
STEPS = 250
SHARD_STEPS = 100
"""Enough to time a shard; costs per step do not change after that."""
ROWS = 1_000_000
SHARDS = 8
BATCH = 512
REPEATS = 50
"""Batches per measurement: one alone is too short to time."""
PEAK_PROGRAM = "from tests.bench.collect import peak_bytes; print(peak_bytes({}))"


@contextmanager
def recipe(**changes: object) -> Iterator[tuple[CollectConfig, Path]]:
    """The paper's recipe with the shipped checkpoints, and a folder to collect into."""
    with tempfile.TemporaryDirectory() as folder:
        yield CollectConfig(**changes), Path(folder) / "out"  # type: ignore[arg-type]


@benchmark(unit="control steps/s per core", at_least=0.7)
def collect_shard() -> Pairs:
    """A worker's shard of 500 trajectories: simulation, inference and writing.

    The reference is the simulation of as many steps on one core.
    """
    sim_config = SimConfig(num_robots=ROBOTS, threads=1)
    with (
        recipe(scale=0.25, offline=SourceConfig(steps=SHARD_STEPS)) as (config, out),
        make_simulator("mujoco", sim_config) as simulator,
    ):
        source = SourceCollector(config, "offline", out)

        def make() -> float:
            return (
                ROBOTS
                * SHARD_STEPS
                / seconds(lambda: make_shard(source.job(0, 1), source.shard_path(0)))
            )

        make()
        arrays = map_shard(
            source.shard_path(0), shard_fields("locomotion")
        )  # the same robots and targets, so that both fall at the same step
        targets = joint_target(
            arrays["actions"].reshape(ROBOTS, SHARD_STEPS, -1).swapaxes(0, 1), SETUP
        )
        simulator.set_domain(
            Domain(**{name: np.array(arrays[f"episodes/domain/{name}"]) for name in NOMINAL})
        )

        def simulate() -> float:
            simulator.reset(standing(SETUP, ROBOTS))
            return (
                ROBOTS
                * SHARD_STEPS
                / seconds(lambda: [simulator.step(target) for target in targets])
            )

        return interleaved(make, simulate)


@benchmark(unit="s", at_most=2.0)
def random_batch() -> Pairs:
    """512 random rows of a million in eight shards, three fields.

    The reference is numpy's memory map of the same rows.
    """
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        dataset, maps = million_rows(Path(folder))
        rows = rng.integers(0, ROWS, (REPEATS, BATCH))

        def read() -> float:
            return seconds(lambda: [dataset.batch(chosen) for chosen in rows]) / REPEATS

        def look_up() -> float:
            return (
                seconds(
                    lambda: [{name: maps[name][chosen] for name in BATCH_FIELDS} for chosen in rows]
                )
                / REPEATS
            )

        for name, values in dataset.batch(rows[0]).items():
            np.testing.assert_array_equal(values, maps[name][rows[0]])  # the same work
        return interleaved(read, look_up)


@benchmark(unit="bytes", at_most=1.1)
def collect_memory() -> Pairs:
    """Most memory that a collection takes at once, 32 shards of 50 short trajectories against 4."""
    pairs = []
    for _ in range(MIN_PAIRS):
        many, few = (float(_in_new_process(PEAK_PROGRAM.format(shards))) for shards in (32, 4))
        pairs.append((many, few))
    return pairs


@benchmark(unit="control steps/s")
def two_workers() -> Pairs:
    """A collection by two processes against one, including their start.

    The single process also uses a second thread.
    """
    return _workers(2, ray=False)


def two_ray_workers() -> Pairs:
    """A collection by two Ray workers on this machine against one process."""
    return _workers(2, ray=True)


if importlib.util.find_spec("ray"):
    benchmark(unit="control steps/s")(two_ray_workers)


def million_rows(folder: Path) -> tuple[Dataset, dict[str, np.ndarray]]:
    """Return a dataset of random numbers, and the same numbers as plain memory-mapped files."""
    rng, size = np.random.default_rng(0), ROWS // SHARDS
    fields = (
        *(f for f in transition_fields(48) if f.name in BATCH_FIELDS),
        Field("episodes/start", (), "<i8", "first row"),
    )
    whole = {
        field.name: np.memmap(
            folder / field.name, dtype=np.float32, mode="w+", shape=(ROWS, *field.shape)
        )
        for field in fields[:3]
    }
    entries = []
    for number in range(SHARDS):
        arrays = {
            field.name: rng.random((size, *field.shape), dtype=np.float32) for field in fields[:3]
        }
        for name, array in arrays.items():
            whole[name][number * size : (number + 1) * size] = array
        write_shard(
            folder / f"{number}.h5", {**arrays, "episodes/start": np.arange(0, size, STEPS)}
        )
        entries.append(ShardEntry(f"{number}.h5", size // STEPS, size, ""))
    Manifest(
        name="random", task="locomotion", fields=fields, layout=(), joint_names=(),
        control_dt=0.02, seed=0, origin={},
        policies=(), shards=tuple(entries), complete=True,
    ).write(folder)  # fmt: skip
    maps = {
        name: np.memmap(folder / name, np.float32, "r", shape=array.shape)
        for name, array in whole.items()
    }
    return Dataset(folder), maps


def peak_bytes(shards: int) -> int:
    """Collect, and return the peak memory of this process and all its children together.

    Files that they map do not count.
    """
    peak, over = 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not over.wait(0.05):
            peak = max(peak, _family_memory())

    thread = threading.Thread(target=watch)
    thread.start()
    count = 25 * shards  # of each of two sources
    with recipe() as (config, out):
        few = (
            replace(config.expert, trajectories=count, steps=50),
            replace(config.offline, trajectories=count, steps=50),
        )
        collect(
            replace(config, expert=few[0], offline=few[1], shard_trajectories=50), out, workers=1
        )
    over.set()
    thread.join()
    return peak


def _workers(workers: int, *, ray: bool) -> Pairs:
    def rate(count: int) -> float:
        with recipe(scale=0.05, shard_trajectories=50) as (config, out):
            steps = 2 * config.scaled(config.expert.trajectories) * STEPS
            return steps / seconds(lambda: collect(config, out, count, ray=ray))

    return [(rate(workers), rate(1)) for _ in range(MIN_PAIRS)]


def _family_memory() -> int:
    """Memory of this process and its descendants, pages that they share counted once."""
    total, waiting = 0, [os.getpid()]
    while waiting:
        pid = waiting.pop()
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
            waiting += [
                int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            ]
        except OSError:  # it has just ended
            continue
        total += (
            next(
                int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss_Anon:")
            )
            * 1024
        )
    return total


def _in_new_process(program: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return result.stdout.splitlines()[-1]
