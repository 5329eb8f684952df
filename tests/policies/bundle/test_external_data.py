"""Bundles with numbers in other files, and bytes that are no model."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import onnx
import pytest

from solo_doi.common.untrusted import UntrustedFileError
from solo_doi.policies.bundle import reader
from solo_doi.policies.bundle.contract import BundleError
from solo_doi.policies.bundle.external_data import has_external_data
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.seal import FILE_HASH, NO_HASH, seal
from solo_doi.policies.bundle.shipped import SHIPPED
from tests.sizes import size


def outside(tensor: onnx.TensorProto) -> None:
    """Let a tensor keep its numbers in another file."""
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "/etc/passwd"


def in_initializer(graph: onnx.GraphProto) -> None:
    """Spoil a weight of the graph."""
    outside(graph.initializer[0])


def in_constant(graph: onnx.GraphProto) -> None:
    """Spoil the value of a constant node."""
    node = onnx.helper.make_node("Constant", [], ["hostile"], value=onnx.TensorProto())
    graph.node.append(node)
    outside(graph.node[-1].attribute[0].t)


def in_subgraph(graph: onnx.GraphProto) -> None:
    """Spoil a weight of a branch inside a node."""
    branch = onnx.GraphProto(name="branch")
    branch.initializer.add()
    outside(branch.initializer[0])
    graph.node.append(onnx.helper.make_node("If", ["skill"], ["hostile"], then_branch=branch))


def in_sparse(graph: onnx.GraphProto) -> None:
    """Spoil the values of a sparse weight."""
    outside(graph.sparse_initializer.add().values)


@pytest.mark.parametrize("spoil", [in_initializer, in_constant, in_subgraph, in_sparse])
def test_numbers_in_other_files_are_refused(
    spoil: Callable[[onnx.GraphProto], None], tmp_path: Path
) -> None:
    """The runtime never sees the file, although its hash fits."""
    model = onnx.load(SHIPPED)
    spoil(model.graph)
    for entry in model.metadata_props:
        if entry.key == FILE_HASH:
            entry.value = NO_HASH.decode()
    path = tmp_path / "skills.onnx"
    path.write_bytes(seal(model.SerializeToString()))
    with pytest.raises(BundleError, match=r"keeps numbers in other files\. A bundle is one file"):
        Bundle(path)


def test_the_shipped_bundle_is_one_file() -> None:
    """The search reads all of it."""
    assert not has_external_data(SHIPPED.read_bytes())


def test_spoiled_bytes_never_raise_anything_else() -> None:
    """Random bytes and spoiled models are searched, or refused as no protocol buffer."""
    rng = random.Random(5)
    model = SHIPPED.read_bytes()[:4000]
    for _ in range(size(300, 20_000)):
        content = bytearray(model[: rng.randrange(1, len(model))])
        for _ in range(rng.randrange(8)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        with suppress(ValueError):
            has_external_data(bytes(content))


def wrapped(tag: int, content: bytes) -> bytes:
    """Return a field of a protocol buffer with other fields inside."""
    length, encoded = len(content), bytearray([tag])
    while length >= 0x80:
        encoded.append(length & 0x7F | 0x80)
        length >>= 7
    encoded.append(length)
    return bytes(encoded) + content


@pytest.mark.parametrize(("depth", "refused"), [(5, False), (2000, True)])
def test_deep_nesting_is_refused(depth: int, refused: bool) -> None:
    """It would exhaust the stack of this reader or of the runtime."""
    graph = b""
    for _ in range(depth):  # graph of an attribute, attribute of a node, node of a graph
        graph = wrapped(0x0A, wrapped(0x2A, wrapped(0x32, graph)))
    model = wrapped(0x3A, graph)
    if not refused:
        assert not has_external_data(model)
        return
    with pytest.raises(ValueError, match="nested too deeply"):
        has_external_data(model)


def test_a_bundle_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of any size in the place of a bundle does not fill the memory."""
    monkeypatch.setattr(reader, "LARGEST_BUNDLE", 1000)
    path = tmp_path / "skills.onnx"
    path.write_bytes(bytes(1001))
    with pytest.raises(UntrustedFileError, match="larger than"):
        Bundle(path)
