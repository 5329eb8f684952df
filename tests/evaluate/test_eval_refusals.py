"""solo-eval refuses invalid sources and settings in one line, before the first rollout."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import pytest

from solo_doi.cli import evaluate as cli

from .conftest import FEW, Evaluate
from .test_eval_cli import NUMBERS, here, tree
from .walks import RollOuts

__all__ = ["here"]  # a fixture
pytestmark = pytest.mark.usefixtures("no_map")


def refusal(solo_eval: Evaluate, roll_outs: RollOuts, *arguments: object) -> str:
    """Return the only line that a refused command prints.

    The command makes no rollout and writes no file.
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


def test_what_is_no_run_is_refused(here: Path, solo_eval: Evaluate, roll_outs: RollOuts) -> None:
    """The path does not exist, is another folder or a file."""
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
    """A file in its place is found before the first rollout."""
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
    """The file is of another version, damaged or missing."""
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
    """The error states the smallest sufficient number."""
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
    """The second path is not a run, so the first run is not evaluated either."""
    assert refusal(solo_eval, roll_outs, "run", "nowhere", *NUMBERS).startswith(
        "nowhere: no such directory."
    )


def test_several_runs_do_not_share_one_place(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """The second run would overwrite the results of the first."""
    shutil.copytree("run", "other")
    found = refusal(solo_eval, roll_outs, "run", "other", *NUMBERS, "--out", "out")
    assert found.startswith("out: cannot hold the results of 2 runs")


def test_an_expert_that_cannot_be_read_is_refused(
    here: Path, solo_eval: Evaluate, roll_outs: RollOuts
) -> None:
    """The file is missing or not a checkpoint."""
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
    """The exit code is 2, as for other commands."""
    for words in (("--epizodes", "4"), ("--sim", "gazebo"), ("--steps", "many")):
        code, _, errors = solo_eval("run", *words)
        assert code == 2
        assert words[0] in errors
    assert roll_outs.asked == []


def test_an_interrupt_is_one_line(
    here: Path, solo_eval: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C gives exit code 130 without a traceback."""

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
    """The error comes before the rollouts of a report; without pictures, ratios are not needed."""
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
    """The error comes before the first rollout."""
    Path("run/metrics.jsonl").write_text(f"{line}\n")
    assert refusal(solo_eval, roll_outs, "run", *NUMBERS).startswith("run/metrics.jsonl, line 1: ")
