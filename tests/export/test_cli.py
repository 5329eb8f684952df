"""The command solo-export: files, output and comparison."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from solo_doi.cli import export as cli
from solo_doi.policies.bundle.contract import Contract
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.shipped import SHIPPED
from solo_doi.policies.dominic_checkpoint import write_policy
from tests.command import Command
from tests.policies.bundles import SKILLS, extremes, masked_policy, skill_policy, write

from .runs import METRICS, NUMBERS, PROVENANCE, evaluated_as_it_is

ROOT = Path(__file__).parents[2]


def test_a_run_is_exported_beside_its_policy(command: Command, plain_run: Path) -> None:
    """One line names the written file; the bundle has no data about skills or training."""
    output = command.good(plain_run)
    path = plain_run / "skills.onnx"
    assert output.startswith(f"{path}: 3 skills, ")
    assert output.splitlines()[1:] == [
        f"next: solo-deploy --bundle {path} --robot pybullet --headless --fast"
    ]
    found, policy = Bundle(path), skill_policy()
    assert (found.contract.skills, set(found.contract.made_from)) == ((), {"run", "exported_with"})
    assert found.contract.made_from["run"] == "my-run"
    np.testing.assert_allclose(
        found.mean_action(extremes(policy)[:80], 1),
        policy.mean_action(extremes(policy)[:80], 1),
        atol=1e-5,
    )
    assert sorted(file.name for file in plain_run.iterdir()) == [
        "config.yaml",
        "policy.h5",
        "skills.onnx",
    ]


def test_the_bundle_contains_evaluation_and_provenance(
    command: Command, evaluated_run: Path, tmp_path: Path
) -> None:
    """The bundle contains skills with their selection, the data and the training software."""
    out = tmp_path / "new" / "robot.onnx"
    command.good(evaluated_run, "--out", out)
    contract = Bundle(out).contract
    assert contract.skills[0] == {"skill": 0, "selected": True, **NUMBERS, "frequency": 2.5}
    assert contract.skills[1] == {"skill": 1, "selected": False, **NUMBERS, "frequency": None}
    assert [skill["selected"] for skill in contract.skills] == [True, False, True]
    assert {name: contract.made_from[name] for name in PROVENANCE} == PROVENANCE
    assert not (evaluated_run / "skills.onnx").exists()


def test_without_a_transfer_the_selection_is_unknown(command: Command, evaluated_run: Path) -> None:
    """Without a transfer test, the selection is None, not False."""
    without = {"skills": METRICS["skills"]}
    (evaluated_run / "evaluation" / "metrics.json").write_text(json.dumps(without))
    evaluated_as_it_is(evaluated_run)
    command.good(evaluated_run)
    assert [
        skill["selected"] for skill in Bundle(evaluated_run / "skills.onnx").contract.skills
    ] == [None] * SKILLS


def test_the_run_is_named_also_from_within(
    command: Command, plain_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`solo-export .` finds the name of the directory."""
    monkeypatch.chdir(plain_run)
    command.good(".")
    assert Bundle(Path("skills.onnx")).contract.made_from["run"] == "my-run"


def test_a_checkpoint_is_exported_beside_itself(command: Command, tmp_path: Path) -> None:
    """The bundle has the skills of the checkpoint's masks."""
    path = tmp_path / "model_7.pt"
    write_policy(path, masked_policy())
    command.good(path, "--task", "locomotion")
    found, policy = Bundle(tmp_path / "model_7.onnx"), masked_policy()
    assert found.contract.made_from["checkpoint"] == "model_7.pt"
    observation = extremes(policy)[:120]
    for skill in range(SKILLS):
        np.testing.assert_allclose(
            found.mean_action(observation, skill), policy.mean_action(observation, skill), atol=1e-5
        )


def test_a_bundle_is_shown_as_json(command: Command, bundle: Path) -> None:
    """The output is the whole contract."""
    shown = json.loads(command.good("show", bundle))
    assert Contract.parse(json.dumps(shown), "shown") == Bundle(bundle).contract


def test_bundles_are_verified(command: Command, bundle: Path, tmp_path: Path) -> None:
    """Each good bundle has one line; a damaged one among them is an error."""
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
    """The output is empty."""
    assert command.good("diff", bundle, bundle) == ""


@pytest.mark.usefixtures("same_software")
def test_differences_are_printed_with_both_values(command: Command, tmp_path: Path) -> None:
    """The output contains only the differences."""
    bundle, other = (
        write(tmp_path / "one.onnx"),
        write(tmp_path / "other.onnx", skill_policy(skills=5)),
    )
    assert command.good("diff", bundle, other) == "num_skills:\n  3\n  5\n"


def test_a_card_lists_every_skill(command: Command, evaluated_run: Path) -> None:
    """The card has the header of model hubs, the hash and a complete table."""
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


def test_a_card_quotes_the_rule_of_selection(command: Command, evaluated_run: Path) -> None:
    """The card repeats the rule of solo-eval; without a selection there is none."""
    metrics = METRICS | {
        "selection": {"rule": "at least 90% of rollouts, in each of 8 conditions: mujoco (30)"}
    }
    (evaluated_run / "evaluation" / "metrics.json").write_text(json.dumps(metrics))
    evaluated_as_it_is(evaluated_run)
    command.good(evaluated_run)
    command.good("card", evaluated_run / "skills.onnx")
    text = (evaluated_run / "skills.md").read_text()
    assert text.endswith(
        "\n\nSelected skills have at least 90% of rollouts, in each of 8 conditions: mujoco (30).\n"
    )


def test_a_card_states_that_skills_were_not_evaluated(command: Command, plain_run: Path) -> None:
    """The card has this sentence instead of a table."""
    command.good(plain_run)
    command.good("card", plain_run / "skills.onnx")
    text = (plain_run / "skills.md").read_text()
    assert "Its skills have not been evaluated." in text
    assert "|" not in text


def test_bundles_of_the_package_are_known_by_name(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names work as in solo-deploy; the card is written to the working directory."""
    monkeypatch.chdir(tmp_path)
    assert command.good("verify", "locomotion") == f"locomotion: {Bundle(SHIPPED).hash[:12]} good\n"
    assert json.loads(command.good("show", "locomotion"))["task"] == "locomotion"
    assert command.good("diff", "locomotion", SHIPPED) == ""
    assert command.good("card", "locomotion") == "locomotion.md\n"
    assert [path.name for path in tmp_path.iterdir()] == ["locomotion.md"]
    assert command.error("show", "dance").startswith(
        "dance: no such file, nor a bundle that comes with the package."
    )


@pytest.mark.parametrize(
    "words", [["--help"], ["-h"], ["show", "--help"], ["runs/some", "--help"], ["verify", "-h"]]
)
def test_help_is_no_error(command: Command, words: list[str]) -> None:
    """`--help` works at any position; the help lists every sub-command."""
    output = command.good(*words)
    verb = words[0] if words[0] in ("show", "verify") else ""
    assert output.startswith(f"usage: solo-export {verb}".strip() + " [-h]")
    if not verb:
        assert all(f"solo-export {action.name}: " in output for action in cli.PROGRAM.verbs)


def test_no_words_are_answered_with_help_and_a_failure(command: Command) -> None:
    """The exit code is 1, because no bundle was written."""
    code, output, errors = command()
    assert (code, errors) == (1, "")
    assert output == command.good("--help")


def test_the_command_works_as_a_program(bundle: Path, tmp_path: Path) -> None:
    """Exit codes and streams are those of a shell command, without a traceback."""
    start = [sys.executable, "-c", "from solo_doi.cli.export import main; main()"]
    good = subprocess.run(
        [*start, "verify", str(bundle)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (good.returncode, good.stderr) == (0, "")
    bad = subprocess.run(
        [*start, "verify", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr.startswith(f"solo-export: {tmp_path}: a directory. Expected a bundle. ")
    assert bad.stderr.count("\n") == 1
