"""The seal of a bundle: a single changed byte is detected."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solo_doi.policies.bundle.contract import BundleError
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.seal import FILE_HASH, NO_HASH, is_sealed, seal
from tests.policies.bundles import assert_unsealed, metadata


def test_a_seal_holds_and_is_put_on_once(content: bytes) -> None:
    """Sealing a sealed file gives the same file."""
    assert is_sealed(content)
    assert seal(content) == content


def test_a_file_without_a_place_for_its_hash_cannot_be_sealed() -> None:
    """This is an error of the program, not of a user."""
    with pytest.raises(ValueError, match=f"no {FILE_HASH} with 64 zeros"):
        seal(b"model")
    assert not is_sealed(b"model")


def test_one_changed_byte_anywhere_is_seen(path: Path, content: bytes) -> None:
    """Changes are all over the file, mostly in weights, contract, test vectors and hash."""
    rng = np.random.default_rng(0)
    weights = onnx.load_from_string(content).graph.initializer[2].raw_data
    texts = {key: value.encode() for key, value in metadata(path).items()}
    parts = [
        weights,
        *(
            texts[f"solo12.{name}"]
            for name in ("contract", "test_vectors", "parity", "file_sha256")
        ),
    ]
    places = rng.integers(0, len(content), 150).tolist()
    for part in parts:
        start = content.index(part)
        places += (start + rng.integers(0, len(part), 40)).tolist()
    places += range(
        content.index(FILE_HASH.encode()), len(content)
    )  # name, length and the whole hash
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= int(rng.integers(1, 256))
        assert_unsealed(path, bytes(damaged))


def test_a_file_cut_off_anywhere_is_refused(path: Path, content: bytes) -> None:
    """The copy ended early, or one byte before its end."""
    for length in (
        *range(0, len(content), len(content) // 150),
        *range(len(content) - 100, len(content)),
    ):
        assert_unsealed(path, content[:length])


def test_a_file_that_goes_on_is_refused(path: Path, content: bytes) -> None:
    """The file is followed by another one, or by a single byte."""
    assert_unsealed(path, content + b"\x00")
    assert_unsealed(path, content + content[:-1])


@given(content=st.binary(max_size=2000), marked=st.booleans())
def test_random_bytes_are_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, marked: bool
) -> None:
    """The bytes may include the marker of a hash."""
    marker = FILE_HASH.encode() + b"\x12\x40" + NO_HASH if marked else b""
    assert_unsealed(tmp_path_factory.getbasetemp() / "random.onnx", content + marker + content)


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """Change, delete, double, copy or blank bytes at one to three positions."""
    damaged = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        start, goal = rng.integers(0, len(damaged), 2).tolist()
        part = bytes(damaged[start : start + int(rng.integers(1, 60))])
        kind = rng.integers(0, 5)
        if kind == 0:
            damaged[start] ^= int(rng.integers(1, 256))
        elif kind == 1:
            del damaged[start : start + len(part)]
        elif kind == 2:
            damaged[start:start] = part
        elif kind == 3:
            damaged[goal : goal + len(part)] = part
        else:
            damaged[start : start + len(part)] = bytes(len(part))
    return bytes(damaged)


def test_mutated_files_are_refused(path: Path, content: bytes) -> None:
    """All of two thousand files give the same error."""
    rng = np.random.default_rng(1)
    for _ in range(2000):
        damaged = mutated(content, rng)
        if damaged != content:
            assert_unsealed(path, damaged)


def test_mutated_files_that_are_sealed_again_are_refused_or_read(
    path: Path, content: bytes
) -> None:
    """The seal does not detect these; most fail as a model, as a contract or by other actions."""
    rng, refused = np.random.default_rng(1), 0
    for _ in range(300):
        with suppress(ValueError):  # the marker of the hash is damaged
            path.write_bytes(seal(mutated(content, rng)))
        try:
            Bundle(path)
        except BundleError:
            refused += 1
    assert refused > 200
