"""Search for tensors of an ONNX file that keep their numbers in other files.

ONNX allows a tensor to name a file beside the model, which the runtime then reads. A bundle is one
file, so such a tensor is refused before the runtime sees it. The model is a protocol buffer: this
module reads its structure without the onnx package, which a robot's computer does not have.
"""

from __future__ import annotations

from collections.abc import Iterator

LENGTH_DELIMITED = 2
"""Wire type of strings, bytes and nested messages."""
WIDTHS = {1: 8, 5: 4}
"""Lengths of the wire types with a fixed width [bytes]."""
LONGEST_NUMBER = 10
"""Length of the longest number in a protocol buffer [bytes]."""
MOST_NESTED = 32
"""Deepest nesting of messages; a bundle has 4."""
MODEL_GRAPH = 7
MODEL_TRAINING = 20
MODEL_FUNCTIONS = 25
GRAPH_INITIALIZER = 5
TENSOR_EXTERNAL_DATA = 13
TENSOR_DATA_LOCATION = 14
CHILDREN = {
    "model": {MODEL_GRAPH: "graph", MODEL_TRAINING: "training", MODEL_FUNCTIONS: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", GRAPH_INITIALIZER: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
"""Nested messages by field number, as far as they can contain tensors."""


def has_external_data(model: bytes) -> bool:
    """Return True if any tensor of an ONNX model names another file.

    Raises:
        ValueError: The bytes are no protocol buffer, or it is nested too deeply.
    """
    return _search(memoryview(model), "model", 0)


def _search(message: memoryview, kind: str, depth: int) -> bool:
    if depth > MOST_NESTED:
        raise ValueError("messages are nested too deeply")
    for field, value in _fields(message):
        if kind == "tensor":
            found = field == TENSOR_EXTERNAL_DATA or (field == TENSOR_DATA_LOCATION and value != 0)
        elif isinstance(value, memoryview) and field in CHILDREN[kind]:
            found = _search(value, CHILDREN[kind][field], depth + 1)
        else:
            found = False
        if found:
            return True
    return False


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield number and value of every field of a message."""
    at = 0
    while at < len(message):
        tag, at = _number(message, at)
        wire_type = tag & 7
        value: int | memoryview
        if wire_type == 0:
            value, at = _number(message, at)
        elif wire_type == LENGTH_DELIMITED or wire_type in WIDTHS:
            length = WIDTHS.get(wire_type, 0)
            if wire_type == LENGTH_DELIMITED:
                length, at = _number(message, at)
            if length > len(message) - at:
                raise ValueError("a field is cut short")
            value = message[at : at + length]
            at += length
        else:
            raise ValueError(f"a field has the wire type {wire_type}")
        yield tag >> 3, value


def _number(message: memoryview, at: int) -> tuple[int, int]:
    """Return a number of variable length and the position behind it."""
    value = 0
    for count in range(LONGEST_NUMBER):
        if at >= len(message):
            raise ValueError("a number is cut short")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, at
    raise ValueError("a number is too long")
