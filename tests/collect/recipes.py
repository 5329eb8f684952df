"""Collections small enough for tests, from made-up checkpoints."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from collect.collector import SOURCES, SourceCollector
from collect.dataset_builders import make_coverage, make_demonstrations
from collect.recipes import OFFLINE_MIXTURE, CollectConfig, SourceConfig
from collect.worker import make_shard
from solo_doi.policies.dominic_checkpoint import write_policy
from solo_doi.policies.masked_policy import MaskedPolicy
from solo_doi.solo12.observation import LAYOUTS

HIDDEN = (8, 8)
NUM_SKILLS = 3
EXPERT = "expert.pt"
UNKNOWN_COMMIT = "unknown"
"""Commit in all manifests, as outside of git."""
DATASETS = ("expert", "offline", "coverage", "demonstrations")


def made_up_policy(seed: int, num_skills: int, hidden: tuple[int, int] = HIDDEN) -> MaskedPolicy:
    """Return a policy that moves the joints a little; robots neither walk nor jump."""
    rng, size, actions = np.random.default_rng(seed), LAYOUTS["locomotion"].size, 12
    first, second = hidden

    def normal(*shape: int) -> np.ndarray:
        return (0.2 * rng.standard_normal(shape)).astype(np.float32)

    def mask(width: int) -> np.ndarray:
        return (rng.random((num_skills, width)) < 0.7).astype(np.float32)

    return MaskedPolicy(
        mean=normal(size),
        std=np.ones(size, dtype=np.float32),
        weights=(normal(first, size), normal(second, first), normal(actions, second)),
        biases=(normal(first), normal(second), normal(actions)),
        masks=(mask(first), mask(second)),
        log_std=np.full(actions, -0.5, dtype=np.float32),
    )


def write_checkpoints(
    folder: Path, *, hidden: tuple[int, int] = HIDDEN, num_skills: int = NUM_SKILLS
) -> Path:
    """Write an expert and the six checkpoints of the paper's mixture, in the official layout."""
    write_policy(folder / EXPERT, made_up_policy(0, 1, hidden))
    for seed, name in enumerate(OFFLINE_MIXTURE, start=1):
        write_policy(folder / name, made_up_policy(seed, num_skills, hidden))
    return folder


def write_overflowing_checkpoints(folder: Path) -> Path:
    """Write the same with an expert that overflows in its first simulated step."""
    write_checkpoints(folder)
    policy = made_up_policy(0, 1)
    huge = tuple(np.full_like(weight, 3e38) for weight in policy.weights)
    write_policy(folder / EXPERT, replace(policy, weights=huge))  # type: ignore[arg-type]
    return folder


def tiny(
    checkpoints: Path, *, expert: int = 12, offline: int = 32, steps: int = 6, **changes: object
) -> CollectConfig:
    """Return a recipe of a few trajectories of a few steps, in shards of four."""
    config = CollectConfig(
        checkpoints=checkpoints,
        expert=SourceConfig(
            trajectories=expert, steps=steps, stochastic=False, mixture={EXPERT: 1.0}
        ),
        offline=SourceConfig(trajectories=offline, steps=steps),
        coverage_expert=3,
        demonstrations=5,
        shard_trajectories=4,
    )
    return replace(config, **changes)  # type: ignore[arg-type]


def collect_here(config: CollectConfig, out: Path) -> Path:
    """Make all four datasets in this process, with the code of `solo-collect`, without workers."""
    for name in SOURCES:
        source = SourceCollector(config, name, out / name)
        for number in source.missing(0, 1):
            source.record(make_shard(source.job(number, 1), source.shard_path(number)))
        assert source.finish()
    make_coverage(config, out)
    make_demonstrations(config, out)
    return out


def fingerprint(out: Path) -> dict[str, str]:
    """Return the hash of every file below a folder, by path, including hidden files."""
    return {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.suffix != ".png"
    }
