"""Test vectors: a bundle with actions that differ from those at export is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.vectors import TestVectors
from tests.policies.bundles import SKILLS, metadata, refusal, skill_policy, with_texts, write


def test_test_vectors_come_back_bit_by_bit() -> None:
    """The numbers include some without a short form, and negative zero."""
    rng = np.random.default_rng(0)
    vectors = TestVectors(
        rng.standard_normal((5, 48)).astype(np.float32),
        np.array([0, 1, 2, 2**40, -1]),
        np.array([[1 / 3, -0.0, 1e-45, 3e38, np.nan, np.inf] * 2] * 5, dtype=np.float32),
    )
    back = TestVectors.decode(vectors.encode())
    for name, array in vars(vectors).items():
        assert getattr(back, name).tobytes() == array.tobytes()
        assert (getattr(back, name).dtype, getattr(back, name).shape) == (array.dtype, array.shape)


def test_test_vectors_are_of_every_skill(tmp_path: Path) -> None:
    """Otherwise a damaged row of one skill would not be detected.

    This also holds for more skills than the usual number of vectors.
    """
    for skills in (1, 3, 40):
        path = write(tmp_path / "skills.onnx", skill_policy(skills=skills))
        vectors = TestVectors.decode(metadata(path)["solo12.test_vectors"])
        assert {*vectors.skill.tolist()} == {*range(skills)}


def vectors_of(path: Path) -> TestVectors:
    """Return the test vectors of a file."""
    return TestVectors.decode(metadata(path)["solo12.test_vectors"])


def encoded(vectors: TestVectors, **changes: np.ndarray) -> str:
    """Return test vectors with changes, encoded as in a file."""
    return TestVectors(**(vars(vectors) | changes)).encode()


def test_test_vectors_that_come_out_otherwise_are_refused(path: Path) -> None:
    """One number is NaN, infinite, or differs by a little more than the tolerance."""
    vectors = vectors_of(path)
    for number in (2e-5, -2e-5, np.nan, np.inf):
        action = vectors.action.copy()
        action[7, 5] += number
        message = refusal(with_texts(path, test_vectors=encoded(vectors, action=action)))
        assert f"differ by {abs(number):.1e}"[:13] in message
        assert "allowed is 1e-05" in message
        assert "do not run it" in message


def test_test_vectors_within_rounding_are_accepted(path: Path) -> None:
    """Another machine may round differently."""
    vectors = vectors_of(path)
    with_texts(path, test_vectors=encoded(vectors, action=vectors.action + np.float32(5e-6)))
    assert Bundle(path).num_skills == SKILLS


@pytest.mark.parametrize("name", ["observation", "skill", "action"])
@pytest.mark.parametrize("kept", [slice(0), slice(1), slice(-1), (slice(None), slice(-1))])
def test_test_vectors_of_another_shape_are_refused(
    path: Path, name: str, kept: slice | tuple[slice, ...]
) -> None:
    """Numpy would broadcast some of them."""
    array = getattr(vectors_of(path), name)
    array = array[kept] if not isinstance(kept, tuple) or array.ndim == 2 else array[:, None]
    message = refusal(with_texts(path, test_vectors=encoded(vectors_of(path), **{name: array})))
    assert "its test vectors " in message or "takes (B, 48) numbers, found (64, 47)" in message


def test_no_test_vectors_at_all_are_refused(path: Path) -> None:
    """A check without vectors would always pass."""
    empty = {name: array[:0] for name, array in vars(vectors_of(path)).items()}
    assert "its test vectors must cover all 3 skills" in refusal(
        with_texts(path, test_vectors=encoded(vectors_of(path), **empty))
    )


def test_test_vectors_of_a_skill_that_does_not_exist_are_refused(path: Path) -> None:
    """Negative skills are refused as well."""
    vectors = vectors_of(path)
    for skill in (SKILLS, -1):
        skills = np.where(vectors.skill == 0, skill, vectors.skill)
        message = refusal(with_texts(path, test_vectors=encoded(vectors, skill=skills)))
        assert "its test vectors must cover all 3 skills" in message


@pytest.mark.parametrize(
    "part",
    [
        None,
        5,
        "text",
        [],
        {},
        {"shape": [1]},
        {"data": "AA=="},
        {"shape": [32], "data": 7},
        {"shape": [], "data": ""},
        {"shape": [10**30], "data": ""},
        {"shape": [0.5], "data": ""},
        {"shape": "32", "data": "!"},
    ],
)
@pytest.mark.parametrize("name", ["observation", "skill", "action"])
def test_json_that_is_no_test_vectors_is_refused(path: Path, name: str, part: object) -> None:
    """Keys, shapes and numbers of any kind are refused."""
    whole = json.loads(metadata(path)["solo12.test_vectors"])
    message = refusal(with_texts(path, test_vectors=json.dumps(whole | {name: part})))
    assert "its test vectors cannot be run (" in message
