"""A tiny run evaluated from end to end: rollouts, training history, figures, report."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from solo_doi.common.errors import SoloError
from solo_doi.evaluate import write_evaluation as write_module
from solo_doi.evaluate.definitions import DEFINITIONS
from solo_doi.evaluate.eval_config import EvalConfig
from solo_doi.evaluate.report.plain_words import DIVERSITY
from solo_doi.evaluate.run_page import SkillMap
from solo_doi.evaluate.selection import TransferRow, select
from solo_doi.evaluate.shipped import SHIPPED_EXPERT
from solo_doi.evaluate.training_history import SHOWN
from solo_doi.evaluate.write_evaluation import write_evaluation
from solo_doi.policies.skill_policy import SkillPolicy
from tests.algorithm.runs import LENGTHS, summary_of

from .browser import PHONE, on_a_phone
from .report.test_html_report import Page, assert_self_contained
from .walks import MAPPED, RollOuts

SKILLS, CHECKPOINTS = 3, (2, 4)
FIGURES = ("skills", "umap", "training", "ratios", "history", "gait")
FEW = EvalConfig(episodes=4, steps=100)
NUMBERS = EvalConfig(episodes=4, steps=100, pictures=False)


@pytest.fixture
def expert() -> Path:
    """The shipped expert."""
    return SHIPPED_EXPERT


def copied(run: Path, folder: Path) -> Path:
    """Return a copy of a run that a test may change."""
    return Path(shutil.copytree(run, folder / run.name))


def metrics_of(out: Path) -> dict[str, Any]:
    """Read the written metrics; they must be standard JSON without NaN and infinity."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads((out / "metrics.json").read_text(), parse_constant=refuse)


# --- Complete evaluation -------------------------------------------------------------------------


def test_an_evaluation_leaves_numbers_figures_and_a_page(evaluated: Path) -> None:
    """No other or partial files remain."""
    found = {path.name for path in (evaluated / "evaluation").iterdir()}
    pictures = {f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg", "csv")}
    assert found == {"metrics.json", "report.html", "film.png", "walks.webp", *pictures}


def test_metrics_tell_of_skills_training_and_settings(evaluated: Path) -> None:
    """Numbers of the run equal those in its summary."""
    metrics, summary = metrics_of(evaluated / "evaluation"), summary_of(evaluated)
    assert metrics["run"] == evaluated.name
    assert [skill["skill"] for skill in metrics["skills"]] == list(range(SKILLS))
    for name in (
        "phi",
        "sigma",
        "ratio_l1",
        "ratio_l1_trajectory",
        "held_out_accuracy",
        "effective_share",
    ):
        assert metrics[name] == summary[name]
    assert (metrics["eps"], metrics["objective"], metrics["seed"]) == (2.7, "doi", 1)
    assert metrics["evaluation"] == vars(
        replace(FEW, transfer=True, history=True, transfer_episodes=4, estimator_episodes=2)
    )
    assert -1 <= metrics["silhouette"] <= 1
    assert metrics["definitions"].keys() == DEFINITIONS.keys()
    assert "numpy" in metrics["software"]


def test_the_shipped_expert_walks_and_skills_of_made_up_data_do_not(evaluated: Path) -> None:
    """Returns are relative to an expert that walks at 1 m/s."""
    metrics = metrics_of(evaluated / "evaluation")
    assert metrics["expert"]["vx"] == pytest.approx(1.0, abs=0.15)
    assert metrics["expert"]["success"] == 1.0
    assert metrics["return_pct_mean"] < 50
    assert metrics["visibly_different"] == []


def test_every_skill_was_tried_in_every_condition(evaluated: Path) -> None:
    """Robust skills are selected by their success, in metrics.json and in selection.json."""
    metrics = metrics_of(evaluated / "evaluation")
    tried = {
        (row["sim"], row["randomisation"], row["base"], row["skill"]) for row in metrics["transfer"]
    }
    places = {place[:3] for place in tried}
    assert len(tried) == len(metrics["transfer"]) == SKILLS * len(places)
    assert {
        ("mujoco", name, base) for name in ("none", "robust") for base in ("known", "estimated")
    } <= places
    assert metrics["selected"] == select([TransferRow(**row) for row in metrics["transfer"]])
    assert json.loads((evaluated / "selection.json").read_text()) == metrics["selection"]
    assert metrics["selection"]["selected"] == metrics["selected"]


def test_history_has_every_checkpoint(evaluated: Path) -> None:
    """Rows are in order; cloned policies are kept beside the checkpoints."""
    metrics = metrics_of(evaluated / "evaluation")
    assert [row["outer"] for row in metrics["history"]] == list(CHECKPOINTS)
    assert all(row.keys() == {"outer", *SHOWN} for row in metrics["history"])
    kept = {path.name for path in (evaluated / "checkpoints").glob("*.policy.h5")}
    assert kept == {f"outer_{outer:04d}.policy.h5" for outer in CHECKPOINTS}


def test_figures_show_the_numbers_of_the_run(evaluated: Path) -> None:
    """Ratios equal those of the run; the map has more rollouts of the expert than of a skill."""
    with (evaluated / "evaluation" / "ratios.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    with h5py.File(evaluated / "ratios.h5") as file:
        eta = np.exp(file["log_w_skills"][()]) * len(rows)
    np.testing.assert_allclose(np.array(rows, dtype=float)[:, 1:], eta.T, rtol=1e-4)
    with (evaluated / "evaluation" / "umap.csv").open(newline="") as file:
        groups = [row["group"] for row in csv.DictReader(file)]
    each = dict.fromkeys([*(f"skill {z}" for z in range(SKILLS)), "SMODICE"], 4)
    expected = {"expert": 20, "data": sum(map(len, LENGTHS))} | each
    assert {name: groups.count(name) for name in groups} == expected


def test_the_page_is_one_file_and_names_are_text(evaluated: Path) -> None:
    """A run named `tiny <b>bold</b>` is not shown in bold."""
    path = evaluated / "evaluation" / "report.html"
    assert_self_contained(path)
    page = Page(path)
    assert page.count("b") == 0
    assert page.texts.count(f"Skills of {evaluated.name}") == 2
    assert page.count("img") == page.count("figure") == len(FIGURES) + 2
    transfer = ("mujoco", "sideways drift [m]", "success (95 % interval)")
    for cell in ("skill 2", "expert", DIVERSITY["told_apart"], "falls (95 % interval)", *transfer):
        assert cell in page.texts


def test_the_page_is_whole_on_a_phone(evaluated: Path, tmp_path: Path) -> None:
    """All figures load, none is wider than the screen, and the page does not scroll sideways."""
    found = on_a_phone(evaluated / "evaluation" / "report.html", tmp_path)
    assert found["width"] == PHONE
    assert found["content"] <= PHONE
    assert len(found["pictures"]) == len(found["captions"]) == len(FIGURES) + 2
    assert all(natural > 300 and 300 < shown <= PHONE for natural, shown in found["pictures"])
    assert all(found["captions"])
    assert found["markup"] == 0


# --- Parts of an evaluation ----------------------------------------------------------------------


@pytest.mark.usefixtures("no_map")
def test_without_pictures_there_are_only_numbers(
    trained: Path, expert: Path, tmp_path: Path, roll_outs: RollOuts
) -> None:
    """All numbers are written, without films, figures and the rollouts of the map.

    The returned metrics equal the written ones.
    """
    metrics = write_evaluation(trained, expert, NUMBERS, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["metrics.json"]
    assert metrics == metrics_of(tmp_path / "out")
    assert len(roll_outs.asked) == 1 + SKILLS + 1  # expert, skills, the expert as recovered
    assert -1 <= metrics["silhouette"] <= 1


@pytest.mark.usefixtures("no_map")
def test_the_expert_that_smodice_recovered_is_rolled_out_too(
    trained: Path, expert: Path, tmp_path: Path, roll_outs: RollOuts
) -> None:
    """It runs in the same domains; its velocity is also given relative to the expert's.

    A run without it has no such numbers.
    """
    run = copied(trained, tmp_path)
    found = write_evaluation(run, expert, NUMBERS, tmp_path / "out")["smodice"]
    assert {"return_pct", "vx", "vx_pct", "falls", "success", "intervals"} <= found.keys()
    assert found["vx_pct"] == pytest.approx(100.0)  # the stand-in gives it the expert's recording
    (run / "expert.h5").unlink()
    assert "smodice" not in write_evaluation(run, expert, NUMBERS, tmp_path / "out")


@pytest.mark.usefixtures("no_map")
def test_the_map_of_the_expert_is_made_once_for_all_runs(
    trained: Path,
    expert: Path,
    tmp_path: Path,
    roll_outs: RollOuts,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A second run reuses the rollouts; another seed has its own. No page is drawn."""
    maps: list[SkillMap] = []
    monkeypatch.setattr(write_module, "write_page", lambda *given: maps.append(given[2]))
    for seed in (0, 0, 1):
        write_evaluation(trained, expert, replace(FEW, seed=seed), tmp_path / "out")
    assert [len(found.points["expert"]) for found in maps] == [MAPPED] * 3
    assert [robots for *_, robots in roll_outs.asked].count(MAPPED) == 2


@pytest.mark.usefixtures("roll_outs", "no_film")
def test_a_single_skill_can_be_evaluated(trained_alone: Path, expert: Path, tmp_path: Path) -> None:
    """It has its own numbers and figures, but no measures of diversity."""
    write_evaluation(trained_alone, expert, FEW, tmp_path / "out")
    metrics = metrics_of(tmp_path / "out")
    assert len(metrics["skills"]) == 1
    assert metrics["objective"] == "smodice"
    assert not metrics.keys() & {"told_apart", "sf_l2", "silhouette", "ratio_l1"}
    found = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"report.html", "skills.png", "ratios.png", "gait.png", "film.png"} <= found
    assert not found & {"umap.png", "training.png"}


@pytest.mark.usefixtures("roll_outs", "no_map", "no_film")
def test_a_run_without_some_of_its_files_has_a_page_all_the_same(
    trained: Path, expert: Path, tmp_path: Path
) -> None:
    """Without ratios and log, their figures are left out."""
    run = copied(trained, tmp_path)
    for name in ("ratios.h5", "metrics.jsonl"):
        (run / name).unlink()
    write_evaluation(run, expert, FEW, tmp_path / "out")
    found = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"report.html", "umap.png"} <= found
    assert not found & {"ratios.png", "training.png"}


@pytest.mark.usefixtures("roll_outs", "no_map", "no_film")
def test_a_log_that_lacks_numbers_has_gaps(trained: Path, expert: Path, tmp_path: Path) -> None:
    """Another version may have written it. Warnings of training are shown on the page."""
    run = copied(trained, tmp_path)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for line in lines:
        del line["ratio_l1"], line["sigma/1"]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (run / "summary.json").write_text(
        json.dumps(summary_of(run) | {"warnings": ["skills <i>join</i>"]})
    )
    write_evaluation(run, expert, FEW, tmp_path / "out")
    with (tmp_path / "out" / "training.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["ratio_l1"] for row in rows] == ["nan"] * len(lines)
    assert [float(row["sigma/0"]) for row in rows] == [line["sigma/0"] for line in lines]
    assert (
        "Warning from training: skills <i>join</i>" in Page(tmp_path / "out" / "report.html").texts
    )


@pytest.mark.usefixtures("roll_outs")
def test_what_is_no_number_is_null(trained: Path, expert: Path, tmp_path: Path) -> None:
    """Other programs refuse NaN and infinity in JSON."""
    run = copied(trained, tmp_path)
    changed = {"phi": [float("inf"), 1.0, float("nan")], "held_out_accuracy": None}
    (run / "summary.json").write_text(json.dumps(summary_of(run) | changed))
    write_evaluation(run, expert, NUMBERS, tmp_path / "out")
    assert metrics_of(tmp_path / "out")["phi"] == [None, 1.0, None]
    assert metrics_of(tmp_path / "out")["held_out_accuracy"] is None


@pytest.mark.usefixtures("roll_outs")
def test_a_run_is_named_even_where_it_is(
    trained: Path, expert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`solo-eval .` finds the name of the directory."""
    monkeypatch.chdir(trained)
    assert write_evaluation(Path(), expert, NUMBERS, tmp_path / "out")["run"] == trained.name


def test_a_policy_of_another_task_is_refused(trained: Path, expert: Path, tmp_path: Path) -> None:
    """Its observation is smaller than the robot's; no file is written."""
    run = copied(trained, tmp_path)
    policy = SkillPolicy.read(run / "policy.h5")
    arrays = {field.name: getattr(policy, field.name) for field in fields(SkillPolicy)}
    smaller = {
        "state_mean": policy.state_mean[:5],
        "state_std": policy.state_std[:5],
        "first": policy.first[:, :5],
    }
    SkillPolicy(**arrays | smaller).write(run / "policy.h5")
    with pytest.raises(SoloError, match="takes 5 numbers, found 48"):
        write_evaluation(run, expert, NUMBERS, tmp_path / "out")
    assert not (tmp_path / "out").exists()
