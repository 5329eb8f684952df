"""Repeatability of training: equal seeds give equal bits.

A stopped run continues with the same results as an uninterrupted one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from solo_doi.algorithm.part_configs import PolicyConfig
from solo_doi.algorithm.training import Training
from solo_doi.data.dataset import Dataset, read_transitions
from solo_doi.runs.run_store import RunStore
from solo_doi.runs.train_log import TrainLog

from .runs import Data, arrays_of, assert_same_run, summary_of, tiny, train, write_made_up

# --- Seeds and labels ----------------------------------------------------------------------------


def test_the_same_seed_trains_the_same_weights(data: Data, run: Path, tmp_path: Path) -> None:
    """The state of the global generators has no effect."""
    torch.manual_seed(99)
    np.random.seed(99)
    train(tiny(), *data, tmp_path)
    assert_same_run(run, tmp_path)


def test_another_seed_trains_other_weights(data: Data, run: Path, tmp_path: Path) -> None:
    """Seeds without effect would make repeated runs worthless."""
    train(tiny(seed=2), *data, tmp_path)
    for name in ("policy.h5", "expert.h5"):
        one, other = arrays_of(run / name), arrays_of(tmp_path / name)
        for array in ("first", "skill", "second", "head"):
            assert not np.array_equal(one[array], other[array]), array
    assert (
        arrays_of(run / "ratios.h5")["log_w_expert"]
        != arrays_of(tmp_path / "ratios.h5")["log_w_expert"]
    ).any()


def test_labels_play_no_part(data: Data, run: Path, tmp_path: Path) -> None:
    """Two datasets have the same transitions with other skills, checkpoints, positions and falls.

    Their weights are equal.
    """
    other = write_made_up(tmp_path / "coverage", label_seed=1)
    original = write_made_up(tmp_path / "original", label_seed=0)
    for name in (
        "episodes/skill",
        "episodes/checkpoint",
        "episodes/command",
        "infos/base_position",
    ):
        assert (Dataset(other).column(name) != Dataset(original).column(name)).any(), name
    train(tiny(), read_transitions(other), data[1], tmp_path / "run")
    assert_same_run(run, tmp_path / "run")


# --- Stopping and continuing ---------------------------------------------------------------------


class Stopped(Exception):  # noqa: N818  # not an error
    """Raised to interrupt training."""


class StoppingLog(TrainLog):
    """Raises `Stopped` after a given outer step, or in the middle of a given stage."""

    def __init__(self, run: Path, skills: int, first: int, *, after: int | str) -> None:
        """`after` is the number of an outer step, or the name of a stage."""
        super().__init__(run, skills, first)
        self._after, self._name = after, ""

    def stage(self, name: str, steps: int) -> None:
        """Remember the current stage."""
        super().stage(name, steps)
        self._name = name

    def advance(self, losses: dict[str, float]) -> None:
        """Raise `Stopped` in the given stage."""
        super().advance(losses)
        if self._name == self._after:
            raise Stopped

    def outer(self, number: int, metrics: dict[str, float]) -> None:
        """Log, and raise `Stopped` after the given step."""
        super().outer(number, metrics)
        if number == self._after:
            raise Stopped


PRINTED = PolicyConfig(
    squashed=True, entropy=True, in_loop=True, expert_updates=5, hidden=8, batch=32
)


@pytest.mark.parametrize(
    ("changes", "after"),
    [
        *(({}, after) for after in ("expert", 1, 2, 3, 4, "policies")),
        ({"diversity": "van_der_waals"}, 3),
        *(({"policy": PRINTED}, after) for after in (3, "policies")),
    ],
)
def test_a_stopped_run_continues_as_if_it_had_not_been(
    data: Data, tmp_path: Path, after: int | str, changes: dict[str, Any]
) -> None:
    """The run is stopped in each stage: weights, ratios, metrics and checkpoints are the same."""
    config = tiny(**changes)
    train(config, *data, tmp_path / "unbroken")
    run = tmp_path / "stopped"
    run.mkdir()
    training = Training(config, *data, RunStore(run))
    with pytest.raises(Stopped), StoppingLog(run, config.skills, 0, after=after) as log:
        training.train(log)
    assert not (run / "summary.json").exists()
    train(config, *data, run)
    assert_same_run(tmp_path / "unbroken", run)
    assert summary_of(tmp_path / "unbroken") == summary_of(run)


def test_a_finished_run_is_not_changed_by_continuing_it(data: Data, tmp_path: Path) -> None:
    """Continuing writes the same files again."""
    for name in ("once", "twice"):
        train(tiny(), *data, tmp_path / name)
    train(tiny(), *data, tmp_path / "twice")
    assert_same_run(tmp_path / "once", tmp_path / "twice")
    assert summary_of(tmp_path / "once") == summary_of(tmp_path / "twice")
