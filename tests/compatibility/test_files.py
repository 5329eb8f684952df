"""Files of version 0.1 are read as version 0.1 read them."""

from __future__ import annotations

import hashlib
import json
import lzma
import shutil
from pathlib import Path

import numpy as np
import pytest

from deploy.logs.controller_replay import replay
from deploy.logs.mcap_log import export
from deploy.messages.authentication import read_key
from deploy.recorder.recorder import read_log
from deploy.robots.odri.bring_up.calibration import load
from solo_doi.data.dataset import Dataset, read_transitions
from solo_doi.policies.dominic_checkpoint import read_policy
from solo_doi.policies.skill_policy import SkillPolicy
from solo_doi.solo12.constants import JOINT_NAMES

from .arrays import FILES, SAME_MACHINE, compare_files
from .conftest import RunCommand

CONTENTS = json.loads((FILES / "contents.json").read_text())
"""Contents of the files as the readers of version 0.1 returned them."""
DATASETS = ("expert", "offline", "coverage", "demonstrations")
ROUNDING = 1e-5
"""Largest difference of numbers of order 1 that another processor computed in single precision."""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A copy of the files of 0.1 that a command may change."""
    folder = tmp_path / "files"
    shutil.copytree(FILES, folder)
    log = folder / "deployment" / "log.lcm.xz"
    log.with_suffix("").write_bytes(lzma.decompress(log.read_bytes()))
    return folder


def sha256(array: np.ndarray) -> str:
    """Hash the numbers of an array."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


@pytest.mark.parametrize("name", DATASETS)
def test_datasets_have_the_same_content(name: str, run: RunCommand) -> None:
    """Length, trajectories and all columns are equal, and the dataset passes its verification."""
    expected = CONTENTS["datasets"][name]
    dataset = Dataset(FILES / "datasets" / name)
    assert len(dataset) == expected["length"]
    assert dataset.starts().tolist() == expected["starts"]
    assert {key: sha256(dataset.column(key)) for key in expected["columns"]} == expected["columns"]
    transitions = read_transitions(FILES / "datasets" / name)
    assert sha256(transitions.observations) == expected["transitions"]["observations"]
    if expected["transitions"]["actions"] is None:
        assert transitions.actions is None
    else:
        assert transitions.actions is not None
        assert sha256(transitions.actions) == expected["transitions"]["actions"]
    run("solo-collect", "verify", FILES / "datasets" / name)


def test_datasets_are_shown_and_simulated_again(files: Path, run: RunCommand) -> None:
    """The test covers the commands that take one dataset."""
    coverage = files / "datasets" / "coverage"
    assert "120 transitions" in run("solo-collect", "inspect", coverage)
    run("solo-collect", "card", coverage)
    run("solo-collect", "repair", coverage)
    assert "observations" in run("solo-collect", "replay", files / "datasets" / "expert")


def test_policies_answer_the_same() -> None:
    """The policies are the skills of a run and a checkpoint of DOMiNiC."""
    observation = np.random.default_rng(7).normal(size=(4, 48)).astype(np.float32)
    expected = CONTENTS["mean_action"]
    skills = SkillPolicy.read(FILES / "run" / "policy.h5")
    found = skills.mean_action(observation, 1)
    np.testing.assert_allclose(found, expected["policy.h5"], atol=ROUNDING, rtol=0)
    checkpoint = read_policy(FILES / "pretrain" / "checkpoints" / "model_2.pt")
    found = checkpoint.mean_action(observation, 1)
    np.testing.assert_allclose(found, expected["model_2.pt"], atol=ROUNDING, rtol=0)


def test_a_run_is_evaluated_and_exported(files: Path, run: RunCommand) -> None:
    """The exported bundle has the contract that 0.1 wrote."""
    folder = files / "run"
    path = folder / "evaluation" / "metrics.json"
    before = json.loads(path.read_text())
    settings = ("--episodes", 4, "--steps", 100, "--pictures", "False")
    run("solo-eval", folder, *settings)
    after = json.loads(path.read_text())
    # New measures were added since; those of 0.1 are still there.
    assert before.keys() <= after.keys()
    if SAME_MACHINE:
        assert after["expert"]["return"] == before["expert"]["return"]
    run("solo-export", folder, "--out", files / "again.onnx")
    expected = json.loads((FILES / "contract.json").read_text())
    found = json.loads(run("solo-export", "show", files / "again.onnx"))
    assert found["made_from"].pop("exported_with") != expected["made_from"].pop("exported_with")
    if not SAME_MACHINE:  # the evaluated walks differ in their last digits
        assert [*found.pop("skills")[0]] == [*expected.pop("skills")[0]]
    assert found == expected


def test_a_bundle_is_read(files: Path, run: RunCommand) -> None:
    """Contract, hash, test vectors and signature are read; its card is written."""
    bundle = files / "run" / "skills.onnx"
    expected = json.loads((FILES / "contract.json").read_text())
    assert json.loads(run("solo-export", "show", bundle)) == expected
    assert " good" in run("solo-export", "verify", bundle)
    assert run("solo-export", "diff", bundle, FILES / "run" / "skills.onnx") == ""
    run("solo-export", "card", bundle)


def test_a_run_is_continued(files: Path, run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    """A complete run ends at once with unchanged weights."""
    monkeypatch.chdir(files)
    run("solo-train", "--resume", "run")
    compare_files(files / "run" / "policy.h5", FILES / "run" / "policy.h5")


def test_a_pretraining_run_is_continued_and_measured(files: Path, run: RunCommand) -> None:
    """The checkpoint stays unchanged; its walk is measured, and it is exported."""
    checkpoint = files / "pretrain" / "checkpoints" / "model_2.pt"
    run("solo-pretrain", "--resume", files / "pretrain")
    compare_files(checkpoint, FILES / "pretrain" / "checkpoints" / "model_2.pt")
    shown = run("solo-pretrain", "evaluate", checkpoint, "--episodes", 2, "--steps", 100, "--json")
    assert [json.loads(line)["skill"] for line in shown.splitlines()] == [0, 1]
    run("solo-export", checkpoint)


def test_a_log_is_replayed(files: Path) -> None:
    """The controller answers recorded states with the recorded commands.

    On the same kind of processor they are equal to the last bit.
    """
    found = replay(files / "deployment")
    assert (found.ticks, found.observations) == (1290, 10)
    assert max(found.largest, *found.terms.values()) <= ROUNDING
    if SAME_MACHINE:
        assert found.difference is None
    log = files / "deployment" / "log.lcm"
    assert export(log, files / "log.mcap") == len(list(read_log(log)))


def test_a_calibration_is_read() -> None:
    """The file contains offsets by joint name, board and date."""
    content = json.loads((FILES / "calibration.json").read_text())
    calibration = load(FILES / "calibration.json")
    assert calibration.offset.tolist() == [content["offset"][name] for name in JOINT_NAMES]
    assert (calibration.board, calibration.measured.isoformat()) == (
        content["board"],
        content["measured"],
    )


def test_a_key_is_read(tmp_path: Path) -> None:
    """A message that is signed with the key is genuine."""
    path = tmp_path / "robot.key"
    path.write_bytes((FILES / "robot.key").read_bytes())
    path.chmod(0o600)
    authority = read_key(path)
    assert authority.genuine(authority.sign(bytes(64)))


def test_a_signature_is_checked() -> None:
    """The trusted key of 0.1 accepts its bundle."""
    from solo_doi.policies.bundle.signature import check_signature

    bundle = FILES / "run" / "skills.onnx"
    assert check_signature(bundle, FILES / "sign.key.pub") == bundle.read_bytes()
