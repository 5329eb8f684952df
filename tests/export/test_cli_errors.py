"""The command solo-export: one-line errors for invalid input."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from tests.command import Command
from tests.policies.bundles import skill_policy
from tests.policies.checkpoints import VELOCITY, our_checkpoint

from .runs import METRICS, evaluated_as_it_is


@pytest.mark.parametrize(
    ("action", "count"),
    [("show", 0), ("show", 2), ("card", 0), ("card", 2), ("diff", 0), ("diff", 1), ("diff", 3)],
)
def test_a_wrong_number_of_files_is_refused(
    command: Command, bundle: Path, action: str, count: int
) -> None:
    """The line describes the missing file or names the surplus one."""
    code, output, errors = command(action, *[bundle] * count)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    few = count == 0 or (action, count) == ("diff", 1)
    found = "PATH Bundle" if few else f"Unrecognized options: {bundle}"
    assert errors.startswith(f"solo-export {action}: ")
    assert found in errors
    assert errors.endswith(f"See solo-export {action} --help.\n")


@pytest.mark.parametrize("words", [["verify"], ["sign", "some.key"]])
def test_no_files_are_refused(command: Command, words: list[str]) -> None:
    """At least one bundle is needed for checking and signing."""
    expected = f"{words[0]} takes one or more bundles, found none; see --help."
    assert command.error(*words) == expected


@pytest.mark.parametrize(
    ("action", "count"), [("show", 1), ("verify", 1), ("diff", 2), ("card", 1)]
)
def test_files_that_are_no_bundles_are_refused(
    command: Command, tmp_path: Path, action: str, count: int
) -> None:
    """The file is missing, a directory or of another kind; no card is written."""
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
    """Return a function that replaces a file of the run by a text."""
    return lambda run: (run / name).write_text(text)


METRICS_FILE = "evaluation/metrics.json"
DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no policy": (
        without_policy,
        "policy.h5: not a skill policy (No such file or directory). Expected policy.h5 of",
    ),
    "a text": (with_text_as_policy, "policy.h5: not a skill policy ("),
    "half a policy": (with_half_a_policy, "policy.h5: not a skill policy ("),
    "a group as a layer": (with_a_group_as_layer, "policy.h5: not a skill policy ("),
    "a layer of another shape": (
        with_a_layer_of_another_shape,
        "layers do not fit each other and 12 joints (",
    ),
    "not a number": (with_nan, "first holds numbers that are not finite"),
    "another task": (of_another_task, "observes 17 numbers, task 'locomotion' has 48"),
    "metrics that are no JSON": (
        with_text(METRICS_FILE, "{"),
        "metrics.json: cannot be read (Expecting",
    ),
    "metrics with NaN": (
        with_text(METRICS_FILE, '{"skills": [NaN]}'),
        "metrics.json: cannot be read (NaN is not a n",
    ),
    "metrics in a list": (
        with_text(METRICS_FILE, "[]"),
        "metrics.json: holds a list, expected a dictionary",
    ),
    "metrics without skills": (
        with_text(METRICS_FILE, "{}"),
        "metrics.json: not written by solo-eval ('skills')",
    ),
    "metrics without a number": (
        with_text(METRICS_FILE, '{"skills": [{"skill": 0}]}'),
        "metrics.json: not written by solo-eval ('return_pct')",
    ),
    "metrics of another kind": (
        with_text(METRICS_FILE, '{"skills": 5}'),
        "metrics.json: not written by solo-eval (",
    ),
    "a selection of another kind": (
        with_text(METRICS_FILE, json.dumps(METRICS | {"selected": 5})),
        "metrics.json: not written by solo-eval (",
    ),
    "a selection without its rule": (
        with_text(METRICS_FILE, json.dumps(METRICS | {"selection": {"selected": [0]}})),
        "metrics.json: not written by solo-eval ('rule')",
    ),
    "an origin that is no JSON": (
        with_text("provenance.json", ""),
        "provenance.json: cannot be read (Expecting value",
    ),
    "no configuration": (
        lambda run: (run / "config.yaml").unlink(),
        "not a run of solo-train, it has no config.yaml",
    ),
    "an origin in a list": (with_text("provenance.json", "[]"), "provenance.json: holds a list"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_run_is_refused(command: Command, evaluated_run: Path, name: str) -> None:
    """The error is one line, and no bundle is written."""
    damage, reason = DAMAGE[name]
    damage(evaluated_run)
    evaluated_as_it_is(evaluated_run)
    assert reason in command.error(evaluated_run)
    assert list(evaluated_run.glob("*.onnx")) == []
    assert list(evaluated_run.glob(".*")) == []


@pytest.mark.usefixtures("same_software")
def test_a_policy_with_a_damaged_byte_is_refused_or_exported(
    command: Command, plain_run: Path
) -> None:
    """HDF5 has no checksum and raises many errors; the command raises one kind."""
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
def test_a_checkpoint_that_does_not_serve_is_refused(
    command: Command, tmp_path: Path, kind: str
) -> None:
    """The error is one line, and no bundle is written."""
    path = tmp_path / "model.pt"
    if kind == "text":
        path.write_text("weights")
    elif kind == "other task":
        torch.save(our_checkpoint(replace(VELOCITY, observations=50)), path)
    reasons = {
        "missing": f"{path}: no such file. Expected a DOMiNiC checkpoint",
        "text": f"{path}: not a checkpoint that can be read safely",
        "other task": "The policy observes 50 numbers, task 'locomotion' has 48",
    }
    assert command.error(path, "--task", "locomotion").startswith(reasons[kind])
    assert list(tmp_path.glob("*.onnx")) == []


def test_a_run_that_does_not_exist_is_refused(command: Command, tmp_path: Path) -> None:
    """A file in its place is refused as well."""
    (tmp_path / "file").write_text("")
    for name, found in (("absent", "no such directory"), ("file", "not a directory")):
        expected = f"{tmp_path / name}: {found}. Expected a run of solo-train or a .pt checkpoint."
        assert command.error(tmp_path / name) == expected


def test_a_place_that_cannot_be_written_is_refused(
    command: Command, plain_run: Path, tmp_path: Path
) -> None:
    """The path is a directory, or a file is in the place of a folder."""
    (tmp_path / "file").write_text("")
    for out in (plain_run, tmp_path / "file" / "skills.onnx"):
        assert command.error(plain_run, "--out", out).startswith(f"{out}: cannot be written (")


def test_an_evaluation_of_another_policy_is_refused(command: Command, evaluated_run: Path) -> None:
    """Otherwise a skill that was never evaluated would count as selected."""
    path = evaluated_run / "evaluation" / "metrics.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"made_from": {"policy": "0" * 64}}))
    assert "metrics.json: is about another policy (000000000000 for " in command.error(
        evaluated_run
    )
