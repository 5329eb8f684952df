"""solo-eval: exit codes, output and files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from solo_doi.evaluate.selection import CONDITIONS

from .compared import table
from .conftest import FEW, Evaluate
from .walks import RollOuts

SKILLS = 3
NUMBERS = (*FEW, "--pictures", "False")
ONCE = 2 + SKILLS
"""Rollouts of one evaluation: the expert's, as it is and as it was recovered, and each skill's."""
pytestmark = pytest.mark.usefixtures("no_map")


@pytest.fixture
def here(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a run in it."""
    shutil.copytree(trained, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tree(folder: Path) -> dict[Path, int]:
    """Return all files and folders with their modification times."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_a_run_is_evaluated_into_itself_and_shown(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """The output has a row per skill, one of the recovered expert and one of the expert."""
    code, output, errors = solo_eval("run", *NUMBERS)
    assert (code, errors) == (0, "")
    assert output.startswith("run: run/evaluation/metrics.json\n")
    for skill in (*range(SKILLS), "smodice", "expert"):
        assert f"│ {skill} " in output
    assert "told_apart 1" in output
    assert "falls 0 of 12 (0.0 to 24.2 %, few rollouts). Two gaits not judged" in output
    assert "fewer than 100 upright rollouts: 0, 1, 2." in output
    assert "visibly_different 3 (0, 1, 2), 3 of 3 pairs" in output
    assert "clearly_different 3 (0, 1, 2), 3 of 3 pairs" in output
    assert "KL of policy to expert: Not measured on the classifier's terms: " in output
    assert set(Path("run/evaluation").iterdir()) == {Path("run/evaluation/metrics.json")}
    assert len(roll_outs.measured) == ONCE


def test_results_may_go_elsewhere(here: Path, solo_eval: Evaluate, roll_outs: RollOuts) -> None:
    """The run itself is not changed."""
    before = tree(Path("run"))
    assert solo_eval("run", *NUMBERS, "--out", "some/where")[0] == 0
    assert tree(Path("run")) == before
    assert Path("some/where/metrics.json").is_file()


def test_select_records_robust_skills_in_the_run(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """`--select` includes the rollouts of the transfer table."""
    code, output, _ = solo_eval("run", "--select", *NUMBERS)
    assert code == 0
    assert len(roll_outs.measured) == ONCE + SKILLS * len(CONDITIONS)
    assert json.loads(Path("run/selection.json").read_text())["selected"] == [0, 1, 2]
    assert "selected skills: [0, 1, 2]" in output
    assert len(
        json.loads(Path("run/evaluation/metrics.json").read_text())["transfer"]
    ) == SKILLS * len(CONDITIONS)


def test_a_selection_does_not_grow_old(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """A new evaluation updates the selection of the run; results elsewhere do not change it."""
    path = Path("run/selection.json")
    assert solo_eval("run", "--select", *NUMBERS)[0] == 0
    path.write_text("old")
    assert solo_eval("run", *NUMBERS, "--out", "elsewhere")[0] == 0
    assert path.read_text() == "old"
    assert solo_eval("run", *NUMBERS, "--seed", "1")[0] == 0
    assert (
        json.loads(path.read_text())
        == json.loads(Path("run/evaluation/metrics.json").read_text())["selection"]
    )


def test_nothing_is_selected_unless_asked(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """A transfer table alone changes nothing in the run."""
    assert solo_eval("run", "--transfer", *NUMBERS)[0] == 0
    assert not Path("run/selection.json").exists()


@pytest.mark.usefixtures("roll_outs")
def test_runs_are_compared(here: Path, trained_alone: Path, solo_eval: Evaluate) -> None:
    """Each run gets its own results; medians and quartiles of a group equal numpy's."""
    for number in range(3):
        folder = Path(shutil.copytree("run", f"run{number}"))
        summary = json.loads((folder / "summary.json").read_text())
        (folder / "summary.json").write_text(
            json.dumps(summary | {"ratio_l1": 0.1 * (number + 1) ** 2})
        )
    shutil.copytree(trained_alone, "alone")
    code, output, errors = solo_eval("--compare", "run0", "run1", "run2", "alone", *NUMBERS)
    assert (code, errors) == (0, "")
    assert output.endswith("runs/comparison/report.html\n")
    cells = table(Path("runs/comparison/compare.md"))
    low, middle, high = np.percentile([0.1, 0.4, 0.9], (25, 50, 75))
    assert cells["eps 2.7"]["runs"] == "3"
    assert cells["eps 2.7"]["ratio l1"] == f"{middle:.3g} ({low:.3g} to {high:.3g})"
    assert cells["smodice"]["runs"] == "1"
    for name in ("run0", "run1", "run2", "alone"):
        assert Path(name, "evaluation", "metrics.json").is_file()


def test_a_comparison_may_go_elsewhere(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """Runs still keep their own results."""
    assert solo_eval("run", "--compare", *NUMBERS, "--out", "all")[0] == 0
    assert Path("all/compare.md").is_file()
    assert Path("run/evaluation/metrics.json").is_file()
    assert not Path("runs").exists()


def test_a_history_clones_policies_once(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """The second evaluation reads the policies of the first; both have the same results."""
    found = []
    for arguments in ((), ("--again",)):
        assert solo_eval("run", "--history", *NUMBERS, *arguments)[0] == 0
        policies = sorted(Path("run/checkpoints").glob("*.policy.h5"))
        found.append({path: path.stat().st_mtime_ns for path in policies})
        assert len(roll_outs.measured) == ONCE + (1 + SKILLS) * len(policies)
        roll_outs.asked.clear()
    assert len(found[0]) == 2
    assert found[0] == found[1]
    assert len(json.loads(Path("run/evaluation/metrics.json").read_text())["history"]) == 2
