"""Evaluation of navigation: scenes, measures and report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from solo_doi.evaluate.episodes import episodes_page
from solo_doi.evaluate.episodes.episode_rollouts import (
    SceneResult,
    describe_scene,
    roll_out_scene,
)
from solo_doi.evaluate.episodes_plan import episode_settings, reports_episodes
from solo_doi.evaluate.eval_config import EvalConfig
from solo_doi.evaluate.evaluate_run import evaluate_run
from solo_doi.policies.dominic_checkpoint import write_policy
from solo_doi.solo12.observation import LAYOUTS
from solo_doi.tasks.declarations import Measure
from solo_doi.tasks.navigation import NavigationTask
from tests.policies.bundles import masked_policy

SHORT = EvalConfig(episodes=4, steps=100, randomisation="none", divergence=False)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Write a checkpoint of two skills that stand still."""
    policy = masked_policy(size=LAYOUTS["navigation"].size, skills=2)
    still = replace(policy, weights=(*policy.weights[:2], 0 * policy.weights[2]))
    still = replace(still, biases=(*still.biases[:2], 0 * still.biases[2]))
    write_policy(tmp_path / "model_0.pt", still, iteration=0, tot_timesteps=0)
    return tmp_path / "model_0.pt"


def test_the_task_of_a_checkpoint_decides_the_report(checkpoint: Path, tmp_path: Path) -> None:
    """Navigation has scenes; locomotion has walks."""
    assert reports_episodes(checkpoint)
    write_policy(tmp_path / "model_1.pt", masked_policy(), iteration=0, tot_timesteps=0)
    assert not reports_episodes(tmp_path / "model_1.pt")


def test_episodes_have_the_length_of_the_task_unless_set() -> None:
    assert episode_settings(NavigationTask, EvalConfig()).steps == 500
    assert episode_settings(NavigationTask, SHORT).steps == 100


def test_shares_and_means_have_intervals() -> None:
    """Two of four robots succeed; the mean of their numbers is 1.5."""
    settings = episode_settings(NavigationTask, replace(SHORT, steps=2))
    result = roll_out_scene(
        NavigationTask, lambda seen: np.zeros((len(seen), 12)), {"box_height": 0.3}, settings
    )
    assert result.episodes.position_w.shape == (2, 4, 3)
    assert result.episodes.terrain.size[0, 0, 2] == 0.3
    measures = (
        Measure("share", "share", "", lambda _: np.array([True, False, True, False])),
        Measure("number", "number", "", lambda _: np.arange(4.0)),
    )
    found = describe_scene(result.episodes, measures)
    assert (found["share"], found["number"]) == (0.5, 1.5)
    low, high = found["intervals"]["share"]
    assert 0.1 < low < 0.2 < 0.8 < high < 0.9


@pytest.mark.slow
def test_a_checkpoint_gets_a_report_of_all_heights(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Robots that stand still are stuck at every height, and their paths are drawn."""

    def no_film(found: dict[str, SceneResult], path: Path) -> Path:
        heights = [result.episodes.terrain.size[0, 0, 2] for result in found.values()]
        assert heights == pytest.approx([0.2] * len(heights))
        return path.with_name("returns.png")

    monkeypatch.setattr(episodes_page, "film", no_film)
    metrics = evaluate_run(checkpoint, out=tmp_path / "out", config=replace(SHORT, pictures=True))
    assert list(metrics["scenes"]) == ["0.1 m", "0.2 m", "0.3 m", "0.4 m", "0.5 m", "0.6 m"]
    skill = metrics["scenes"]["0.2 m"]["skill 1"]
    assert [skill[name] for name in ("success", "left", "right", "over", "falls")] == [0] * 5
    assert skill["distance"] == pytest.approx(3.0, abs=0.3)
    assert json.loads((tmp_path / "out" / "metrics.json").read_text()) == json.loads(
        json.dumps(metrics)
    )
    assert (tmp_path / "out" / "paths.png").is_file()
    report = (tmp_path / "out" / "report.html").read_text()
    assert "reached" in report
    assert "scene 0.2 m" in report
