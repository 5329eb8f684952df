"""The command solo-export: what it writes, shows and compares, and one line about anything it cannot use."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from deploy.export import cli
from solo_doi.policies.bundle import Bundle
from solo_doi.policies.contract import Contract, digest
from solo_doi.policies.dominic import write_policy
from tests.policies.bundles import SKILLS, extremes, masked_policy, skill_policy, write
from tests.policies.checkpoints import VELOCITY, our_checkpoint

ROOT = Path(__file__).parents[2]


# --- The command ---------------------------------------------------------------------------------


class Command:
    """Runs `solo-export` in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        """Take over arguments and output."""
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        """Return exit code, output and errors; any exception but an exit is a failure."""
        self._monkeypatch.setattr(sys, "argv", ["solo-export", *map(str, arguments)])
        code: object = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code
        output = self._capsys.readouterr()
        assert isinstance(code, int | None)
        return code or 0, output.out, output.err

    def good(self, *arguments: object) -> str:
        """Return what a command prints that ends well."""
        code, output, errors = self(*arguments)
        assert (code, errors) == (0, "")
        return output

    def error(self, *arguments: object) -> str:
        """Return the only line that a refused command prints."""
        code, output, errors = self(*arguments)
        assert (code, output) == (1, "")
        assert errors.startswith("solo-export: ")
        assert errors.count("\n") == 1
        return errors.removeprefix("solo-export: ").strip()


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command."""
    return Command(monkeypatch, capsys)


NUMBERS = {"return_pct": 97.5, "vx": 1 / 3, "falls": 1, "success": 0.95, "height_mean": 0.24, "clearance": 0.03}
METRICS: dict[str, Any] = {
    "selected": [0, 2],
    "skills": [{"skill": skill, **NUMBERS, "frequency": None if skill else 2.5, "other": 1} for skill in range(SKILLS)],
}
PROVENANCE = {"data": {"crc32": 123}, "expert": {"crc32": 456}, "software": {"torch": "1.2.3"}}


@pytest.fixture
def plain_run(tmp_path: Path) -> Path:
    """What training leaves of a policy, and nothing else."""
    run = tmp_path / "my-run"
    skill_policy().write(run / "policy.h5")
    return run


def evaluated_as_it_is(run: Path) -> None:
    """Let the evaluation, if it is one, be about the policy that is there."""
    path, policy = run / "evaluation" / "metrics.json", run / "policy.h5"
    with contextlib.suppress(ValueError):
        metrics = json.loads(path.read_text())
        if isinstance(metrics, dict) and policy.is_file():
            path.write_text(json.dumps(metrics | {"made_from": {"policy": digest(policy.read_bytes())}}))


@pytest.fixture
def evaluated_run(plain_run: Path) -> Path:
    """A run with all that its bundle tells of."""
    (plain_run / "evaluation").mkdir()
    (plain_run / "evaluation" / "metrics.json").write_text(json.dumps(METRICS))
    evaluated_as_it_is(plain_run)
    (plain_run / "provenance.json").write_text(json.dumps(PROVENANCE))
    return plain_run


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A good bundle."""
    return write(tmp_path / "good.onnx")


def test_a_run_is_exported_beside_its_policy(command: Command, plain_run: Path) -> None:
    """With a line of what was written; nothing is known of its skills or data."""
    output = command.good(plain_run)
    path = plain_run / "skills.onnx"
    assert output.startswith(f"{path}: 3 skills, ")
    assert output.count("\n") == 1
    found, policy = Bundle(path), skill_policy()
    assert (found.contract.skills, set(found.contract.made_from)) == ((), {"run", "exported_with"})
    assert found.contract.made_from["run"] == "my-run"
    np.testing.assert_allclose(
        found.mean_action(extremes(policy)[:80], 1), policy.mean_action(extremes(policy)[:80], 1), atol=1e-5
    )
    assert sorted(file.name for file in plain_run.iterdir()) == ["policy.h5", "skills.onnx"]


def test_what_is_known_of_a_run_goes_into_its_bundle(command: Command, evaluated_run: Path, tmp_path: Path) -> None:
    """Skills and whether they were selected, data and the software that trained, where it was asked to."""
    out = tmp_path / "new" / "robot.onnx"
    command.good(evaluated_run, "--out", out)
    contract = Bundle(out).contract
    assert contract.skills[0] == {"skill": 0, "selected": True, **NUMBERS, "frequency": 2.5}
    assert contract.skills[1] == {"skill": 1, "selected": False, **NUMBERS, "frequency": None}
    assert [skill["selected"] for skill in contract.skills] == [True, False, True]
    assert {name: contract.made_from[name] for name in PROVENANCE} == PROVENANCE
    assert not (evaluated_run / "skills.onnx").exists()


def test_without_a_transfer_nothing_is_selected_or_rejected(command: Command, evaluated_run: Path) -> None:
    """Not looked at is not the same as not chosen."""
    without = {"skills": METRICS["skills"]}
    (evaluated_run / "evaluation" / "metrics.json").write_text(json.dumps(without))
    evaluated_as_it_is(evaluated_run)
    command.good(evaluated_run)
    assert [skill["selected"] for skill in Bundle(evaluated_run / "skills.onnx").contract.skills] == [None] * SKILLS


def test_the_run_is_named_also_from_within(command: Command, plain_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By `solo-export .`, which has no name of its own."""
    monkeypatch.chdir(plain_run)
    command.good(".")
    assert Bundle(Path("skills.onnx")).contract.made_from["run"] == "my-run"


def test_a_checkpoint_is_exported_beside_itself(command: Command, tmp_path: Path) -> None:
    """With the skills of its masks."""
    path = tmp_path / "model_7.pt"
    write_policy(path, masked_policy())
    command.good(path)
    found, policy = Bundle(tmp_path / "model_7.onnx"), masked_policy()
    assert found.contract.made_from["checkpoint"] == "model_7.pt"
    observation = extremes(policy)[:120]
    for skill in range(SKILLS):
        np.testing.assert_allclose(
            found.mean_action(observation, skill), policy.mean_action(observation, skill), atol=1e-5
        )


def test_a_bundle_is_shown_as_json(command: Command, bundle: Path) -> None:
    """All of its contract."""
    shown = json.loads(command.good("show", bundle))
    assert Contract.parse(json.dumps(shown), "shown") == Bundle(bundle).contract


def test_bundles_are_verified(command: Command, bundle: Path, tmp_path: Path) -> None:
    """One line for each good one; a damaged one among them is an error."""
    other = Path(shutil.copy(bundle, tmp_path / "other.onnx"))
    lines = command.good("verify", bundle, other).splitlines()
    assert lines == [f"{path}: {Bundle(bundle).hash[:12]} good" for path in (bundle, other)]
    content = bytearray(other.read_bytes())
    content[1000] ^= 1
    other.write_bytes(content)
    code, output, errors = command("verify", bundle, other)
    assert (code, output) == (1, f"{lines[0]}\n")
    assert errors.startswith(f"solo-export: {other}: ")
    assert errors.count("\n") == 1


def test_equal_contracts_do_not_differ(command: Command, bundle: Path) -> None:
    """Nothing is printed."""
    assert command.good("diff", bundle, bundle) == ""


@pytest.mark.usefixtures("same_software")
def test_differences_are_printed_with_both_values(command: Command, tmp_path: Path) -> None:
    """And nothing else."""
    bundle, other = write(tmp_path / "one.onnx"), write(tmp_path / "other.onnx", skill_policy(skills=5))
    assert command.good("diff", bundle, other) == "num_skills:\n  3\n  5\n"


def test_a_card_tells_of_every_skill(command: Command, evaluated_run: Path) -> None:
    """With what model hubs read, the hash, and a table that has as many cells in every line."""
    command.good(evaluated_run)
    path = evaluated_run / "skills.md"
    assert command.good("card", evaluated_run / "skills.onnx") == f"{path}\n"
    text = path.read_text()
    assert text.startswith("---\nlibrary_name: solo-doi\n")
    assert Bundle(evaluated_run / "skills.onnx").hash in text
    assert "3 locomotion skills for Solo12" in text
    assert "Observation (48 numbers" in text
    assert "Joint targets at 50 Hz, kp 5 N m/rad, kd 0.1 N m s/rad." in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + SKILLS
    assert {row.count("|") for row in rows} == {10}
    assert rows[0].startswith("| skill | selected | clearance | falls |")
    assert rows[2] == "| 0 | True | 0.03 | 1 | 2.5 | 0.24 | 97.5 | 0.95 | 0.333 |"


def test_a_card_says_that_skills_were_not_evaluated(command: Command, plain_run: Path) -> None:
    """Instead of a table."""
    command.good(plain_run)
    command.good("card", plain_run / "skills.onnx")
    text = (plain_run / "skills.md").read_text()
    assert "Its skills have not been evaluated." in text
    assert "|" not in text


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["show", "--help"], ["runs/some", "--help"], ["verify", "-h"]])
def test_help_is_no_error(command: Command, words: list[str]) -> None:
    """Wherever it is asked for; every action is in it."""
    output = command.good(*words)
    assert output.startswith("usage: solo-export RUN [--out FILE]")
    assert all(f"solo-export {action} " in output for action in cli.ACTIONS)


def test_no_words_are_answered_with_help_and_a_failure(command: Command) -> None:
    """Nothing was exported."""
    assert command() == (1, f"{cli.HELP}\n", "")


# --- Errors of the command -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "count", "expected"),
    [("show", 0, "1"), ("show", 2, "1"), ("card", 0, "1"), ("card", 2, "1"), ("diff", 0, "2"), ("diff", 1, "2"),
     ("diff", 3, "2"), ("verify", 0, "one or more")],
)  # fmt: skip
def test_a_wrong_number_of_files_is_refused(
    command: Command, bundle: Path, action: str, count: int, expected: str
) -> None:
    """Found and expected are named."""
    assert command.error(action, *[bundle] * count) == (
        f"{action} takes {expected} file(s), found {count}; see --help."
    )


@pytest.mark.parametrize(("action", "count"), [("show", 1), ("verify", 1), ("diff", 2), ("card", 1)])
def test_files_that_are_no_bundles_are_refused(command: Command, tmp_path: Path, action: str, count: int) -> None:
    """Missing, a directory, something else; no card is written of them."""
    path = tmp_path / "some.onnx"
    for kind in ("missing", "directory", "text"):
        if kind == "directory":
            path.mkdir()
        elif kind == "text":
            path.rmdir()
            path.write_text("weights")
        assert command.error(action, *[path] * count).startswith(f"{path}: ")
        assert not path.with_suffix(".md").exists()


def without_policy(run: Path) -> None:
    (run / "policy.h5").unlink()


def with_text_as_policy(run: Path) -> None:
    (run / "policy.h5").write_text("weights")


def with_half_a_policy(run: Path) -> None:
    content = (run / "policy.h5").read_bytes()
    (run / "policy.h5").write_bytes(content[: len(content) // 2])


def with_a_group_as_layer(run: Path) -> None:
    with h5py.File(run / "policy.h5", "r+") as file:
        del file["head"]
        file.create_group("head")


def with_a_layer_of_another_shape(run: Path) -> None:
    with h5py.File(run / "policy.h5", "r+") as file:
        del file["second"]
        file["second"] = np.zeros((8, 9), dtype=np.float32)


def with_nan(run: Path) -> None:
    with h5py.File(run / "policy.h5", "r+") as file:
        file["first"][2, 3] = np.nan


def of_another_task(run: Path) -> None:
    skill_policy(size=17).write(run / "policy.h5")


def with_text(name: str, text: str) -> Callable[[Path], object]:
    """Puts a text in the place of a file of the run."""
    return lambda run: (run / name).write_text(text)


METRICS_FILE = "evaluation/metrics.json"
DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no policy": (without_policy, "policy.h5: not a skill policy ("),
    "a text": (with_text_as_policy, "policy.h5: not a skill policy ("),
    "half a policy": (with_half_a_policy, "policy.h5: not a skill policy ("),
    "a group as a layer": (with_a_group_as_layer, "policy.h5: not a skill policy ("),
    "a layer of another shape": (with_a_layer_of_another_shape, "layers do not fit each other and 12 joints ("),
    "not a number": (with_nan, "first holds numbers that are not finite"),
    "another task": (of_another_task, "observes 17 numbers, which fits no task"),
    "metrics that are no JSON": (with_text(METRICS_FILE, "{"), "metrics.json: cannot be read (Expecting"),
    "metrics with NaN": (with_text(METRICS_FILE, '{"skills": [NaN]}'), "metrics.json: cannot be read (NaN is not a n"),
    "metrics in a list": (with_text(METRICS_FILE, "[]"), "metrics.json: holds a list, expected a dictionary"),
    "metrics without skills": (with_text(METRICS_FILE, "{}"), "metrics.json: not written by solo-eval ('skills')"),
    "metrics without a number": (
        with_text(METRICS_FILE, '{"skills": [{"skill": 0}]}'),
        "metrics.json: not written by solo-eval ('return_pct')",
    ),
    "metrics of another kind": (with_text(METRICS_FILE, '{"skills": 5}'), "metrics.json: not written by solo-eval ("),
    "a selection of another kind": (
        with_text(METRICS_FILE, json.dumps(METRICS | {"selected": 5})),
        "metrics.json: not written by solo-eval (",
    ),
    "an origin that is no JSON": (with_text("provenance.json", ""), "provenance.json: cannot be read (Expecting value"),
    "an origin in a list": (with_text("provenance.json", "[]"), "provenance.json: holds a list"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_run_is_refused(command: Command, evaluated_run: Path, name: str) -> None:
    """With one line, and without a bundle."""
    damage, reason = DAMAGE[name]
    damage(evaluated_run)
    evaluated_as_it_is(evaluated_run)
    assert reason in command.error(evaluated_run)
    assert list(evaluated_run.glob("*.onnx")) == []
    assert list(evaluated_run.glob(".*")) == []


@pytest.mark.usefixtures("same_software")
def test_a_policy_with_a_damaged_byte_is_refused_or_exported(command: Command, plain_run: Path) -> None:
    """HDF5 has no checksum and many errors; the command has one."""
    rng, path = np.random.default_rng(10), plain_run / "policy.h5"
    content, codes = path.read_bytes(), []
    for _ in range(60):
        damaged = bytearray(content)
        damaged[rng.integers(0, len(content) // 2)] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        code, _, errors = command(plain_run)
        codes.append(code)
        assert errors.count("\n") == code
    assert {*codes} == {0, 1}


@pytest.mark.parametrize("kind", ["missing", "text", "other task"])
def test_a_checkpoint_that_does_not_serve_is_refused(command: Command, tmp_path: Path, kind: str) -> None:
    """With one line, and without a bundle."""
    path = tmp_path / "model.pt"
    if kind == "text":
        path.write_text("weights")
    elif kind == "other task":
        torch.save(our_checkpoint(replace(VELOCITY, observations=50)), path)
    reasons = {
        "missing": f"{path}: no such file. Expected a DOMiNiC checkpoint",
        "text": f"{path}: not a checkpoint that can be read safely",
        "other task": "The policy observes 50 numbers, which fits no task of ours",
    }
    assert command.error(path).startswith(reasons[kind])
    assert list(tmp_path.glob("*.onnx")) == []


def test_a_run_that_does_not_exist_is_refused(command: Command, tmp_path: Path) -> None:
    """As is a file that is none."""
    assert "policy.h5: not a skill policy (" in command.error(tmp_path / "absent")
    (tmp_path / "file").write_text("")
    assert "policy.h5: not a skill policy (" in command.error(tmp_path / "file")


def test_a_place_that_cannot_be_written_is_refused(command: Command, plain_run: Path, tmp_path: Path) -> None:
    """A directory of that name, or a file where a directory must be."""
    (tmp_path / "file").write_text("")
    for out in (plain_run, tmp_path / "file" / "skills.onnx"):
        assert command.error(plain_run, "--out", out).startswith(f"{out}: cannot be written (")


def test_the_command_works_as_a_program(bundle: Path, tmp_path: Path) -> None:
    """Exit codes and streams as a shell sees them, without a traceback."""
    start = [sys.executable, "-c", "from deploy.export.cli import main; main()"]
    good = subprocess.run([*start, "verify", str(bundle)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (good.returncode, good.stderr) == (0, "")
    bad = subprocess.run([*start, "verify", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr.startswith(f"solo-export: {tmp_path}: no such file")
    assert bad.stderr.count("\n") == 1


def test_an_evaluation_of_another_policy_is_refused(command: Command, evaluated_run: Path) -> None:
    """Or a skill that nobody has seen walk would be called selected."""
    path = evaluated_run / "evaluation" / "metrics.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"made_from": {"policy": "0" * 64}}))
    assert "metrics.json: is about another policy (000000000000 for " in command.error(evaluated_run)
