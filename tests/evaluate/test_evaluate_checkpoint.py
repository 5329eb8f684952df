"""solo-eval on checkpoints: the skills with which data are collected."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from solo_doi.evaluate.run_groups import group_label
from solo_doi.evaluate.selection import CONDITIONS
from solo_doi.policies.dominic_checkpoint import read_policy, write_policy

from .conftest import FEW, Evaluate
from .report.test_html_report import Page
from .walks import RollOuts

NUMBERS = (*FEW, "--no-pictures")
SOURCE = Path(__file__).parents[2] / "collect" / "checkpoints" / "locomotion" / "model_2000.pt"
SKILLS = 5
pytestmark = pytest.mark.usefixtures("no_map")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a checkpoint in it."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(SOURCE, tmp_path))


def test_all_skills_of_a_checkpoint_are_measured(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """They are measured as those of a run, without a recovered expert and without data."""
    code, output, errors = solo_eval("model_2000.pt", *NUMBERS, "--out", "out")
    assert (code, errors) == (0, "")
    assert output.startswith("model_2000.pt: out/metrics.json\n")
    assert "KL of policy to expert: Not measured: model_2000.pt holds policies alone." in output
    metrics = json.loads(Path("out/metrics.json").read_text())
    assert [skill["skill"] for skill in metrics["skills"]] == list(range(SKILLS))
    assert {"clearly_different", "told_apart", "falls_pooled"} <= metrics.keys()
    assert not metrics.keys() & {"smodice", "eps", "phi"}
    assert len(roll_outs.measured) == 1 + SKILLS
    assert group_label(metrics) == "model_2000.pt"


def test_results_lie_beside_a_checkpoint(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """They include the selection; the second call reads them."""
    for _ in range(2):
        assert solo_eval("model_2000.pt", *NUMBERS, "--select")[0] == 0
    assert len(roll_outs.measured) == 1 + SKILLS * (1 + len(CONDITIONS))
    found = {path.name for path in Path("model_2000.evaluation").iterdir()}
    assert found == {"metrics.json", "selection.json"}


@pytest.mark.usefixtures("roll_outs", "no_film")
def test_the_page_says_that_there_was_no_training_on_data(here: Path, solo_eval: Evaluate) -> None:
    """It also states that the map has no trajectories of data."""
    assert solo_eval("model_2000.pt", *FEW)[0] == 0
    texts = Page(Path("model_2000.evaluation/report.html")).texts
    assert any(text.startswith("A checkpoint holds policies alone") for text in texts)
    reason = "Trajectories of the data are left out: model_2000.pt holds policies alone."
    assert any(reason in text for text in texts)


@pytest.mark.parametrize("kind", ["history", "damaged", "size", "missing"])
def test_what_cannot_be_evaluated_is_refused(
    kind: str, here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """The error is one line, before the first rollout."""
    flags: tuple[str, ...] = ()
    message = {
        "history": "model_2000.pt: a single file has no checkpoints of a training.",
        "damaged": "model_2000.pt: not a checkpoint",
        "size": "model_2000.pt: takes observations of 47 numbers, skills are evaluated at",
        "missing": "model_2000.pt: no such file. Expected a DOMiNiC checkpoint",
    }[kind]
    if kind == "history":
        flags = ("--history",)
    elif kind == "damaged":
        here.write_text("weights")
    elif kind == "missing":
        here.unlink()
    else:
        policy = read_policy(here)
        first, *others = policy.weights
        smaller = (first[:, :47], *others)
        write_policy(
            here,
            replace(policy, mean=policy.mean[:47], std=policy.std[:47], weights=smaller),  # type: ignore[arg-type]
        )
    code, output, errors = solo_eval("model_2000.pt", *NUMBERS, *flags, "--out", "out")
    assert (code, output, errors.count("\n")) == (1, "", 1)
    assert errors.startswith(f"solo-eval: {message}")
    assert roll_outs.asked == []
    assert not Path("out").exists()
