"""Bundles: a good file loads and runs; any other file is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from solo_doi.common.errors import MissingPackageError
from solo_doi.policies.bundle.contract import BundleError, Contract, digest
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.seal import FILE_HASH, NO_HASH, seal
from tests.policies.bundles import (
    POLICIES,
    SKILLS,
    assert_unsealed,
    metadata,
    refusal,
    skill_policy,
    write,
)

# --- A good file ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POLICIES)
def test_a_good_file_describes_itself(name: str, tmp_path: Path) -> None:
    """The bundle gives its task, sizes, hash and parity error."""
    task, build = POLICIES[name]
    policy, path = build(), tmp_path / "skills.onnx"
    bundle = Bundle(write(path, policy))
    assert (bundle.contract.task, bundle.path) == (task, path)
    assert (bundle.num_skills, bundle.observation_size) == (
        policy.num_skills,
        policy.observation_size,
    )
    assert bundle.contract == Contract.parse(metadata(path)["solo12.contract"], "here")
    assert bundle.parity["largest_difference"] <= 1e-5
    blank = path.read_bytes().replace(bundle.hash.encode(), NO_HASH)
    assert bundle.hash == digest(blank)


def test_an_action_needs_no_batch_of_skills(path: Path) -> None:
    """One skill serves all rows, with any integer type; each row may also have its own."""
    bundle, policy = Bundle(path), skill_policy()
    observation = np.random.default_rng(0).standard_normal((4, 48))
    choices: list[int | np.ndarray] = [
        2,
        np.array(1),
        np.array([2, 0, 1, 2]),
        np.array([0, 0, 1, 1], dtype=np.int32),
    ]
    for skill in choices:
        expected = policy.mean_action(observation.astype(np.float32), skill)
        np.testing.assert_allclose(bundle.mean_action(observation, skill), expected, atol=1e-5)


@pytest.mark.parametrize("skill", [-1, SKILLS, [0, SKILLS], [-1, 0]])
def test_a_skill_that_does_not_exist_is_refused(path: Path, skill: int | list[int]) -> None:
    """Negative skills are refused as well, which the graph would count from the end."""
    bundle, observation = Bundle(path), np.zeros((2, 48), dtype=np.float32)
    with pytest.raises(BundleError, match=r"does not exist: .*skills\.onnx has skills 0 to 2"):
        bundle.mean_action(observation, np.array(skill))
    with pytest.raises(BundleError, match="does not exist"):
        bundle.run(observation, np.broadcast_to(np.array(skill), 2))


@pytest.mark.parametrize("shape", [(1, 47), (1, 171), (48,), (1, 1, 48), ()])
def test_an_observation_of_another_shape_is_refused(path: Path, shape: tuple[int, ...]) -> None:
    """The error contains both shapes."""
    with pytest.raises(BundleError, match=r"takes \(B, 48\) numbers, found \("):
        Bundle(path).run(np.zeros(shape, dtype=np.float32), np.zeros(1, dtype=np.int64))


def test_one_observation_is_answered_like_a_batch(path: Path) -> None:
    """`run_one` uses another call of onnxruntime; earlier results must not change."""
    bundle, rng = Bundle(path), np.random.default_rng(3)
    kept = []
    for number in range(10):
        observation, skill = (
            rng.standard_normal(bundle.observation_size).astype(np.float32),
            number % SKILLS,
        )
        found, expected = (
            bundle.run_one(observation, skill),
            bundle.run(observation[None], np.array([skill])),
        )
        np.testing.assert_array_equal(found, [part[0] for part in expected])
        kept.append((found, [part[0] for part in expected]))
    for found, expected in kept:
        np.testing.assert_array_equal(found, expected)
    for skill in (-1, SKILLS):
        with pytest.raises(BundleError, match=f"Skill {skill} does not exist"):
            bundle.run_one(np.zeros(bundle.observation_size, np.float32), skill)


# --- Dependencies --------------------------------------------------------------------------------


def test_loading_a_bundle_needs_numpy_and_onnxruntime_alone(path: Path) -> None:
    """A robot's computer has few packages; import and use load no heavy one."""
    heavy = {"torch", "onnx", "h5py", "mujoco", "pybullet", "yaml", "rich", "tyro", "deploy"}
    program = (
        "import sys; from pathlib import Path; from solo_doi.policies.bundle.reader import Bundle\n"
        f"print(sorted({heavy!r} & set(sys.modules)), 'onnxruntime' in sys.modules)\n"
        f"Bundle(Path({str(path)!r}))\n"
        f"print(sorted({heavy!r} & set(sys.modules)), 'onnxruntime' in sys.modules)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ
    )
    assert result.stdout.splitlines() == ["[] False", "[] True"]
    assert result.stderr == ""


def test_the_error_without_onnxruntime_names_the_package(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is one line."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(
        MissingPackageError,
        match=r"needs the package 'onnxruntime'.*pip install 'solo-doi\[robot\]'",
    ):
        Bundle(path)


# --- Other files ---------------------------------------------------------------------------------


def ordinary_model() -> onnx.ModelProto:
    """Return a model without entries of this project."""
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 48]) for name in ("x", "y")
    ]
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])], "ordinary", ends[:1], ends[1:]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_an_ordinary_model_is_refused(tmp_path: Path) -> None:
    """It has no seal; with a seal, it still lacks a contract."""
    path, model = tmp_path / "model.onnx", ordinary_model()
    assert_unsealed(path, model.SerializeToString())
    model.metadata_props.add(key=FILE_HASH, value=NO_HASH.decode())
    path.write_bytes(seal(model.SerializeToString()))
    missing = "solo12.contract, solo12.parity, solo12.test_vectors"
    assert f"a model without {missing}: not written by solo-export" in refusal(path)


def test_a_hash_that_is_no_entry_of_the_model_does_not_count(tmp_path: Path) -> None:
    """The hash may occur in any text of the file."""
    path, model = tmp_path / "model.onnx", ordinary_model()
    model.metadata_props.add(key="note", value=f"{FILE_HASH}\x12\x40{NO_HASH.decode()}")
    path.write_bytes(seal(model.SerializeToString()))
    assert "a model without solo12.contract, solo12.file_sha256" in refusal(path)


def test_sealed_bytes_that_are_no_model_are_refused(tmp_path: Path) -> None:
    """The error is one line of onnxruntime's message."""
    path = tmp_path / "model.onnx"
    path.write_bytes(seal(b"model " + FILE_HASH.encode() + b"\x12\x40" + NO_HASH))
    assert "not a model that can be read (" in refusal(path)


def test_no_file_a_directory_and_an_empty_file_are_refused(tmp_path: Path) -> None:
    """The error describes the expected file."""
    assert "no such file. Expected a bundle written by solo-export" in refusal(
        tmp_path / "absent.onnx"
    )
    assert refusal(tmp_path) == f"{tmp_path}: a directory. Expected a bundle."
    (tmp_path / "skills.onnx").touch()
    assert refusal(tmp_path).endswith(
        f"a directory. Expected a bundle; did you mean {tmp_path}/skills.onnx?"
    )
    assert_unsealed(tmp_path / "empty.onnx", b"")


def test_a_file_that_may_not_be_read_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error contains the reason of the operating system."""

    def refuse(self: Path, mode: str) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert "cannot be read (Permission denied)" in refusal(path)
