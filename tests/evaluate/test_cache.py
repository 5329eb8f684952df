"""solo-eval: reuse of earlier results, and parts of them that are kept."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import h5py
import pytest

from solo_doi.evaluate.selection import CONDITIONS
from solo_doi.evaluate.shipped import SHIPPED_EXPERT

from .conftest import FEW, Evaluate
from .test_eval_cli import NUMBERS, ONCE, SKILLS, here, tree
from .walks import RollOuts

__all__ = ["here"]  # a fixture
pytestmark = pytest.mark.usefixtures("no_map")
COLLECTED = Path(__file__).parents[2] / "collect" / "checkpoints" / "locomotion"
"""Checkpoints that data were collected with."""
TRANSFER = SKILLS * len(CONDITIONS)
FILMS = 1 + SKILLS
"""Rollouts for the film strip of the report: the expert beside its skills."""


def metrics_of(run: str = "run") -> dict[str, Any]:
    """Return the metrics of a run."""
    return json.loads(Path(run, "evaluation", "metrics.json").read_text())


def test_the_same_is_not_evaluated_again_unless_asked(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """The second call prints the results of the first; `--again` repeats the rollouts."""
    first = solo_eval("run", *NUMBERS)
    written = tree(Path("run"))
    assert solo_eval("run", *NUMBERS) == first
    assert tree(Path("run")) == written
    assert len(roll_outs.measured) == ONCE
    assert solo_eval("run", *NUMBERS, "--again") == first
    assert len(roll_outs.measured) == 2 * ONCE


@pytest.mark.parametrize("flags", [("--seed", "1"), ("--steps", "120"), ("--sim", "pybullet")])
def test_other_settings_are_evaluated(
    flags: tuple[str, ...], here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """Only the results of the last settings are kept, so going back is another evaluation."""
    for arguments in ((), flags, flags, ()):
        assert solo_eval("run", *NUMBERS, *arguments)[0] == 0
    assert len(roll_outs.measured) == 3 * ONCE


def test_another_expert_is_another_evaluation(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """Experts are compared by the content of their files, not by name."""
    shutil.copy(SHIPPED_EXPERT, "same.pt")
    shutil.copy(COLLECTED / "model_2000.pt", "other.pt")
    for arguments in ((), ("--expert", "same.pt"), ("--expert", "other.pt")):
        assert solo_eval("run", *NUMBERS, *arguments)[0] == 0
    assert len(roll_outs.measured) == 2 * ONCE


def test_another_policy_is_another_evaluation(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """The folder holds results of another run's policy."""
    shutil.copytree("run", "other")
    with h5py.File("other/policy.h5", "r+") as file:
        file["head_bias"][:] = 0.5
    for run in ("run", "other"):
        assert solo_eval(run, *NUMBERS, "--out", "out")[0] == 0
        assert json.loads(Path("out/metrics.json").read_text())["run"] == run
    assert len(roll_outs.measured) == 2 * ONCE


@pytest.mark.parametrize("content", ["", '{"run": "ru', "[]", '{"run": "older"}'])
def test_results_that_cannot_be_used_are_made_anew(
    content: str, here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """The file is damaged, or was written by an older version."""
    Path("run/evaluation").mkdir()
    Path("run/evaluation/metrics.json").write_text(content)
    assert solo_eval("run", *NUMBERS)[0] == 0
    assert len(roll_outs.measured) == ONCE
    assert json.loads(Path("run/evaluation/metrics.json").read_text())["run"] == "run"


@pytest.mark.usefixtures("no_figures")
def test_a_page_that_was_lost_is_made_anew(
    here: Path, trained_alone: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """The settings request a report, so a missing one counts as a missing part."""
    shutil.copytree(trained_alone, "alone")
    page = Path("alone/evaluation/report.html")
    for asked, lost in (
        (5, False),
        (5, True),
        (10, False),
    ):  # rollouts so far: the expert twice and its film, skill and its film, once or twice
        code, output, _ = solo_eval("alone", *FEW)
        assert code == 0
        assert output.startswith(f"alone: {page}\n")
        assert page.is_file()
        assert len(roll_outs.measured) == asked
        if lost:
            page.unlink()


# --- Parts that are kept -------------------------------------------------------------------------


@pytest.mark.usefixtures("no_figures")
def test_a_comparison_keeps_what_was_found_before(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """The requested numbers exist: transfer table and report stay, without new rollouts."""
    assert solo_eval("run", "--select", "--history", *FEW)[0] == 0
    before, asked = tree(Path("run")), len(roll_outs.asked)
    assert solo_eval("--compare", "run", *NUMBERS)[0] == 0
    assert tree(Path("run")) == before
    assert len(roll_outs.asked) == asked


def test_what_is_asked_for_later_is_added(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """The history keeps the transfer table and its settings."""
    assert solo_eval("run", "--select", "--estimator-episodes", "2", *NUMBERS)[0] == 0
    transfer = metrics_of()["transfer"]
    roll_outs.asked.clear()
    assert solo_eval("run", "--history", *NUMBERS)[0] == 0
    assert len(roll_outs.measured) == ONCE + 2 * (1 + SKILLS)
    metrics = metrics_of()
    assert metrics["transfer"] == transfer
    assert metrics["selected"] == [0, 1, 2]
    assert len(metrics["history"]) == 2


@pytest.mark.parametrize("flags", [("--again",), ("--seed", "1")])
@pytest.mark.usefixtures("no_figures")
def test_what_is_made_anew_is_made_whole(
    flags: tuple[str, ...], here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """Transfer table and report are made again, too: old ones would not match the new numbers."""
    assert solo_eval("run", "--select", *FEW)[0] == 0
    page = Path("run/evaluation/report.html")
    written = page.stat().st_mtime_ns
    roll_outs.asked.clear()
    assert solo_eval("run", *NUMBERS, *flags)[0] == 0
    assert len(roll_outs.measured) == ONCE + FILMS + TRANSFER
    assert metrics_of()["selected"] == [0, 1, 2]
    assert page.stat().st_mtime_ns > written


@pytest.mark.usefixtures("no_figures")
def test_a_page_of_another_policy_does_not_stay(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """Its other parts are removed, too: the run has another policy now."""
    assert solo_eval("run", "--select", *FEW)[0] == 0
    with h5py.File("run/policy.h5", "r+") as file:
        file["head_bias"][:] = 0.5
    roll_outs.asked.clear()
    assert solo_eval("run", *NUMBERS)[0] == 0
    assert len(roll_outs.measured) == ONCE
    assert not Path("run/evaluation/report.html").exists()
    assert "transfer" not in metrics_of()


@pytest.mark.parametrize(
    ("name", "value"), [("MEASURES_VERSION", -1), ("DEFINITIONS", {"vx": "in knots"})]
)
def test_numbers_of_other_definitions_are_made_anew(
    name: str,
    value: object,
    here: Path,
    solo_eval: Evaluate,
    roll_outs: RollOuts,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A changed definition or version of the measures invalidates old results."""
    with monkeypatch.context() as patch:
        for module in ("cache", "write_evaluation"):
            patch.setattr(f"solo_doi.evaluate.{module}.{name}", value)
        assert solo_eval("run", *NUMBERS)[0] == 0
    assert solo_eval("run", *NUMBERS)[0] == 0
    assert len(roll_outs.measured) == 2 * ONCE


# --- Divergence ----------------------------------------------------------------------------------


def data_of(run: str, place: Path, moved: Path) -> None:
    """Set the place in which a run looks for its data."""
    config = Path(run, "config.yaml")
    config.write_text(config.read_text().replace(str(place / "coverage"), str(moved / "coverage")))


def test_a_divergence_is_measured_once_the_data_are_back(
    here: Path, data: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """While the data are missing, the run is not evaluated again."""
    data_of("run", data, Path("/nowhere"))
    for _ in range(2):
        _, output, _ = solo_eval("run", *NUMBERS)
        assert "KL of policy to expert: Not measured: " in output
    assert "not_measured" in metrics_of()["policy_divergence"]
    assert len(roll_outs.measured) == ONCE
    data_of("run", Path("/nowhere"), data)
    for _ in range(2):
        assert solo_eval("run", *NUMBERS)[0] == 0
    assert metrics_of()["policy_divergence"].keys() >= {"classifier", "discriminator"}
    assert len(roll_outs.measured) == 2 * ONCE


def test_a_divergence_is_kept(here: Path, solo_eval: Evaluate, roll_outs: RollOuts) -> None:
    """It is kept if it is not requested and if another part is added.

    It is added if it is missing.
    """
    assert solo_eval("run", *NUMBERS, "--no-divergence")[0] == 0
    assert "policy_divergence" not in metrics_of()
    assert solo_eval("run", *NUMBERS)[0] == 0
    known = metrics_of()["policy_divergence"]
    assert len(roll_outs.measured) == 2 * ONCE
    assert solo_eval("run", *NUMBERS, "--no-divergence")[0] == 0
    assert len(roll_outs.measured) == 2 * ONCE
    changed = metrics_of() | {"policy_divergence": known | {"rollouts": 77}}
    Path("run/evaluation/metrics.json").write_text(json.dumps(changed))
    assert solo_eval("run", *NUMBERS, "--no-divergence", "--history")[0] == 0
    assert metrics_of()["policy_divergence"]["rollouts"] == 77
