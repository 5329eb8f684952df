"""solo-eval on bundles: the same skills as in the run, without the record of training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from solo_doi.evaluate.eval_config import EvalConfig
from solo_doi.evaluate.report.plain_words import DIVERSITY
from solo_doi.evaluate.run_groups import group_label
from solo_doi.evaluate.selection import CONDITIONS
from solo_doi.evaluate.skill_evaluation import roll_out
from solo_doi.evaluate.source import FROM_TRAINING
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.solo12.observation import LAYOUTS
from tests.policies.bundles import SKILLS, skill_policy, write

from .conftest import FEW, Evaluate
from .report.test_html_report import Page
from .walks import RollOuts

NUMBERS = (*FEW, "--pictures", "False")
pytestmark = pytest.mark.usefixtures("no_map")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a bundle in it."""
    monkeypatch.chdir(tmp_path)
    return write(tmp_path / "skills.onnx")


def metrics_of(out: str) -> dict[str, Any]:
    """Return the written metrics."""
    return json.loads(Path(out, "metrics.json").read_text())


def test_a_bundle_is_rolled_out_as_its_policy_is(here: Path) -> None:
    """The first steps of every robot agree; later, rounding differences grow."""
    config = EvalConfig(steps=10, episodes=4)
    for skill in range(SKILLS):
        one, two = (roll_out(policy, skill, config) for policy in (Bundle(here), skill_policy()))
        np.testing.assert_allclose(one.joint_position, two.joint_position, atol=1e-3)
        np.testing.assert_allclose(one.position_w, two.position_w, atol=1e-3)


def test_numbers_of_a_bundle_are_those_of_its_rollouts(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """Numbers from training are absent."""
    code, output, _ = solo_eval("skills.onnx", *NUMBERS, "--out", "out")
    assert code == 0
    assert output.startswith("skills.onnx: out/metrics.json\n")
    metrics = metrics_of("out")
    assert (metrics["run"], metrics["exported_from"]) == ("skills.onnx", "small")
    assert [skill["skill"] for skill in metrics["skills"]] == list(range(SKILLS))
    assert metrics["height_std"] > 0.01
    assert not metrics.keys() & {*FROM_TRAINING, "eps", "seed", "history"}
    assert len(roll_outs.measured) == 1 + SKILLS


def test_results_lie_beside_a_bundle(here: Path, solo_eval: Evaluate, roll_outs: RollOuts) -> None:
    """They include the selection; the second call reads them."""
    for _ in range(2):
        code, output, _ = solo_eval("skills.onnx", *NUMBERS, "--select")
        assert code == 0
        assert "selected skills" in output
    assert len(roll_outs.measured) == 1 + SKILLS * (1 + len(CONDITIONS))
    selected = json.loads(Path("skills.evaluation/selection.json").read_text())["selected"]
    assert selected == metrics_of("skills.evaluation")["selected"]


def test_another_bundle_of_the_same_name_is_evaluated_anew(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """Bundles are compared by the content of their files."""
    assert solo_eval("skills.onnx", *NUMBERS)[0] == 0
    write(here, skill_policy(squashed=True))
    assert solo_eval("skills.onnx", *NUMBERS)[0] == 0
    assert len(roll_outs.measured) == 2 * (1 + SKILLS)


@pytest.mark.usefixtures("roll_outs", "no_film")
def test_the_page_says_what_is_absent(here: Path, solo_eval: Evaluate) -> None:
    """It names the report that has the figures of training, which are left out here."""
    assert solo_eval("skills.onnx", *FEW)[0] == 0
    found = {path.name for path in Path("skills.evaluation").iterdir()}
    assert {"report.html", "skills.png", "umap.png", "gait.png", "film.png"} <= found
    assert not found & {"training.png", "ratios.png", "history.png"}
    texts = Page(Path("skills.evaluation/report.html")).texts
    assert any(
        text.startswith("A bundle holds policies alone.") and "small" in text for text in texts
    )
    assert DIVERSITY["sf_l2"] in texts
    assert DIVERSITY["ratio_l1"] not in texts
    assert "Not measured: skills.onnx holds policies alone." in texts


@pytest.mark.usefixtures("roll_outs")
def test_bundles_are_compared_by_name(here: Path, solo_eval: Evaluate) -> None:
    """A bundle has neither eps nor seed."""
    write(Path("other.onnx"))
    assert (
        solo_eval("skills.onnx", "other.onnx", *NUMBERS, "--compare", "--out", "compared")[0] == 0
    )
    assert group_label(metrics_of("other.evaluation")) == "other.onnx"
    table = Path("compared/compare.md").read_text()
    assert "| skills.onnx | 1 |" in table
    assert "| other.onnx | 1 |" in table


@pytest.mark.parametrize(
    ("name", "flags", "message"),
    [
        ("none.onnx", (), "none.onnx: no such file. Expected a bundle written by solo-export."),
        (
            "damaged.onnx",
            (),
            "damaged.onnx: not a bundle of solo-export, or changed after it was written",
        ),
        (
            "navigation.onnx",
            ("--transfer",),
            "navigation.onnx: --transfer compares walks; task 'navigation' has scenes instead.",
        ),
        (
            "navigation.onnx",
            ("--history",),
            "navigation.onnx: --history shows returns of walks.",
        ),
        (
            "skills.onnx",
            ("--history",),
            "skills.onnx: a single file has no checkpoints of a training.",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_refused(
    name: str,
    flags: tuple[str, ...],
    message: str,
    here: Path,
    solo_eval: Evaluate,
    roll_outs: RollOuts,
) -> None:
    """The error is one line, before the first rollout."""
    Path("damaged.onnx").write_bytes(here.read_bytes()[:-1])
    write(Path("navigation.onnx"), skill_policy(size=LAYOUTS["navigation"].size))
    code, output, errors = solo_eval(name, *NUMBERS, *flags, "--out", "out")
    assert (code, output, errors.count("\n")) == (1, "", 1)
    assert errors.startswith(f"solo-eval: {message}")
    assert roll_outs.asked == []
    assert not Path("out").exists()
