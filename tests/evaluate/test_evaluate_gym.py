"""Evaluation of runs of Gym tasks, from data to report and comparison."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from solo_doi.cli.evaluate import main
from solo_doi.cli.train import train_main
from solo_doi.common.errors import SoloError
from solo_doi.evaluate.compare_runs import compare
from solo_doi.evaluate.episodes.episode_diversity import describe_diversity, episode_features
from solo_doi.evaluate.episodes_plan import episode_settings
from solo_doi.evaluate.eval_config import EvalConfig
from solo_doi.evaluate.evaluate_run import evaluate_run, plan_evaluation
from solo_doi.evaluate.rollouts.recording import Recording
from solo_doi.tasks.gym.environments import HOPPER
from solo_doi.tasks.gym.gym_task import HopperTask
from tests.algorithm.runs import FLAGS
from tests.collect.recipes import collect_here
from tests.collect.test_gym_datasets import small
from tests.command import Command

SHORT = EvalConfig(episodes=4, steps=100, pictures=False)
PLAIN_FLAGS = (
    "--classifier.average", "1", "--discriminator.average", "1", "--discriminator.swing-terms",
)  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A tiny run of hopper; tests must not write to it."""
    folder = tmp_path_factory.mktemp("hopper")
    data = collect_here(small("hopper", folder), folder / "datasets" / "hopper")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        words = [*FLAGS, *PLAIN_FLAGS, "--task", "hopper", "--out", "run"]
        patch.setattr("sys.argv", ["solo-train", *words])
        with pytest.raises(SystemExit) as end:
            train_main()
        assert end.value.code == 0
        assert (data / "coverage").is_dir()
        yield folder / "run"


def test_a_run_has_scores_medians_failures_and_distances(run: Path, tmp_path: Path) -> None:
    """The robots of untrained skills fall; the report has figures and definitions."""
    metrics = evaluate_run(run, out=tmp_path, config=replace(SHORT, pictures=True))
    assert metrics["task"] == "hopper"
    assert metrics["evaluation"]["randomisation"] == "none"
    scene = metrics["scenes"][""]
    assert list(scene) == ["skill 0", "skill 1", "skill 2", "SMODICE"]
    skill = scene["skill 0"]
    assert set(skill) == {"score", "score_median", "failed", "return", "intervals"}
    assert skill["failed"] == 1.0
    score = HOPPER.normalised(np.array(skill["return"]))
    assert skill["score"] == pytest.approx(float(score))
    for name in ("ratio_l1", "ratio_l1_trajectory", "sf_l2", "told_apart", "phi", "warnings"):
        assert name in metrics
    assert {"score", "failed", "sf_l2", "ratio_l1"} <= set(metrics["definitions"])
    report = (tmp_path / "report.html").read_text()
    assert "D4RL score, median" in report
    assert "Differences between skills" in report
    for name in ("returns", "training", "ratios"):
        assert (tmp_path / f"{name}.png").is_file()
    assert json.loads((tmp_path / "metrics.json").read_text())["sf_l2"] == metrics["sf_l2"]


def test_runs_are_compared_by_score_and_distance(run: Path, tmp_path: Path) -> None:
    """Runs of one group are pooled, and every run is a dot."""
    metrics = evaluate_run(run, out=tmp_path / "one", config=SHORT)
    other = shutil.copytree(run, tmp_path / "other")
    report = compare({run: metrics, other: metrics}, tmp_path / "out")
    table = (tmp_path / "out" / "compare.md").read_text()
    assert "score, skills" in table
    assert "score_median, SMODICE" in table
    assert "| eps 2 |  | 2 |" in table
    assert report.is_file()
    assert len((tmp_path / "out" / "trade_off.csv").read_text().splitlines()) == 1 + 3 * 2
    with pytest.raises(SoloError, match="Runs of tasks hopper, locomotion cannot be compared"):
        compare({run: metrics, other: {**metrics, "task": "locomotion"}}, tmp_path / "out")


def test_the_command_prints_scores_and_no_export(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Command("solo-eval", main, monkeypatch, capsys)
    code, text, errors = command(
        run, "--episodes", 4, "--steps", 100, "--no-pictures", "--out", tmp_path
    )
    assert code == 0, errors
    assert "score_median" in text
    assert "sf_l2" in text
    assert "solo-export" not in text


def test_the_task_has_its_own_numbers() -> None:
    chosen = episode_settings(HopperTask, EvalConfig())
    assert (chosen.episodes, chosen.steps, chosen.randomisation) == (30, 1000, "none")
    assert episode_settings(HopperTask, SHORT).episodes == 4


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (replace(SHORT, sim="pybullet"), "expected --sim mujoco"),
        (replace(SHORT, transfer=True), "--transfer compares walks"),
        (replace(SHORT, history=True), "--history shows returns of walks"),
    ],
)
def test_settings_of_walks_are_refused(run: Path, config: EvalConfig, message: str) -> None:
    with pytest.raises(SoloError, match=message):
        plan_evaluation(run, config=config)


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("ant", "its policy takes 11 numbers, task 'ant' has 105"),
        ("gym", "trained for task 'gym', which has no simulator"),
    ],
)
def test_runs_of_other_observations_are_refused(
    run: Path, tmp_path: Path, task: str, message: str
) -> None:
    other = shutil.copytree(run, tmp_path / "other")
    config = (other / "config.yaml").read_text().replace("task: hopper", f"task: {task}")
    (other / "config.yaml").write_text(config)
    with pytest.raises(SoloError, match=message):
        plan_evaluation(other, config=SHORT)


def recording(observation: np.ndarray, over: np.ndarray) -> Recording:
    """Return a recording of observations (T, N, F) alone."""
    nothing = np.zeros((*observation.shape[:2], 0))
    names = (
        "position_w", "quaternion", "linear_velocity_b", "angular_velocity_b", "joint_position",
        "joint_velocity", "torque", "foot_position_w", "foot_contact", "reward", "fallen",
    )  # fmt: skip
    return Recording(**dict.fromkeys(names, nothing), observation=observation, over=over)


def test_features_end_with_the_episode() -> None:
    """By hand: weights 1 and 0.99 of two steps; the third is after the end of robot 1."""
    observation = np.array([[[1.0], [1.0]], [[2.0], [2.0]], [[4.0], [9.0]]])
    over = np.array([[False, False], [False, False], [False, True]])
    features = episode_features(recording(observation, over)).successor
    first = (1 + 0.99 * 2 + 0.99**2 * 4) / (1 + 0.99 + 0.99**2)
    second = (1 + 0.99 * 2) / (1 + 0.99)
    np.testing.assert_allclose(features, [[first], [second]])


def test_distances_are_in_deviations_of_the_data() -> None:
    """Two skills at 0 and 6, with a deviation of 2, are 3 apart and always told apart."""
    over = np.zeros((2, 8), dtype=bool)
    skills = {
        "skill 0": recording(np.zeros((2, 8, 1)), over),
        "skill 1": recording(np.full((2, 8, 1), 6.0), over),
    }
    found = describe_diversity(skills, np.array([2.0]))
    assert found == {"sf_l2": pytest.approx(3.0), "told_apart": 1.0}
    assert describe_diversity({"skill 0": skills["skill 0"]}, np.array([2.0])) == {}
