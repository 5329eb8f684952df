"""Collection of a recipe's datasets: plan, missing shards in workers, manifests."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from solo_doi.common import settings
from solo_doi.common.errors import SoloError
from solo_doi.common.files import reason
from solo_doi.common.lock import try_lock
from solo_doi.common.provenance import software
from solo_doi.data.manifest import MANIFEST_FILE, Manifest, ShardEntry
from solo_doi.data.shard import DataError, map_shard
from solo_doi.sim import IsaacConfig
from solo_doi.solo12.observation import Layout
from solo_doi.tasks import task_type

from .collect_progress import CollectProgress
from .gpu import GPU_SIMULATORS, warp_config
from .recipes import CollectConfig, Plan, SourceConfig, make_plan
from .replay_data import write_replay
from .source_policies import read_policies
from .worker import ShardJob, exit_with_parent, make_shard, shard_entry, shard_fields

SOURCES = ("expert", "offline")
"""Datasets that are simulated; the others are derived from them."""


class SourceCollector:
    """One source of a recipe in one directory."""

    def __init__(
        self, config: CollectConfig, name: str, folder: Path, isaac: IsaacConfig | None = None
    ) -> None:
        """Plan all trajectories; refuse a directory that was begun with other settings."""
        self.config = config
        self.name = name
        self.folder = folder
        self._isaac = isaac
        self._warp = warp_config(config.sim)
        self.source: SourceConfig = config.source(name)
        self.policies = read_policies(config, self.source)
        self.acting = tuple(entry.policy for entry in self.policies)
        skills = {entry.name: entry.policy.num_skills for entry in self.policies}
        count = config.planned(name)
        self.plan: Plan = make_plan(self.source, count, skills, config.standing_every)
        self.manifest = self._planned_manifest()
        self._entries = {entry.file: entry for entry in self._recorded_shards()}
        """Shards in the manifest, by file name."""

    @cached_property
    def shard_ranges(self) -> list[np.ndarray]:
        """Numbers of the trajectories of each shard."""
        size = self.config.shard_trajectories
        return np.split(np.arange(len(self.plan)), range(size, len(self.plan), size))

    def shard_path(self, number: int) -> Path:
        """Return the path of a shard."""
        return self.folder / f"shard-{number:05}.h5"

    def job(self, number: int, threads: int) -> ShardJob:
        """Return the description of a shard for a worker."""
        index = self.shard_ranges[number]
        return ShardJob(
            config=self.config,
            source=self.source,
            source_number=SOURCES.index(self.name),
            policies=self.acting,
            index=index,
            checkpoint=self.plan.checkpoint[index],
            skill=self.plan.skill[index],
            standing=self.plan.standing[index],
            threads=threads,
            isaac=self._isaac,
            warp=self._warp,
        )

    def missing(self, part: int, parts: int) -> list[int]:
        """Return the shards of this part that do not exist or lack trajectories."""
        numbers = range(part, len(self.shard_ranges), parts)
        return [number for number in numbers if self._found(number) is None]

    def record(self, entry: ShardEntry) -> None:
        """Add a shard to the manifest at once, so that an unfinished collection can be read."""
        self._entries[entry.file] = entry
        self._write_manifest()

    def finish(self) -> bool:
        """Write the manifest of the existing shards; return True if none is missing."""
        found = {}
        for number in range(len(self.shard_ranges)):
            path = self.shard_path(number)
            size = self._found(number)
            if size is not None:
                found[path.name] = self._entries.get(path.name) or shard_entry(path, *size)
        self._entries = found
        return self._write_manifest()

    def _found(self, number: int) -> tuple[int, int] | None:
        """Return the trajectories and transitions of a shard, None if it is not complete."""
        path = self.shard_path(number)
        index = self.shard_ranges[number]
        if not path.is_file():
            return None
        arrays = map_shard(path, self.manifest.fields)
        if not np.array_equal(arrays["episodes/index"], index):
            return None
        return len(index), len(arrays["observations"])

    def _write_manifest(self) -> bool:
        shards = tuple(self._entries[file] for file in sorted(self._entries))
        complete = sum(shard.trajectories for shard in shards) == len(self.plan)
        dataclasses.replace(self.manifest, shards=shards, complete=complete).write(self.folder)
        return complete

    def _planned_manifest(self) -> Manifest:
        policies = []
        for entry in self.policies:
            policy = {
                "name": entry.name,
                "sha256": entry.sha256,
                "skills": entry.policy.num_skills,
                "stochastic": self.source.stochastic,
            }
            policies.append(policy)
        manifest = planned_manifest(self.config, self.name, tuple(policies))
        if self._warp is None:
            return manifest
        origin = {**manifest.origin, "simulator": self._warp.provenance}
        return dataclasses.replace(manifest, origin=origin)

    def _recorded_shards(self) -> tuple[ShardEntry, ...]:
        """Return the shards that an earlier attempt recorded; refuse one with other settings."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(
                f"{self.folder}: cannot be made ({reason(error)}). Choose another --out."
            ) from error
        if not (self.folder / MANIFEST_FILE).exists():
            self.manifest.write(self.folder)
            return ()
        begun = Manifest.read(self.folder)
        differing = begun.differences(self.manifest)
        if differing:
            raise DataError(
                f"{self.folder}: was begun with other settings, checkpoints or versions "
                f"({'; '.join(differing[:3])}). Choose another --out, or delete it."
            )
        return tuple(entry for entry in begun.shards if (self.folder / entry.file).is_file())


def planned_manifest(
    config: CollectConfig, name: str, policies: tuple[dict[str, Any], ...]
) -> Manifest:
    """Return the manifest of a source without files."""
    # Hashes identify the policies; their places differ between machines.
    recipe = {**settings.to_dict(config), "checkpoints": None}
    for place in ("expert_policy", "replay_data"):
        del recipe[place]
    declared = task_type(config.task)
    return Manifest(
        name=name,
        task=config.task,
        fields=shard_fields(config.task),
        layout=_layout_terms(declared.layout),
        joint_names=declared.joint_names,
        control_dt=declared.control_dt,
        seed=config.seed,
        origin={"recipe": recipe, "software": software()},
        policies=policies,
    )


def _layout_terms(layout: Layout) -> tuple[dict[str, Any], ...]:
    """Return the observation terms as a manifest lists them."""
    terms = []
    for term in layout.terms:
        described = {
            "name": term.name,
            "size": term.size,
            "unit": term.unit,
            "frame": term.frame,
            "noise": term.noise,
        }
        terms.append(described)
    return tuple(terms)


def collect(
    config: CollectConfig,
    out: Path,
    workers: int = 0,
    part: int = 0,
    parts: int = 1,
    ray: bool = False,
    isaac: IsaacConfig | None = None,
) -> bool:
    """Make all missing shards of this part; return True if the datasets are complete.

    After a kill at any moment, the next call makes the shards that are missing. `isaac` locates
    Isaac Gym, if that is the simulator.
    """
    if workers < 0:
        raise SoloError(f"Expected at least one worker, or 0 for one per core, found {workers}.")
    with _locked_folder(out):
        if config.replay_data is not None:
            planned = planned_manifest(config, "offline", ())
            write_replay(planned, config.replay_data, out / "offline")
        names = [name for name in SOURCES if name != "offline" or config.replay_data is None]
        sources = [SourceCollector(config, name, out / name, isaac) for name in names]
        work = [(source, number) for source in sources for number in source.missing(part, parts)]
        if work:
            if config.sim in GPU_SIMULATORS and not workers:
                workers = 1  # several would share one GPU
            trajectories = sum(len(source.shard_ranges[number]) for source, number in work)
            _make_shards(work, CollectProgress(trajectories, config), workers, ray)
        finished = [source.finish() for source in sources]
        return all(finished)


@contextmanager
def _locked_folder(folder: Path) -> Iterator[None]:
    """Lock a folder against other collections. The lock ends with the process, even if killed.

    The folder itself is locked, because a lock file would be a foreign file in the dataset.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise DataError(
            f"{folder}: cannot be made ({reason(error)}). Choose another --out."
        ) from error
    try:
        if not try_lock(descriptor):
            raise DataError(
                f"{folder}: another solo-collect is at work here. "
                "Wait for it, or choose another --out."
            )
        yield
    finally:
        os.close(descriptor)


def _make_shards(
    work: list[tuple[SourceCollector, int]], progress: CollectProgress, workers: int, ray: bool
) -> None:
    cores = os.cpu_count() or 1
    threads = max(1, cores // (workers or cores))
    with progress, _executor(workers, ray) as submit:
        futures = {}
        for source, number in work:
            future = submit(source.job(number, threads), source.shard_path(number))
            futures[future] = source
        for future in as_completed(futures):
            entry = future.result()
            futures[future].record(entry)
            progress.advance(entry)


WORKER_ENVIRONMENT = {
    # One thread of linear algebra per process: results do not depend on the number of processes.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # `multiprocessing` starts them with `python -c`, which would import from the current directory.
    "PYTHONSAFEPATH": "1",
}
"""Environment of worker processes, set while they are started."""


@contextmanager
def _executor(workers: int, ray: bool) -> Iterator[Callable[[ShardJob, Path], Future[ShardEntry]]]:
    if ray:
        from .ray_pool import ray_submit

        with ray_submit(workers) as submit:
            yield submit
        return
    before = dict(os.environ)
    os.environ.update(WORKER_ENVIRONMENT)
    pool = ProcessPoolExecutor(
        workers or None, multiprocessing.get_context("spawn"), initializer=exit_with_parent
    )
    try:
        yield lambda job, path: pool.submit(make_shard, job, path)
    except BrokenProcessPool as error:
        raise SoloError(
            "A worker was killed, perhaps because memory ran out. Finished shards are kept: "
            "run the same command again, with fewer --workers if it happens once more."
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)
        for name in WORKER_ENVIRONMENT:
            os.environ.pop(name)
            if name in before:
                os.environ[name] = before[name]
