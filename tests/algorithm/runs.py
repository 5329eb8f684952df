"""Datasets and runs small enough for tests."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch

from solo_doi.algorithm.part_configs import (
    ClassifierConfig,
    DiscriminatorConfig,
    PolicyConfig,
    ValueConfig,
)
from solo_doi.algorithm.train_config import TrainConfig
from solo_doi.algorithm.training import Training
from solo_doi.common.metrics_log import METRICS_FILE
from solo_doi.data.manifest import ShardEntry
from solo_doi.data.schema import INFO_FIELDS, episode_fields, transition_fields
from solo_doi.data.shard import file_hash, write_shard
from solo_doi.data.transitions import Transitions
from solo_doi.runs.run_files import RunFiles
from solo_doi.runs.run_store import RunStore
from solo_doi.runs.train_log import TrainLog
from solo_doi.solo12.constants import JOINT_NAMES, NUM_JOINTS
from tests.bits import differing
from tests.data.datasets import made_up_arrays, made_up_manifest

TERMS = {"linear_velocity": 3, "angular_velocity": 3, "gravity": 3, "joint_position": 12}
"""Observation terms of made-up coverage data, with their sizes."""
EXPERT_TERMS = {"angular_velocity": 3, "linear_velocity": 3}
"""Observation terms of the expert: fewer, and in another order."""
LENGTHS = ((30, 20, 25, 30, 25), (20, 30, 25, 30, 25, 40))
"""Trajectories of coverage data, by shard: 300 transitions."""
ROWS = sum(map(sum, LENGTHS))
FLAGS = shlex.split(
    "--skills 3 --outer 4 --subset 200 --save-every 2 --checkpoints 2 "
    "--classifier.updates 5 --classifier.hidden 8 --classifier.batch 32 --classifier.average 5 "
    "--value.expert-updates 5 --value.updates 3 --value.hidden 8 --value.windows 4 "
    "--value.window 8 "
    "--value.initial-batch 4 "
    "--discriminator.updates 3 --discriminator.hidden 8 --discriminator.batch 32 "
    "--discriminator.members 2 "
    "--discriminator.start-updates 3 --discriminator.average 5 --discriminator.held-out 0.3 "
    "--discriminator.swing-terms joint_position "
    "--policy.updates 5 "
    "--policy.expert-updates 5 --policy.hidden 8 --policy.batch 32"
)
"""Options of a run that takes a fraction of a second."""
Data = tuple[Transitions, Transitions]
"""Coverage data and the expert's states."""


def tiny(**changes: Any) -> TrainConfig:  # any field
    """Return the configuration that `FLAGS` describe."""
    sizes: dict[str, Any] = {"updates": 5, "hidden": 8, "batch": 32}
    config = TrainConfig(
        skills=3,
        outer=4,
        subset=200,
        save_every=2,
        checkpoints=2,
        classifier=ClassifierConfig(average=5, **sizes),
        value=ValueConfig(
            expert_updates=5, updates=3, hidden=8, windows=4, window=8, initial_batch=4
        ),
        discriminator=DiscriminatorConfig(
            updates=3,
            start_updates=3,
            hidden=8,
            batch=32,
            members=2,
            average=5,
            swing_terms=("joint_position",),
            held_out=0.3,
        ),
        policy=PolicyConfig(expert_updates=5, **sizes),
    )
    return replace(config, **changes)


def changed(config: TrainConfig, part: str, **changes: Any) -> TrainConfig:  # any field
    """Return the configuration with some settings of a part changed."""
    return replace(config, **{part: replace(getattr(config, part), **changes)})


def write_made_up(
    folder: Path,
    *,
    terms: dict[str, int] = TERMS,
    lengths: Sequence[Sequence[int]] = LENGTHS,
    actions: bool = True,
    seed: int = 0,
    label_seed: int = 0,
) -> Path:
    """Write a dataset directory as `solo-collect` does.

    Consecutive states are linked; `label_seed` changes only the labels.
    """
    rng, labels = np.random.default_rng(seed), np.random.default_rng(1000 + label_seed)
    size = sum(terms.values())
    fields = [
        *transition_fields(size, actions=actions),
        *INFO_FIELDS,
        *episode_fields(("friction",)),
    ]
    folder.mkdir(parents=True)
    entries = []
    for number, shard in enumerate(lengths):
        arrays = made_up_arrays(labels, shard, fields)
        rows, end = sum(shard), np.cumsum(shard) - 1
        walk = np.repeat(rng.normal(size=(len(shard), size)), shard, axis=0) + 0.3 * rng.normal(
            size=(rows, size)
        )
        arrays["observations"] = walk.astype(np.float32)
        arrays["next_observations"] = np.roll(arrays["observations"], -1, axis=0)
        arrays["next_observations"][end] = rng.normal(size=(len(shard), size))
        arrays["rewards"] = rng.normal(size=rows).astype(np.float32)
        if actions:
            arrays["actions"] = rng.normal(size=(rows, NUM_JOINTS)).astype(np.float32)
        path = folder / f"shard-{number:05}.h5"
        write_shard(path, arrays)
        entries.append(ShardEntry(path.name, len(shard), rows, file_hash(path)))
    layout = tuple(
        {"name": name, "size": size, "unit": "", "frame": "", "noise": 0.0}
        for name, size in terms.items()
    )
    manifest = made_up_manifest(entries, fields)
    replace(manifest, layout=layout, joint_names=JOINT_NAMES).write(folder)
    return folder


def write_made_up_task(root: Path) -> Path:
    """Write both datasets of the locomotion task to the default location below `root`."""
    folder = root / "datasets" / "locomotion"
    write_made_up(folder / "coverage")
    write_made_up(
        folder / "demonstrations", terms=EXPERT_TERMS, lengths=((20, 30),), actions=False, seed=1
    )
    return root


def train(config: TrainConfig, data: Transitions, expert: Transitions, run: Path) -> Training:
    """Train the remaining steps of a run."""
    run.mkdir(parents=True, exist_ok=True)
    training = Training(config, data, expert, RunStore(run))
    with TrainLog(run, config.skills, first=training.steps_done()) as log:
        training.train(log)
    return training


def arrays_of(path: Path) -> dict[str, np.ndarray]:
    """Return all arrays of an HDF5 file."""
    with h5py.File(path) as file:
        return {name: file[name][()] for name in file}


def metrics_of(run: Path) -> list[dict[str, float]]:
    """Return the lines of the metrics file."""
    return [json.loads(line) for line in (run / METRICS_FILE).read_text().splitlines()]


def summary_of(run: Path) -> dict[str, Any]:
    """Return the content of the run's summary file."""
    return json.loads(RunFiles(run).summary.read_text())


def assert_same_run(one: Path, other: Path) -> None:
    """Check that weights, ratios, saved files and all metrics are equal to the last bit."""
    names = sorted(path.name for path in one.glob("*.h5"))
    assert {"policy.h5", "ratios.h5"} <= set(names)
    for name in names:
        first, second = arrays_of(one / name), arrays_of(other / name)
        assert first.keys() == second.keys()
        for array in first:
            np.testing.assert_array_equal(first[array], second[array], err_msg=f"{name}: {array}")
    assert (one / METRICS_FILE).read_bytes() == (other / METRICS_FILE).read_bytes()
    checkpoints = [sorted(path.name for path in run.glob("checkpoints/*")) for run in (one, other)]
    assert checkpoints[0] == checkpoints[1]
    for name in checkpoints[0]:
        assert not differing(
            *(torch.load(run / "checkpoints" / name, weights_only=True) for run in (one, other))
        )
