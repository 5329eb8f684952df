"""Collects the datasets of a recipe: plans shards, has workers make those that are missing, writes manifests."""

from __future__ import annotations

import dataclasses
import fcntl
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import numpy as np

from solo_doi.common import settings
from solo_doi.common.errors import SoloError
from solo_doi.common.files import reason
from solo_doi.common.provenance import software
from solo_doi.data.manifest import MANIFEST_FILE, Manifest, ShardEntry
from solo_doi.data.shard import DataError, file_hash, map_shard
from solo_doi.policies.dominic_checkpoint import read_policy
from solo_doi.policies.masked_policy import MaskedPolicy
from solo_doi.sim import IsaacConfig
from solo_doi.solo12.constants import CONTROL_DT, JOINT_NAMES
from solo_doi.tasks import task_type

from .collect_progress import CollectProgress
from .recipe import CollectConfig, Plan, SourceConfig, make_plan
from .shipped_checkpoints import shipped_checkpoints
from .worker import ShardJob, describe, leave_with_parent, make_shard, shard_fields

SOURCES = ("expert", "offline")


class SourceCollector:
    """One source of a recipe in one directory."""

    def __init__(
        self, config: CollectConfig, name: str, folder: Path, isaac: IsaacConfig | None = None
    ) -> None:
        """Plan all trajectories; refuse a directory that was begun with other settings."""
        self.config, self.name, self.folder, self._isaac = config, name, folder, isaac
        self.source: SourceConfig = getattr(config, name)
        checkpoints = config.checkpoints or shipped_checkpoints(config.task)
        self.files = tuple(checkpoints / file for file in self.source.mixture)
        self.policies = tuple(_policy(path, config.task) for path in self.files)
        skills = {
            file: policy.num_skills
            for file, policy in zip(self.source.mixture, self.policies, strict=True)
        }
        count = config.scaled(self.source.trajectories)
        self.plan: Plan = make_plan(self.source, count, skills, config.standing_every)
        self.manifest = self._planned_manifest(skills)
        self._entries = {entry.file: entry for entry in self._begun()}
        """What the manifest says is there."""

    @cached_property
    def shard_ranges(self) -> list[np.ndarray]:
        """Numbers of the trajectories of each shard."""
        size = self.config.shard_trajectories
        return [
            np.arange(first, min(first + size, len(self.plan)))
            for first in range(0, len(self.plan), size)
        ]

    def shard_path(self, number: int) -> Path:
        """Where a shard lies."""
        return self.folder / f"shard-{number:05}.h5"

    def job(self, number: int, threads: int) -> ShardJob:
        """Return what a worker needs to make a shard."""
        index = self.shard_ranges[number]
        return ShardJob(
            self.config, self.source, SOURCES.index(self.name), self.policies,
            index, self.plan.checkpoint[index], self.plan.skill[index], self.plan.standing[index], threads,
            self._isaac,
        )  # fmt: skip

    def missing(self, part: int, parts: int) -> list[int]:
        """Shards of this part that are not there yet, or no longer hold all their trajectories."""
        return [
            number
            for number in range(part, len(self.shard_ranges), parts)
            if self._found(number) is None
        ]

    def record(self, entry: ShardEntry) -> None:
        """Add a shard to the manifest at once: what is there can be read even if the collection is never finished."""
        self._entries[entry.file] = entry
        self._write_manifest()

    def finish(self) -> bool:
        """Write the manifest of the shards that are there; return whether they are all."""
        found = {}
        for number in range(len(self.shard_ranges)):
            path, size = self.shard_path(number), self._found(number)
            if size is not None:
                found[path.name] = self._entries.get(path.name) or describe(path, *size)
        self._entries = found
        return self._write_manifest()

    def _found(self, number: int) -> tuple[int, int] | None:
        """Trajectories and transitions of a shard, if it is there with all that was planned."""
        path, index = self.shard_path(number), self.shard_ranges[number]
        if not path.is_file():
            return None
        arrays = map_shard(path, self.manifest.fields)
        whole = np.array_equal(arrays["episodes/index"], index)
        return (len(index), len(arrays["observations"])) if whole else None

    def _write_manifest(self) -> bool:
        shards = tuple(self._entries[file] for file in sorted(self._entries))
        complete = sum(shard.trajectories for shard in shards) == len(self.plan)
        dataclasses.replace(self.manifest, shards=shards, complete=complete).write(self.folder)
        return complete

    def _planned_manifest(self, skills: dict[str, int]) -> Manifest:
        recipe = {
            **settings.to_dict(self.config),
            "checkpoints": None,
        }  # their hashes say what they are
        return Manifest(
            name=self.name,
            task=self.config.task,
            fields=shard_fields(self.config.task),
            layout=tuple(
                {"name": t.name, "size": t.size, "unit": t.unit, "frame": t.frame, "noise": t.noise}
                for t in task_type(self.config.task).layout.terms
            ),
            joint_names=JOINT_NAMES,
            control_dt=CONTROL_DT,
            seed=self.config.seed,
            origin={"recipe": recipe, "software": software()},
            policies=tuple(
                {
                    "name": file,
                    "sha256": file_hash(path),
                    "skills": skills[file],
                    "stochastic": self.source.stochastic,
                }
                for file, path in zip(self.source.mixture, self.files, strict=True)
            ),
        )

    def _begun(self) -> tuple[ShardEntry, ...]:
        """Shards that an earlier attempt recorded; refuse a directory that was begun with other settings."""
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
                f"{self.folder}: was begun with other settings, checkpoints or versions ({'; '.join(differing[:3])}). "
                "Choose another --out, or delete it."
            )
        return tuple(entry for entry in begun.shards if (self.folder / entry.file).is_file())


def _policy(path: Path, task: str) -> MaskedPolicy:
    policy = read_policy(path)
    size = task_type(task).layout.size
    if policy.observation_size != size:
        raise SoloError(
            f"{path}: takes observations of {policy.observation_size} numbers, the task gives {size}: "
            "the checkpoint was trained for another task."
        )
    return policy


def collect(
    config: CollectConfig,
    out: Path,
    workers: int = 0,
    part: int = 0,
    parts: int = 1,
    ray: bool = False,
    isaac: IsaacConfig | None = None,
) -> bool:
    """Make all missing shards of this part; return whether the datasets are complete.

    Killed at any moment and called again, it goes on with the shards that are missing. `isaac` says where Isaac Gym
    is, if that is the simulator.
    """
    if workers < 0:
        raise SoloError(f"Expected at least one worker, or 0 for one per core, found {workers}.")
    with _alone_in(out):
        sources = [SourceCollector(config, name, out / name, isaac) for name in SOURCES]
        work = [(source, number) for source in sources for number in source.missing(part, parts)]
        if work:
            workers = workers or int(config.sim == "isaacgym")  # they would share one GPU
            _make(
                work,
                CollectProgress(sum(len(source.shard_ranges[n]) for source, n in work), config),
                workers,
                ray,
            )
        finished = [source.finish() for source in sources]
        return all(finished)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Refuse a folder in which another process collects; the lock goes with the process, however it ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        place = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise DataError(
            f"{folder}: cannot be made ({reason(error)}). Choose another --out."
        ) from error
    try:
        if not _locked(place):
            raise DataError(
                f"{folder}: another solo-collect is at work here. Wait for it, or choose another --out."
            )
        yield
    finally:
        os.close(place)


def _locked(place: int) -> bool:
    try:
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _make(
    work: list[tuple[SourceCollector, int]], progress: CollectProgress, workers: int, ray: bool
) -> None:
    cores = os.cpu_count() or 1
    threads = max(1, cores // (workers or cores))
    with progress, _executor(workers, ray) as submit:
        futures = {
            submit(source.job(number, threads), source.shard_path(number)): source
            for source, number in work
        }
        for future in as_completed(futures):
            entry = future.result()
            futures[future].record(entry)
            progress.advance(entry)


@contextmanager
def _executor(workers: int, ray: bool) -> Iterator[Callable[[ShardJob, Path], Future[ShardEntry]]]:
    if ray:
        from .ray_pool import ray_submit

        with ray_submit(workers) as submit:
            yield submit
        return
    # Fresh processes, each with one thread of linear algebra: results do not depend on how many there are.
    os.environ.update(
        dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    )
    # `multiprocessing` starts them with `python -c`, which would import from the current directory.
    os.environ["PYTHONSAFEPATH"] = "1"
    pool = ProcessPoolExecutor(
        workers or None, multiprocessing.get_context("spawn"), initializer=leave_with_parent
    )
    try:
        yield lambda job, path: pool.submit(make_shard, job, path)
    except BrokenProcessPool as error:
        raise SoloError(
            "A worker was ended from outside, perhaps because memory ran out. What was collected is kept: run the same "
            "command again, with fewer --workers if it happens once more."
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)
