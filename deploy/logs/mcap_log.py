"""Logs as MCAP, the format that Foxglove and other viewers read: one JSON object per message."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deploy.messages.lcm_link import CHANNELS, decode
from deploy.recorder.recorder import read_log
from solo_doi.common.errors import MissingPackageError
from solo_doi.common.files import replacing

JSON_TYPES = {
    "double": "number",
    "int64_t": "integer",
    "int32_t": "integer",
    "int16_t": "integer",
    "int8_t": "integer",
}
"""JSON types of LCM's types; all others are strings."""


@dataclass(frozen=True)
class McapMessage:
    """One message of an MCAP file."""

    topic: str
    kind: str
    """Name of the schema."""
    schema: dict[str, object]
    """JSON schema of the content."""
    time_ns: int
    """Time of recording [ns]."""
    content: dict[str, object]


def export(log: Path, path: Path) -> int:
    """Write a log as MCAP; return its number of messages."""
    return write(_messages(log), path)


def write(messages: Iterable[McapMessage], path: Path) -> int:
    """Write messages to a file, completely or not at all; return their number.

    The schema of a topic is that of its first message.
    """
    try:
        from mcap.writer import Writer
    except ImportError as error:
        raise MissingPackageError(
            "mcap", "Exporting MCAP", "pip install 'solo-doi[mcap]'"
        ) from error
    count = 0
    with replacing(path) as partial, partial.open("wb") as file:
        writer = Writer(file)
        writer.start()
        channels: dict[str, int] = {}
        for message in messages:
            topic = message.topic
            if topic not in channels:
                text = json.dumps(message.schema).encode()
                schema = writer.register_schema(message.kind, "jsonschema", text)
                channels[topic] = writer.register_channel(topic, "json", schema)
            body = json.dumps(message.content, allow_nan=False).encode()
            writer.add_message(channels[topic], message.time_ns, body, message.time_ns)
            count += 1
        writer.finish()
    return count


def json_schema(kind: type) -> dict[str, object]:
    """Return the JSON schema of a generated class."""
    properties: dict[str, object] = {}
    fields = zip(kind.__slots__, kind.__typenames__, kind.__dimensions__, strict=True)  # type: ignore[attr-defined]
    for name, typename, dimensions in fields:
        single = {"type": JSON_TYPES.get(typename, "string")}
        if dimensions is not None and typename != "byte":
            properties[name] = {"type": "array", "items": single}
        else:
            properties[name] = single
    return {"type": "object", "properties": properties}


def plain(value: Any) -> Any:  # noqa: ANN401  # JSON
    """Return a value for JSON: bytes as hexadecimal digits, NaN and infinity as null."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return list(map(plain, value))
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _messages(log: Path) -> Iterator[McapMessage]:
    schemas = {name: json_schema(kind) for name, kind in CHANNELS.items()}
    for when, name, data in read_log(log):
        message = decode(name, data)
        if message is not None:
            content = {field: plain(getattr(message, field)) for field in message.__slots__}
            kind = CHANNELS[name].__name__
            yield McapMessage(name, kind, schemas[name], when * 1000, content)
