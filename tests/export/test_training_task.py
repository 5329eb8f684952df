"""Bundles have the recorded task of their training, not a task with matching sizes."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import solo_doi
from solo_doi.common.errors import SoloError
from solo_doi.data.d4rl import write_d4rl
from solo_doi.data.dataset import read_transitions
from solo_doi.data.labels import FOREIGN_TERM
from solo_doi.evaluate.shipped import SHIPPED_EXPERT
from solo_doi.export.export_bundle import export_bundle
from solo_doi.export.training_task import task_of_checkpoint, task_of_run
from solo_doi.solo12.constants import JOINT_NAMES
from solo_doi.solo12.observation import LAYOUTS
from tests.algorithm.runs import tiny, write_made_up
from tests.command import Command

from .runs import CONFIG, PROVENANCE

TERMS = [{"name": term.name, "size": term.size} for term in LAYOUTS["locomotion"].terms]
COLLECTED = Path(__file__).parents[2] / "collect" / "checkpoints" / "locomotion"


def recorded(run: Path, terms: object) -> Path:
    """Return the run with a record of observation terms."""
    (run / "provenance.json").write_text(json.dumps(PROVENANCE | {"observation": terms}))
    return run


def refusal(command: Command, run: Path) -> str:
    """Return the error line of a refused run; no bundle is written."""
    error = command.error(run)
    assert not (run / "skills.onnx").exists()
    return error


@pytest.mark.parametrize("task", ["gym", "walker2d", "ant"])
def test_a_gym_policy_of_the_same_size_is_refused(
    command: Command, plain_run: Path, task: str
) -> None:
    """48 observations and 12 actions do not identify a Solo12 policy."""
    (plain_run / "config.yaml").write_text(CONFIG.replace("task: locomotion", f"task: {task}"))
    error = refusal(command, plain_run)
    assert error.startswith(f"{plain_run / 'config.yaml'}: trained for task '{task}'. Only polic")
    assert "locomotion and navigation" in error
    assert error.endswith("with --task locomotion, then export that run.")


def test_a_run_that_names_no_task_is_refused(command: Command, plain_run: Path) -> None:
    """A robot has no default task."""
    (plain_run / "config.yaml").write_text("seed: 1\n")
    assert "config.yaml: trained for task None" in refusal(command, plain_run)


@pytest.mark.parametrize(
    "config",
    [
        CONFIG.replace("projection: []", f"projection: [{FOREIGN_TERM}]"),
        CONFIG.replace("gravity, joint_position", FOREIGN_TERM),
        "task: locomotion\n",
        "task: locomotion\nclassifier: []\n",
    ],
)
def test_a_run_without_named_terms_is_refused(
    config: str, command: Command, plain_run: Path
) -> None:
    """Data of other programs have one term, `observation`, for any task."""
    (plain_run / "config.yaml").write_text(config)
    error = refusal(command, plain_run)
    assert "config.yaml: classifier and discriminator use the terms " in error
    assert "task 'locomotion' has linear_velocity, " in error


def test_recorded_terms_count(plain_run: Path) -> None:
    """A run of this version records all terms."""
    assert task_of_run(recorded(plain_run, TERMS)) == "locomotion"
    assert export_bundle(plain_run).contract.task == "locomotion"


@pytest.mark.parametrize(
    "terms",
    [
        TERMS[::-1],
        [*TERMS[:2], TERMS[3], TERMS[2], *TERMS[4:]],
        [{**TERMS[0], "name": "velocity"}, *TERMS[1:]],
        [{**TERMS[0], "size": 4}, *TERMS[1:]],
        TERMS[:-1],
        [{"name": FOREIGN_TERM, "size": 48}],
        [],
    ],
)
def test_other_terms_are_refused(
    terms: list[dict[str, object]], command: Command, plain_run: Path
) -> None:
    """The terms are reordered, renamed, resized or missing; the total size may still be 48."""
    error = refusal(command, recorded(plain_run, terms))
    assert error.startswith(f"{plain_run / 'provenance.json'}: trained on observations ")
    assert "task 'locomotion' has linear_velocity (3), " in error


@pytest.mark.parametrize("terms", [48, "observation", [48], [{"name": "gravity"}]])
def test_a_damaged_record_is_refused(terms: object, command: Command, plain_run: Path) -> None:
    """The error is one line."""
    error = refusal(command, recorded(plain_run, terms))
    assert "'observation' is not a list of terms with name and size (" in error


def test_a_run_of_another_robot_is_refused(command: Command, plain_run: Path) -> None:
    """The error is one line, even if the observation terms have the names and sizes of Solo12's."""
    path = plain_run / "provenance.json"
    record = PROVENANCE | {"observation": TERMS, "robot": None, "joint_names": ["hip", "knee"]}
    path.write_text(json.dumps(record))
    assert refusal(command, plain_run).startswith(
        f"{path}: trained for robot None (joints hip, knee), expected 'solo12'. Train on data of "
    )
    path.write_text(json.dumps(record | {"robot": "anymal", "joint_names": 12}))
    assert "for robot 'anymal' (joints without names), expected" in refusal(command, plain_run)


def test_a_checkpoint_has_the_task_of_its_run(tmp_path: Path) -> None:
    """The shipped checkpoints have a configuration beside them instead of a run."""
    assert task_of_checkpoint(COLLECTED / "expert.pt") == "locomotion"
    checkpoint = tmp_path / "checkpoints" / "model_0.pt"
    (tmp_path / "config.yaml").write_text("task: navigation\n")
    assert task_of_checkpoint(checkpoint) == "navigation"
    assert task_of_checkpoint(checkpoint, "navigation") == "navigation"
    with pytest.raises(
        SoloError, match="trained for task 'navigation', but --task is 'locomotion'"
    ):
        task_of_checkpoint(checkpoint, "locomotion")
    (tmp_path / "config.yaml").write_text("task: gym\n")
    with pytest.raises(
        SoloError, match=r"config\.yaml: trained for task 'gym'\. Only policies for"
    ):
        task_of_checkpoint(checkpoint)


def test_a_checkpoint_without_a_record_needs_a_stated_task(
    command: Command, tmp_path: Path
) -> None:
    """The size does not determine the task."""
    path = Path(shutil.copy(SHIPPED_EXPERT, tmp_path / "model_0.pt"))
    error = command.error(path)
    assert error.startswith(f"{path}: its task is unknown, because no config.yaml ")
    assert error.endswith("State it with --task: locomotion or navigation.")
    assert "task 'dance'. Only policies for" in command.error(path, "--task", "dance")
    assert "48 numbers, task 'navigation' has 171" in command.error(path, "--task", "navigation")
    command.good(path, "--task", "locomotion")


def test_a_run_takes_no_stated_task(command: Command, plain_run: Path) -> None:
    """A run records its own task."""
    error = command.error(plain_run, "--task", "locomotion")
    assert error == f"{plain_run}: a run records its task; --task is for checkpoints (.pt) alone."


@pytest.fixture(scope="module")
def coverage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up dataset with the observation terms of locomotion and 12 actions."""
    folder = tmp_path_factory.mktemp("data") / "coverage"
    write_made_up(folder, terms={term.name: term.size for term in LAYOUTS["locomotion"].terms})
    return folder


def test_a_trained_run_records_its_terms_and_is_exported(coverage: Path, tmp_path: Path) -> None:
    """The same data make a bundle if their terms have names."""
    run = solo_doi.train(coverage, coverage, out=tmp_path / "run", config=tiny(), progress=False)
    record = json.loads(run.files.provenance.read_text())
    assert record["observation"] == TERMS
    assert (record["robot"], record["joint_names"]) == ("solo12", [*JOINT_NAMES])
    contract = export_bundle(run.path).contract
    assert (contract.task, contract.robot) == ("locomotion", "solo12")


def test_a_run_trained_on_data_of_another_robot_is_refused(coverage: Path, tmp_path: Path) -> None:
    """The joint names of the dataset's manifest decide."""
    data = replace(read_transitions(coverage), joint_names=("hip", "knee") * 6)
    run = solo_doi.train(data, data, out=tmp_path / "run", config=tiny(), progress=False)
    with pytest.raises(SoloError, match="trained for robot None"):
        export_bundle(run.path)
    assert not run.files.bundle.exists()


def test_a_run_trained_on_a_file_without_terms_is_refused(coverage: Path, tmp_path: Path) -> None:
    """D4RL files of others have no names of terms, so runs of either task are refused."""
    file = tmp_path / "foreign.hdf5"
    unnamed = {FOREIGN_TERM: slice(0, 48)}
    write_d4rl(file, replace(read_transitions(coverage), terms=unnamed, joint_names=()))
    named = replace(tiny(), projection=(FOREIGN_TERM,))
    for task in ("gym", "locomotion"):
        out = tmp_path / task
        run = solo_doi.train(file, file, out=out, config=named, task=task, progress=False)
        with pytest.raises(SoloError, match="then export that run"):
            export_bundle(run.path)
        assert not run.files.bundle.exists()
