"""Sealed files with a wrong contract, graph or weights are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from solo_doi.policies.bundle.contract import BundleError, canonical
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.solo12.constants import JOINT_NAMES
from solo_doi.solo12.observation import LAYOUTS
from tests.policies.bundles import (
    SKILLS,
    contract,
    masked_policy,
    metadata,
    refusal,
    skill_policy,
    spoiled,
    with_texts,
    write,
)

# --- The contract --------------------------------------------------------------------------------


SWAPPED = (*JOINT_NAMES[3:6], *JOINT_NAMES[:3], *JOINT_NAMES[6:])
TERMS = contract().observation
SQUARE = tuple(
    {"name": t.name, "size": t.size, "unit": "", "frame": ""} for t in LAYOUTS["navigation"].terms
)
CONTRACTS: dict[str, tuple[dict[str, object], str]] = {
    "joints in another order": (
        {"joint_names": SWAPPED},
        "joints FR_HAA, FR_HFE, FR_KFE, FL_HAA, .* not Solo12's in this project's order FL_HAA, ",
    ),
    "a joint too few": ({"joint_names": JOINT_NAMES[:-1]}, "are not Solo12's"),
    "terms in another order": (
        {"observation": TERMS[::-1]},
        r"observes \[\('command', 3\).*this program builds \[\('l",
    ),
    "a term too few": (
        {"observation": TERMS[:-1]},
        r"'previous_action', 12\)\], this program builds .*'command', 3\)",
    ),
    "a term of another size": (
        {"observation": ({**TERMS[0], "size": 2}, *TERMS[1:])},
        r"observes \[\('linear_v.*', 2",
    ),
    "an envelope without an end": (
        {"envelope": {"low": (0.0,) * 48}},
        "envelope needs low and high with 48 numbers each, found ",
    ),
    "a command of another size": (
        {"command_range": {"low": (0.0,), "high": (1.0,)}},
        "command_range needs low and high with 3 numbers each, found ",
    ),
    "a term without a name": (
        {"observation": ({"size": 3}, *TERMS[1:])},
        r"observes \[\(None, 3\)",
    ),
    "an unknown task": (
        {"task": "jumping"},
        "made for task 'jumping', expected one of locomotion, navigation",
    ),
    "another robot": ({"robot": "go1"}, "made for robot 'go1', expected 'solo12'"),
    "another known task": ({"task": "navigation"}, "this program builds .*height_scan"),
    "another known task with its terms": (
        {
            "task": "navigation",
            "observation": SQUARE,
            "envelope": {"low": (0.0,) * 171, "high": (1.0,) * 171},
        },
        r"its graph has .*'batch', 48\].*, its contract expects .*'batch', 171\]",
    ),
    "a skill more": ({"num_skills": SKILLS + 1}, "its test vectors must cover all 4 skills"),
    "a skill less": ({"num_skills": SKILLS - 1}, "its test vectors must cover all 2 skills"),
    "no skills": ({"num_skills": 0}, "its test vectors must cover all 0 skills"),
    "very many skills": ({"num_skills": 10**15}, "its test vectors must cover all 10+ skills"),
    "another pose": (
        {"default_pose": (0.0, *contract().default_pose[1:])},
        r"test vectors differ by 5\.0e-02",
    ),
    "a pose of a joint too few": (
        {"default_pose": contract().default_pose[:-1]},
        "implausible contract fields: default_pose ",
    ),
    "another scale": ({"action_scale": 0.5}, "test vectors differ by .*, allowed is 1e-05"),
    "other limits": ({"position_limit": (0.01,) * 12}, "test vectors differ by "),
}


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_contract_that_does_not_fit_is_refused(path: Path, name: str) -> None:
    """The message names the reason, although the hash is right."""
    changes, reason = CONTRACTS[name]
    message = refusal(with_texts(path, contract=contract(**changes).canonical()))
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(message)


@pytest.mark.parametrize("entry", ["test_vectors", "parity", "contract"])
@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "nonsense"])
def test_entries_that_are_no_json_are_refused(path: Path, entry: str, text: str) -> None:
    """All exceptions of the JSON reader become one error."""
    message = refusal(with_texts(path, **{entry: text}))
    assert "contract is not JSON" in message or "its test vectors cannot be run" in message


@pytest.mark.parametrize("entry", ["contract", "test_vectors", "parity"])
def test_mutated_entries_are_refused_or_read(path: Path, content: bytes, entry: str) -> None:
    """One letter is changed and the file is sealed again, so the seal does not detect it."""
    rng, letters = np.random.default_rng(2), '0123456789eE.+-"[]{}:,nulltruefalseNaN\u00e9 '
    text = metadata(path)[f"solo12.{entry}"]
    refused = 0
    for _ in range(60):
        place, letter = int(rng.integers(0, len(text))), letters[rng.integers(0, len(letters))]
        path.write_bytes(content)
        with_texts(path, **{entry: text[:place] + letter + text[place + 1 :]})
        try:
            Bundle(path)
        except BundleError:
            refused += 1
    assert refused > 0


def test_a_contract_of_another_key_order_is_read(path: Path) -> None:
    """The writer sorts; a reader accepts any order."""
    text = metadata(path)["solo12.contract"]
    turned = json.dumps(dict(reversed(json.loads(text).items())))
    assert canonical(json.loads(turned)) == text
    assert Bundle(with_texts(path, contract=turned)).contract.canonical() == text


# --- Weights and graph ---------------------------------------------------------------------------


def with_number(path: Path, name: str, place: int, number: float) -> Path:
    """Change one number of the bundle's weights and seal it again."""

    def spoil(model: onnx.ModelProto) -> None:
        tensor = next(tensor for tensor in model.graph.initializer if tensor.name == name)
        array = numpy_helper.to_array(tensor).copy()
        array.reshape(-1)[place % array.size] = number
        tensor.CopyFrom(numpy_helper.from_array(array, name))

    return spoiled(path, spoil)


@pytest.mark.parametrize(
    "build", [skill_policy, masked_policy, lambda: skill_policy(squashed=True)]
)
def test_weights_that_are_no_numbers_are_refused(tmp_path: Path, build: Callable) -> None:
    """The NaN is in any layer and skill; no activation hides it."""
    path = write(tmp_path / "skills.onnx", build())
    good, rng = path.read_bytes(), np.random.default_rng(3)
    tensors = [
        (t.name, int(np.prod(t.dims)))
        for t in onnx.load(path).graph.initializer
        if t.name not in ("one", "minus_one")
    ]
    assert len(tensors) >= 14
    for name, size in tensors:
        for place in rng.integers(0, size, 6).tolist():
            path.write_bytes(good)
            message = refusal(with_number(path, name, place, float("nan")))
            assert "test vectors differ by " in message, (name, place)


def test_a_number_added_to_an_output_is_seen(path: Path) -> None:
    """The check includes the step from action to joint target."""
    assert "test vectors differ by " in refusal(with_number(path, "default_pose", 3, 0.7))


def test_a_pose_that_is_infinite_is_refused(path: Path) -> None:
    """Clamping the joint targets would make it finite again."""
    assert "test vectors differ by " in refusal(with_number(path, "default_pose", 3, float("inf")))


def renamed(name: str) -> Callable[[onnx.ModelProto], None]:
    """Return a function that renames an input or output of the graph."""

    def spoil(model: onnx.ModelProto) -> None:
        for end in (*model.graph.input, *model.graph.output):
            end.name = "other" if end.name == name else end.name
        for node in model.graph.node:
            node.input[:] = ["other" if word == name else word for word in node.input]
            node.output[:] = ["other" if word == name else word for word in node.output]

    return spoil


@pytest.mark.parametrize("name", ["observation", "skill", "action", "joint_target"])
def test_a_graph_with_other_names_is_refused(path: Path, name: str) -> None:
    """The error contains the names found and expected."""
    message = refusal(spoiled(path, renamed(name)))
    found, expected = message.split(", its contract expects ")
    assert "'other'" in found
    assert f"'{name}'" in expected


def test_a_graph_with_its_outputs_swapped_is_refused(path: Path) -> None:
    """Actions would count as joint targets."""

    def spoil(model: onnx.ModelProto) -> None:
        ends = list(model.graph.output)[::-1]
        del model.graph.output[:]
        model.graph.output.extend(ends)

    assert "its graph has " in refusal(spoiled(path, spoil))
