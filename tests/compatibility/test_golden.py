"""Shards and weights have the bytes that version 0.1 wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .arrays import FILES, GOLDEN_FILE, SAME_MACHINE, SAMPLES, compare_files, describe, read_arrays
from .conftest import RunCommand
from .record_golden import (
    DATASET_FILES,
    GOLDEN_COLLECT,
    GOLDEN_TRAIN,
    RUN_FILES,
)

GOLDEN = json.loads(GOLDEN_FILE.read_text())
TRAIN = (
    "--preset 0.1 --outer 2 --skills 2 --subset 100 --classifier.updates 3 --classifier.hidden 8 "
    "--value.hidden 8 --value.expert-updates 3 --value.updates 2 --value.window 8 "
    "--discriminator.updates 2 --discriminator.hidden 8 --discriminator.members 2 "
    "--policy.updates 3 --policy.expert-updates 3 --policy.hidden 8 --torch-threads 1"
)
PRETRAIN = (
    "--iterations 2 --num-robots 2 --steps 4 --num-skills 2 --policy-hidden 8 8 "
    "--value-hidden 8 8 --save-every 1 --minibatches 1 --torch-threads 1"
)


DRAWN = (
    "episodes/checkpoint",
    "episodes/index",
    "episodes/length",
    "episodes/seed",
    "episodes/skill",
    "episodes/standing",
    "episodes/start",
    "initials",
    "timeouts",
    "squashed",
)
"""Arrays that are drawn or counted, not simulated: equal on every processor."""


def compare_recorded(path: Path, recorded: dict[str, Any], *, near: bool) -> None:
    """Compare the arrays of a file with recorded hashes.

    Simulated numbers of another processor are compared with leading numbers, if they are `near`.
    """
    arrays = read_arrays(path)
    assert sorted(arrays) == sorted(recorded)
    for name, expected in recorded.items():
        found = describe(arrays[name])
        assert (found["shape"], found["dtype"]) == (expected["shape"], expected["dtype"]), name
        if SAME_MACHINE or name in DRAWN:
            assert found["sha256"] == expected["sha256"], f"{path}: {name}"
        elif near and "crc32" not in name:
            np.testing.assert_allclose(
                found["samples"], expected["samples"], rtol=1e-3, atol=1e-4, err_msg=name
            )


def test_collecting_and_training_write_the_golden_bytes(run: RunCommand) -> None:
    """On another processor, the first states of a trajectory are near; later ones diverge."""
    run("solo-collect", *GOLDEN_COLLECT.split())
    for name in DATASET_FILES:
        compare_recorded(Path(name), GOLDEN["files"][name], near=True)
    run("solo-train", *GOLDEN_TRAIN.split())
    for name in RUN_FILES:
        compare_recorded(Path(name), GOLDEN["files"][name], near=False)


def test_training_on_a_dataset_of_0_1_gives_its_weights(run: RunCommand) -> None:
    """Weights, ratios and optimiser states are equal, for the same small dataset."""
    data = FILES / "datasets"
    inputs = ("--data", data / "coverage", "--expert", data / "demonstrations")
    run("solo-train", *inputs, "--out", "run", *TRAIN.split())
    for name in ("policy.h5", "expert.h5", "ratios.h5", "state.pt", "expert.pt"):
        compare_files(Path("run", name), FILES / "run" / name)


def test_pretraining_gives_the_weights_of_0_1(run: RunCommand) -> None:
    """DOMiNiC runs two iterations."""
    run("solo-pretrain", *PRETRAIN.split(), "--out", "pretrain")
    for name in ("checkpoints/model_2.pt", "state.pt"):
        compare_files(Path("pretrain", name), FILES / "pretrain" / name)


@pytest.mark.parametrize("name", [*DATASET_FILES, *RUN_FILES])
def test_every_golden_array_has_samples(name: str) -> None:
    """Other processors compare with these numbers."""
    for key, recorded in GOLDEN["files"][name].items():
        size = int(np.prod(recorded["shape"]))
        assert len(recorded["samples"]) == min(SAMPLES, size), key
