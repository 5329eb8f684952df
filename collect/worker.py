"""Production of one shard, in a worker process or on another machine."""

from __future__ import annotations

import multiprocessing
import os
import threading
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path

import numpy as np

from solo_doi.data.manifest import ShardEntry
from solo_doi.data.schema import (
    Field,
    Meanings,
    episode_fields,
    info_fields,
    transition_fields,
)
from solo_doi.data.shard import checksums, file_hash, write_shard
from solo_doi.sim import IsaacConfig, SimConfig, Simulator, WarpConfig
from solo_doi.sim.domain import NOMINAL, Domain
from solo_doi.tasks import make_task, task_type
from solo_doi.tasks.episode import Draws, Seed, draw_episodes
from solo_doi.tasks.randomisation import randomisation
from solo_doi.tasks.randomness import GivenEpisodes
from solo_doi.tasks.task import Task

from .recipes import CollectConfig, SourceConfig
from .rollout import StepPolicy, lengths_of, roll_out
from .source_policies import CollectPolicy

MAX_ROBOTS_TOGETHER = {"pybullet": 50}
"""Robots simulated at a time, if not a whole shard's: a PyBullet client takes 38 MB."""


@dataclass(frozen=True)
class ShardJob:
    """Description of a shard, from which any machine makes the same bytes."""

    config: CollectConfig
    source: SourceConfig
    source_number: int
    policies: tuple[CollectPolicy, ...]
    index: np.ndarray  # numbers of the trajectories
    checkpoint: np.ndarray  # index into policies
    skill: np.ndarray
    standing: np.ndarray  # True for those that start in the standing pose
    threads: int
    isaac: IsaacConfig | None = None
    warp: WarpConfig | None = None


def shard_fields(task: str) -> tuple[Field, ...]:
    """Return the fields of a collected shard, in the order in which they are written."""
    size = task_type(task).layout.size
    meanings = task_meanings(task)
    return (
        *transition_fields(size, meanings=meanings),
        *info_fields(meanings),
        *episode_fields(NOMINAL, meanings),
    )


def task_meanings(task: str) -> Meanings:
    """Return the parts of a dataset's schema that the task declares."""
    declared = task_type(task)
    collection = declared.collection
    return Meanings(
        reward=collection.reward,
        groups=collection.groups,
        num_groups=len(declared.reward_groups),
        fallen=collection.fallen,
        command=collection.commanded,
        ended=collection.ended,
        action=collection.action,
        num_actions=len(declared.joint_names),
        command_size=declared.command_size,
    )


def make_arrays(job: ShardJob) -> dict[str, np.ndarray]:
    """Simulate a shard's trajectories and return all its fields."""
    config = job.config
    count = len(job.index)
    seeds = [(config.seed, job.source_number, int(index)) for index in job.index]
    together = MAX_ROBOTS_TOGETHER.get(config.sim, count)
    pieces = []
    domains = []
    for rows in np.split(np.arange(count), range(together, count, together)):
        arrays, domain = _simulate(job, rows, seeds)
        pieces.append(arrays)
        domains.append(domain)
    flat = {}
    lengths = np.concatenate(list(map(lengths_of, pieces)))
    lasting = np.arange(job.source.steps) < lengths[:, None]
    for name in pieces[0]:
        array = np.concatenate([piece[name] for piece in pieces])
        if name == "infos/fallen":
            flat["episodes/fallen"] = np.asarray(array.any(axis=1))
        flat[name] = array[lasting]
    flat |= _labels(job, seeds, lengths)
    flat["timeouts"] &= ~flat["terminals"]
    for name in NOMINAL:
        values = np.concatenate([getattr(domain, name) for domain in domains])
        flat[f"episodes/domain/{name}"] = values
    flat["episodes/crc32"] = checksums(flat, flat["episodes/start"], flat["episodes/length"])
    return {field.name: flat[field.name] for field in shard_fields(config.task)}


def _labels(job: ShardJob, seeds: list[Seed], lengths: np.ndarray) -> dict[str, np.ndarray]:
    """Return the fields of a shard that depend on its simulation by lengths alone."""
    count = len(job.index)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    row = np.arange(ends[-1])
    return {
        "timeouts": np.isin(row, ends - 1),
        "initials": np.isin(row, starts),
        "episodes/index": job.index.astype(np.int64),
        "episodes/start": starts.astype(np.int64),
        "episodes/length": lengths.astype(np.int64),
        "episodes/seed": np.array(seeds, dtype=np.int64),
        "episodes/checkpoint": job.checkpoint.astype(np.int64),
        "episodes/skill": job.skill.astype(np.int64),
        "episodes/command": np.tile(np.array(job.config.command, dtype=np.float32), (count, 1)),
        "episodes/standing": job.standing,
    }


def exit_with_parent() -> None:
    """End this worker when its parent is killed, so that it cannot disturb the next attempt."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent.sentinel,), daemon=True).start()


def _watch(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


def make_shard(job: ShardJob, path: Path) -> ShardEntry:
    """Make a shard and write it."""
    return store_shard(make_arrays(job), path)


def store_shard(arrays: dict[str, np.ndarray], path: Path) -> ShardEntry:
    """Write a shard's fields; return its manifest entry."""
    write_shard(path, arrays)
    return shard_entry(path, len(arrays["episodes/start"]), len(arrays["observations"]))


def shard_entry(path: Path, trajectories: int, transitions: int) -> ShardEntry:
    """Return the manifest entry of a file."""
    return ShardEntry(path.name, trajectories, transitions, file_hash(path))


def _simulate(
    job: ShardJob, rows: np.ndarray, seeds: list[Seed]
) -> tuple[dict[str, np.ndarray], Domain]:
    """Simulate some of a shard's trajectories; return arrays (rows, steps, ...) and domains."""
    config = job.config
    with recipe_simulator(config, len(rows), job.threads, job.isaac, job.warp) as simulator:
        draws = draw_episodes(
            task_type(config.task),
            [seeds[row] for row in rows],
            job.standing[rows],
            job.source.steps,
            randomisation(config.randomisation),
            simulator.unsupported_domain,
        )
        task = start_episodes(config, simulator, draws, job.source.steps)
        arrays = roll_out(task, _actor(job, rows, draws.action), job.source.steps)
        return arrays, draws.domain


def recipe_simulator(
    config: CollectConfig,
    robots: int,
    threads: int,
    isaac: IsaacConfig | None,
    warp: WarpConfig | None,
) -> Simulator:
    """Return a simulator with the gains and the ground of a recipe's task."""
    setup = SimConfig(num_robots=robots, threads=threads, isaac=isaac, warp=warp)
    return task_type(config.task).make_simulator(config.sim, setup)


def start_episodes(config: CollectConfig, simulator: Simulator, draws: Draws, steps: int) -> Task:
    """Start drawn episodes of `steps` control steps of a recipe's task with its command."""
    declared = task_type(config.task)
    options = declared.fixed_config(config.randomisation, steps, config.scene)
    terrain = declared.fixed_terrain(options, simulator.num_robots)
    episodes = GivenEpisodes(draws, np.array(config.command), declared.layout, terrain)
    return make_task(config.task, simulator, episodes, options)


def _actor(job: ShardJob, trajectories: np.ndarray, noise: np.ndarray) -> StepPolicy:
    """Return a function that infers the actions of these trajectories, checkpoint by checkpoint."""
    checkpoint = job.checkpoint[trajectories]
    skill = job.skill[trajectories]
    groups = [(number, np.flatnonzero(checkpoint == number)) for number in np.unique(checkpoint)]

    def act(step: int, observation: np.ndarray) -> np.ndarray:
        action = np.empty((len(observation), noise.shape[-1]), dtype=np.float32)
        for number, rows in groups:
            policy = job.policies[number]
            if job.source.stochastic:
                action[rows] = policy.sample_action(
                    observation[rows], skill[rows], noise[step, rows]
                )
            else:
                action[rows] = policy.mean_action(observation[rows], skill[rows])
        return action

    return act
