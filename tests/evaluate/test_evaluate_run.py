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

from solo_doi.common import settings
from solo_doi.common.errors import SoloError
from solo_doi.evaluate import training_history as history_module
from solo_doi.evaluate.definitions import DEFINITIONS
from solo_doi.evaluate.eval_config import EvalConfig
from solo_doi.evaluate.selection import TransferRow, select
from solo_doi.evaluate.shipped import SHIPPED_EXPERT
from solo_doi.evaluate.training_history import SHOWN, policies_over_training, returns_over_training
from solo_doi.evaluate.write_evaluation import write_evaluation
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.runs.run_config import RunConfig
from tests.algorithm.runs import summary_of

from .browser import PHONE, on_a_phone
from .conftest import Train
from .report.test_html_report import Page, assert_self_contained
from .walks import MAPPED, MadeUpPolicy, RollOuts

SKILLS, CHECKPOINTS = 3, (2, 4)
FIGURES = ("skills", "umap", "training", "ratios", "history", "gait")
FEW = EvalConfig(episodes=4, steps=100)
NUMBERS = EvalConfig(episodes=4, steps=100, pictures=False)


@pytest.fixture
def expert() -> Path:
    """The shipped expert."""
    return SHIPPED_EXPERT


def copied(run: Path, folder: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(run, folder / run.name))


def metrics_of(out: Path) -> dict[str, Any]:
    """Written metrics; they must be standard JSON without NaN and infinity."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads((out / "metrics.json").read_text(), parse_constant=refuse)


# --- Everything ----------------------------------------------------------------------------------


def test_an_evaluation_leaves_numbers_figures_and_a_page(evaluated: Path) -> None:
    """And nothing else, half-written or not."""
    found = {path.name for path in (evaluated / "evaluation").iterdir()}
    pictures = {f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg", "csv")}
    assert found == {"metrics.json", "report.html", "film.png", *pictures}


def test_metrics_tell_of_skills_training_and_settings(evaluated: Path) -> None:
    """Numbers of the run itself are as training left them."""
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
    assert (metrics["eps"], metrics["objective"], metrics["seed"]) == (2.0, "doi", 1)
    assert metrics["evaluation"] == vars(
        EvalConfig(episodes=4, steps=100, transfer=True, history=True)
    )
    assert -1 <= metrics["silhouette"] <= 1
    assert metrics["definitions"].keys() == DEFINITIONS.keys()
    assert "numpy" in metrics["software"]


def test_the_shipped_expert_walks_and_skills_of_made_up_data_do_not(evaluated: Path) -> None:
    """Returns are measured against one that keeps to 1 m/s."""
    metrics = metrics_of(evaluated / "evaluation")
    assert metrics["expert"]["vx"] == pytest.approx(1.0, abs=0.15)
    assert metrics["expert"]["success"] == 1.0
    assert metrics["return_pct_mean"] < 50
    assert metrics["visibly_different"] == []


def test_every_skill_was_tried_in_every_condition(evaluated: Path) -> None:
    """And robust ones are selected by their success there, in the metrics as in the run."""
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
    """In order, with the policies kept beside them."""
    metrics = metrics_of(evaluated / "evaluation")
    assert [row["outer"] for row in metrics["history"]] == list(CHECKPOINTS)
    assert all(row.keys() == {"outer", *SHOWN} for row in metrics["history"])
    kept = {path.name for path in (evaluated / "checkpoints").glob("*.policy.h5")}
    assert kept == {f"outer_{outer:04d}.policy.h5" for outer in CHECKPOINTS}


def test_figures_show_the_numbers_of_the_run(evaluated: Path) -> None:
    """Ratios as training left them; the expert's rollouts of the map are more than a skill's."""
    with (evaluated / "evaluation" / "ratios.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    with h5py.File(evaluated / "ratios.h5") as file:
        eta = np.exp(file["log_w_skills"][()]) * len(rows)
    np.testing.assert_allclose(np.array(rows, dtype=float)[:, 1:], eta.T, rtol=1e-4)
    with (evaluated / "evaluation" / "umap.csv").open(newline="") as file:
        groups = [row["group"] for row in csv.DictReader(file)]
    each = dict.fromkeys([*(f"skill {z}" for z in range(SKILLS)), "SMODICE"], 4)
    assert {name: groups.count(name) for name in groups} == {"expert": 20} | each


def test_the_page_is_one_file_and_names_are_text(evaluated: Path) -> None:
    """A run that is called `tiny <b>bold</b>` is not bold."""
    path = evaluated / "evaluation" / "report.html"
    assert_self_contained(path)
    page = Page(path)
    assert page.count("b") == 0
    assert page.texts.count(f"Skills of {evaluated.name}") == 2
    assert page.count("img") == page.count("figure") == len(FIGURES) + 1
    for cell in ("skill 2", "expert", "told_apart", "mujoco"):
        assert cell in page.texts


def test_the_page_is_whole_on_a_phone(evaluated: Path, tmp_path: Path) -> None:
    """Every figure is there, none is wider than the screen, and nothing scrolls sideways."""
    found = on_a_phone(evaluated / "evaluation" / "report.html", tmp_path)
    assert found["width"] == PHONE
    assert found["content"] <= PHONE
    assert len(found["pictures"]) == len(found["captions"]) == len(FIGURES) + 1
    assert all(natural > 300 and 300 < shown <= PHONE for natural, shown in found["pictures"])
    assert all(found["captions"])
    assert found["markup"] == 0


# --- Parts of it ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_map")
def test_without_pictures_there_are_only_numbers(
    trained: Path, expert: Path, tmp_path: Path, roll_outs: RollOuts
) -> None:
    """All of them, the map's too, but nothing is filmed or drawn.

    What is returned is what is written.
    """
    metrics = write_evaluation(trained, expert, NUMBERS, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["metrics.json"]
    assert metrics == metrics_of(tmp_path / "out")
    assert (
        len(roll_outs.asked) == 1 + SKILLS + 1 + 1
    )  # expert, skills, the expert as recovered, and on the map
    assert -1 <= metrics["silhouette"] <= 1


@pytest.mark.usefixtures("no_map")
def test_the_expert_that_smodice_recovered_is_rolled_out_too(
    trained: Path, expert: Path, tmp_path: Path, roll_outs: RollOuts
) -> None:
    """In the same domains, with its velocity beside the expert's.

    A run without it has no such numbers.
    """
    run = copied(trained, tmp_path)
    found = write_evaluation(run, expert, NUMBERS, tmp_path / "out")["smodice"]
    assert {"return_pct", "vx", "vx_pct", "falls", "success", "intervals"} <= found.keys()
    assert found["vx_pct"] == pytest.approx(100.0)  # which is recorded as any first skill is
    (run / "expert.h5").unlink()
    assert "smodice" not in write_evaluation(run, expert, NUMBERS, tmp_path / "out")


@pytest.mark.usefixtures("no_map")
def test_the_map_of_the_expert_is_made_once_for_all_runs(
    trained: Path, expert: Path, tmp_path: Path, roll_outs: RollOuts
) -> None:
    """The second run shares its rollouts; another seed has its own."""
    for seed in (0, 0, 1):
        write_evaluation(trained, expert, replace(NUMBERS, seed=seed), tmp_path / "out")
    assert [robots for *_, robots in roll_outs.asked].count(MAPPED) == 2


@pytest.mark.usefixtures("roll_outs", "no_film")
def test_a_single_skill_can_be_evaluated(trained_alone: Path, expert: Path, tmp_path: Path) -> None:
    """Its own numbers and figures; there is nothing to differ from."""
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
    """No ratios, no log: those figures are left out."""
    run = copied(trained, tmp_path)
    for name in ("ratios.h5", "metrics.jsonl"):
        (run / name).unlink()
    write_evaluation(run, expert, FEW, tmp_path / "out")
    found = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"report.html", "umap.png"} <= found
    assert not found & {"ratios.png", "training.png"}


@pytest.mark.usefixtures("roll_outs", "no_map", "no_film")
def test_a_log_that_lacks_numbers_has_gaps(trained: Path, expert: Path, tmp_path: Path) -> None:
    """As another version may have written it; warnings of training are passed on."""
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
    """One that takes fewer numbers than the robot's observation has; nothing is written."""
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


# --- History -------------------------------------------------------------------------------------


def trained_config(run: Path) -> RunConfig:
    """Settings of a run."""
    return settings.read(RunConfig, run / "config.yaml")


def assert_same_policy(one: SkillPolicy, other: SkillPolicy) -> None:
    """Weights equal to the last bit."""
    for field in fields(SkillPolicy):
        np.testing.assert_array_equal(
            getattr(one, field.name), getattr(other, field.name), err_msg=field.name
        )


def test_policies_along_training_are_cloned_once(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second time they are read, and neither data nor training are needed.

    They differ from each other.
    """
    run = copied(trained, tmp_path)
    first = policies_over_training(run, trained_config(run))
    monkeypatch.setattr(history_module, "Training", None)
    monkeypatch.setattr(history_module, "read_same_data", None)
    second = policies_over_training(run, trained_config(run))
    assert [outer for outer, _ in first] == [outer for outer, _ in second] == list(CHECKPOINTS)
    for (_, one), (_, other) in zip(first, second, strict=True):
        assert_same_policy(one, other)
        assert one.num_skills == SKILLS
    assert (first[0][1].skill != first[1][1].skill).any()


def test_the_last_policy_along_training_is_the_runs_own(trained: Path, tmp_path: Path) -> None:
    """Cloned with the random numbers that the run went on with."""
    run = copied(trained, tmp_path)
    (_, last) = policies_over_training(run, trained_config(run))[-1]
    assert_same_policy(last, SkillPolicy.read(run / "policy.h5"))


def test_policies_outlive_their_checkpoints(trained: Path, tmp_path: Path) -> None:
    """States are large, and of no use once policies are cloned from them."""
    run = copied(trained, tmp_path)
    before = policies_over_training(run, trained_config(run))
    for state in (run / "checkpoints").glob("*.pt"):
        state.unlink()
    assert [outer for outer, _ in policies_over_training(run, trained_config(run))] == [
        outer for outer, _ in before
    ]


def test_a_policy_that_is_lost_is_cloned_to_the_same_weights(trained: Path, tmp_path: Path) -> None:
    """Only that one: the other is not touched."""
    run = copied(trained, tmp_path)
    before = policies_over_training(run, trained_config(run))
    lost, kept = sorted((run / "checkpoints").glob("*.policy.h5"))
    lost.unlink()
    written = kept.stat().st_mtime_ns
    after = policies_over_training(run, trained_config(run))
    assert_same_policy(before[0][1], after[0][1])
    assert kept.stat().st_mtime_ns == written


def test_a_policy_trained_in_the_loop_is_taken_as_it_was(train_tiny: Train, tmp_path: Path) -> None:
    """At the last checkpoint it is the run's own."""
    run = train_tiny(tmp_path / "run", "--policy.in-loop", "True")
    _, last = policies_over_training(run, trained_config(run))[-1]
    assert_same_policy(last, SkillPolicy.read(run / "policy.h5"))


def test_returns_along_training_are_those_of_the_policies(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, roll_outs: RollOuts
) -> None:
    """Each checkpoint's skills and the expert, without films."""
    policies = [(2, MadeUpPolicy(0.0, 0.1)), (4, MadeUpPolicy(0.0, 0.1))]
    monkeypatch.setattr(history_module, "policies_over_training", lambda run, trained: policies)
    rows = returns_over_training(trained, trained_config(trained), MadeUpPolicy(0.0), FEW)
    assert [row["outer"] for row in rows] == [2, 4]
    assert rows[0]["height_std"] == pytest.approx(0.015, abs=0.001)  # skills stand 30 mm apart
    assert len(roll_outs.asked) == 2 * 3
    assert all(robots == FEW.episodes for *_, robots in roll_outs.asked)
