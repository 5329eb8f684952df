"""solo-eval: how it ends, what it leaves, and what it does not do twice."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from solo_doi.cli import evaluate as cli
from solo_doi.evaluate.selection import CONDITIONS

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
    """All files and folders, with the time they were written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def refusal(solo_eval: Evaluate, roll_outs: RollOuts, *arguments: object) -> str:
    """The only line that a refused command prints.

    It has neither rolled out nor written anything.
    """
    before = tree(Path())
    code, output, errors = solo_eval(*arguments)
    assert code == 1
    assert output == ""
    assert errors.startswith("solo-eval: ")
    assert errors.count("\n") == 1
    assert tree(Path()) == before
    assert roll_outs.asked == []
    return errors.removeprefix("solo-eval: ").strip()


# --- What cannot be evaluated --------------------------------------------------------------------


def test_what_is_no_run_is_refused(here: Path, solo_eval: Evaluate, roll_outs: RollOuts) -> None:
    """Nothing, another folder, a file."""
    Path("folder").mkdir()
    Path("folder/notes.txt").write_text("notes")
    for name in ("folder", "folder/notes.txt"):
        found = refusal(solo_eval, roll_outs, name, *NUMBERS)
        assert found == f"{name}: not a run of solo-train, it has no config.yaml."
    found = refusal(solo_eval, roll_outs, "nowhere", *NUMBERS)
    assert found == (
        "nowhere: no such directory. Expected a run of solo-train, "
        "or a bundle (.onnx) of solo-export."
    )


def test_a_folder_with_a_bundle_alone_is_refused(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """The message names the bundle instead of advice to continue training."""
    Path("other").mkdir()
    for name in ("config.yaml", "skills.onnx"):
        Path("other", name).write_text("anything")
    found = refusal(solo_eval, roll_outs, "other", *NUMBERS)
    assert found == "other: not a run of solo-train. Name the bundle in it: other/skills.onnx"


@pytest.mark.parametrize("flags", [(), ("--compare",)])
def test_results_need_a_directory(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts, flags: tuple[str, ...]
) -> None:
    """A file in its place is found before anything is rolled out."""
    Path("notes").write_text("notes")
    found = refusal(solo_eval, roll_outs, "run", "--out", "notes", *flags, *NUMBERS)
    assert found == "notes: a file. Expected a directory for the results: choose another --out."


def test_an_unfinished_run_is_refused(here: Path, solo_eval: Evaluate, roll_outs: RollOuts) -> None:
    """The message names the command to continue."""
    Path("run/summary.json").unlink()
    found = refusal(solo_eval, roll_outs, "run", *NUMBERS)
    assert found == "run: training has not finished. Continue it with `solo-train --resume run`."


@pytest.mark.parametrize("kind", ["version", "cut", "missing", "text"])
def test_a_policy_that_cannot_be_read_is_refused(
    kind: str, here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """Another version, a damaged file, or no file."""
    path = Path("run/policy.h5")
    if kind == "version":
        with h5py.File(path, "r+") as file:
            file.attrs["version"] = 99
    elif kind == "cut":
        path.write_bytes(path.read_bytes()[:1000])
    elif kind == "missing":
        path.unlink()
    else:
        path.write_text("weights")
    found = refusal(solo_eval, roll_outs, "run", *NUMBERS)
    expected = "version 99, this program reads 1" if kind == "version" else "not a skill policy"
    assert found.startswith(f"run/policy.h5: {expected}")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("summary.json", "run/summary.json: not valid JSON"),
        ("config.yaml", "run/config.yaml: Unknown setting 'epz'."),
    ],
)
def test_a_damaged_run_is_refused(
    name: str, message: str, here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """Summary and configuration are both checked."""
    Path("run", name).write_text("epz: 1\n")
    assert message in refusal(solo_eval, roll_outs, "run", *NUMBERS)


@pytest.mark.parametrize(
    ("flag", "number", "message"),
    [
        ("--steps", 99, "expected at least 100"),
        ("--episodes", 3, "expected at least 4"),
        ("--seed", -1, "0 or more"),
    ],
)
def test_too_little_to_measure_is_refused(
    flag: str, number: int, message: str, here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """With how much is needed."""
    found = refusal(solo_eval, roll_outs, "run", *NUMBERS, flag, number)
    assert str(number) in found
    assert message in found


def test_shipped_skills_need_a_place(here: Path, solo_eval: Evaluate, roll_outs: RollOuts) -> None:
    """Nothing is written into the package if no run is named."""
    assert refusal(solo_eval, roll_outs) == (
        "The shipped skills need a folder for their results: solo-eval --out DIRECTORY"
    )


def test_all_runs_are_looked_at_before_any_is_rolled_out(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """The second is no run: the first is not evaluated either."""
    assert refusal(solo_eval, roll_outs, "run", "nowhere", *NUMBERS).startswith(
        "nowhere: no such directory."
    )


def test_several_runs_do_not_share_one_place(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """The second would replace the first one's results."""
    shutil.copytree("run", "other")
    found = refusal(solo_eval, roll_outs, "run", "other", *NUMBERS, "--out", "out")
    assert found.startswith("out: cannot hold the results of 2 runs")


def test_an_expert_that_cannot_be_read_is_refused(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """No file, or no checkpoint."""
    assert refusal(solo_eval, roll_outs, "run", *NUMBERS, "--expert", "none.pt").startswith(
        "none.pt: no such file"
    )
    Path("text.pt").write_text("weights")
    assert refusal(solo_eval, roll_outs, "run", *NUMBERS, "--expert", "text.pt").startswith(
        "text.pt: not a checkpoint"
    )


def test_a_history_needs_checkpoints(here: Path, solo_eval: Evaluate, roll_outs: RollOuts) -> None:
    """The refusal comes before the first rollout."""
    shutil.rmtree("run/checkpoints")
    assert refusal(solo_eval, roll_outs, "run", *NUMBERS, "--history").startswith(
        "run: kept no checkpoints."
    )


def test_a_wrong_flag_or_value_stops_the_command(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """Exit code 2, as of any command."""
    for words in (("--epizodes", "4"), ("--sim", "gazebo"), ("--steps", "many")):
        code, _, errors = solo_eval("run", *words)
        assert code == 2
        assert words[0] in errors
    assert roll_outs.asked == []


def test_an_interrupt_is_one_line(
    here: Path, solo_eval: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C: exit code 130, no traceback."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "evaluate_all", interrupted)
    code, _, errors = solo_eval("run")
    assert code == 130
    assert errors.startswith("solo-eval: stopped.")
    assert errors.count("\n") == 1


@pytest.mark.parametrize("kind", ["cut", "text", "other", "fewer"])
def test_ratios_that_cannot_be_drawn_are_refused(
    kind: str, here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """Before anything is rolled out for a page; numbers do without them."""
    path = Path("run/ratios.h5")
    if kind == "cut":
        path.write_bytes(path.read_bytes()[:1000])
    elif kind == "text":
        path.write_text("ratios")
    else:
        with h5py.File(path, "r+") as file:
            some = file["log_w_skills"][:2]
            del file["log_w_skills"]
            if kind == "fewer":
                file["log_w_skills"] = some
    found = refusal(solo_eval, roll_outs, "run", *FEW)
    assert found.startswith("run/ratios.h5: ")
    assert found.endswith("Train the run again, or remove the file to evaluate without its figure.")
    assert solo_eval("run", *NUMBERS)[0] == 0


@pytest.mark.parametrize("line", ['{"outer": 1', "7"])
def test_a_log_that_cannot_be_read_is_refused(
    line: str, here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """Before anything is rolled out."""
    Path("run/metrics.jsonl").write_text(f"{line}\n")
    assert refusal(solo_eval, roll_outs, "run", *NUMBERS).startswith("run/metrics.jsonl, line 1: ")


# --- What it leaves ------------------------------------------------------------------------------


def test_a_run_is_evaluated_into_itself_and_shown(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """A row per skill and one of the expert."""
    code, output, errors = solo_eval("run", *NUMBERS)
    assert (code, errors) == (0, "")
    assert output.startswith("run: run/evaluation/metrics.json\n")
    for skill in (*range(SKILLS), "smodice", "expert"):
        assert f"│ {skill} " in output
    assert "told_apart 1" in output
    assert set(Path("run/evaluation").iterdir()) == {Path("run/evaluation/metrics.json")}
    assert len(roll_outs.measured) == ONCE


def test_results_may_go_elsewhere(here: Path, solo_eval: Evaluate, roll_outs: RollOuts) -> None:
    """The run itself stays as it was."""
    before = tree(Path("run"))
    assert solo_eval("run", *NUMBERS, "--out", "some/where")[0] == 0
    assert tree(Path("run")) == before
    assert Path("some/where/metrics.json").is_file()


def test_select_records_robust_skills_in_the_run(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """After the rollouts of the transfer table, which it includes."""
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
    """Each is evaluated into itself; medians and quartiles of the same kind are numpy's."""
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
    header, _, *rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in Path("runs/comparison/compare.md").read_text().splitlines()
    ]
    cells = {row[0]: dict(zip(header, row, strict=True)) for row in rows}
    low, middle, high = np.percentile([0.1, 0.4, 0.9], (25, 50, 75))
    assert cells["eps 2"]["runs"] == "3"
    assert cells["eps 2"]["ratio l1"] == f"{middle:.3g} ({low:.3g} to {high:.3g})"
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
