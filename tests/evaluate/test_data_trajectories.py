"""Successor features of data, computed from observations instead of states."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from solo_doi.data.transitions import Transitions
from solo_doi.evaluate import data_trajectories
from solo_doi.evaluate import write_evaluation as write_module
from solo_doi.evaluate.data_trajectories import trajectory_features
from solo_doi.evaluate.eval_config import EvalConfig
from solo_doi.evaluate.metrics.walk import successor_features
from solo_doi.evaluate.rollouts.recording import evaluation_task, record
from solo_doi.evaluate.shipped import SHIPPED_EXPERT
from solo_doi.evaluate.source import Source
from solo_doi.evaluate.source_data import MissingDataError, SourceData, read_source_data
from solo_doi.solo12.observation import LAYOUTS

from .report.test_html_report import Page

FEW = EvalConfig(episodes=4, steps=100)

ALL = slice(0, 48)
TERMS = LAYOUTS["locomotion"].slices


def dataset(observations: list[np.ndarray]) -> Transitions:
    """Return trajectories with these observations."""
    rows = np.concatenate(observations)
    count = len(rows)
    lengths = list(map(len, observations))
    return Transitions(
        observations=rows,
        next_observations=rows,
        actions=None,
        rewards=np.zeros(count),
        terminals=np.zeros(count, dtype=bool),
        timeouts=np.zeros(count, dtype=bool),
        starts=np.cumsum([0, *lengths[:-1]]),
        terms=TERMS,
    )


def test_features_by_hand() -> None:
    """The yaw rate of the second trajectory is 1, then 3: (1 + 0.99 x 3) / 1.99."""
    long, short = np.zeros((3, 48), dtype=np.float32), np.zeros((2, 48), dtype=np.float32)
    short[:, TERMS["angular_velocity"].start + 2] = [1.0, 3.0]
    found = trajectory_features(dataset([long, short]))
    assert found.shape == (2, 33)
    np.testing.assert_allclose(found[:, 5], [0.0, 3.97 / 1.99], rtol=1e-6)


def test_features_are_those_of_the_same_rollout() -> None:
    """Without noise, observations lag by one step, which has little effect on a long rollout."""
    task = evaluation_task("mujoco", 2, "none", 0)
    with task.simulator:
        recording = record(task, lambda seen: np.zeros((2, 12)), 120)
    rows = [recording.observation[:, robot] for robot in range(2)]
    found = trajectory_features(dataset(rows))
    later = trajectory_features(dataset([row[1:] for row in rows]))
    whole = {name: values[:-1] for name, values in vars(recording).items()}
    np.testing.assert_allclose(later, successor_features(type(recording)(**whole)), atol=1e-4)
    assert abs(found - later).max() < 0.5


def test_data_that_do_not_name_their_terms_have_no_features() -> None:
    """D4RL and Minari data have one term with unknown parts."""
    data = replace(dataset([np.zeros((3, 48), dtype=np.float32)]), terms={"observation": ALL})
    with pytest.raises(MissingDataError, match="do not name the observation terms linear_velocity"):
        trajectory_features(data)


def test_of_many_trajectories_some_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is drawn at most once; the same seed draws the same ones."""
    monkeypatch.setattr(data_trajectories, "MOST_TRAJECTORIES", 4)
    rows = [np.full((2, 48), number, dtype=np.float32) for number in range(10)]
    found = trajectory_features(dataset(rows))[:, 0]
    assert len(set(found.tolist())) == 4
    np.testing.assert_array_equal(found, trajectory_features(dataset(rows))[:, 0])


@pytest.mark.usefixtures("roll_outs", "no_map", "no_film")
def test_data_without_named_terms_are_no_background(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The map has no points of the data, and the page gives the reason."""

    def unnamed(source: Source) -> SourceData:
        found = read_source_data(source)
        coverage = replace(found.coverage, terms={"observation": slice(0, 48)})
        return replace(found, coverage=coverage)

    monkeypatch.setattr(write_module, "read_source_data", unnamed)
    write_module.write_evaluation(
        trained, SHIPPED_EXPERT, replace(FEW, divergence=False), tmp_path / "out"
    )
    with (tmp_path / "out" / "umap.csv").open(newline="") as file:
        assert "data" not in {row["group"] for row in csv.DictReader(file)}
    caption = "Trajectories of the data are left out: the data do not name the observation terms"
    assert any(caption in text for text in Page(tmp_path / "out" / "report.html").texts)
