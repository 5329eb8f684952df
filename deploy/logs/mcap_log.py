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

KINDS = {
    "double": "number",
    "int64_t": "integer",
    "int32_t": "integer",
    "int16_t": "integer",
    "int8_t": "integer",
}


@dataclass(frozen=True)
class Entry:
    """A message for viewers: where it was heard, what it is, when [ns], and its content."""

    topic: str
    kind: str
    schema: dict[str, object]
    time_ns: int
    content: dict[str, object]


def export(log: Path, path: Path) -> int:
    """Write a log as MCAP; return how many messages it has."""
    return write(_entries(log), path)


def write(entries: Iterable[Entry], path: Path) -> int:
    """Write messages, whole or not at all; return how many. A topic's schema is that of its first message."""
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
        for entry in entries:
            if entry.topic not in channels:
                schema = writer.register_schema(
                    entry.kind, "jsonschema", json.dumps(entry.schema).encode()
                )
                channels[entry.topic] = writer.register_channel(entry.topic, "json", schema)
            body = json.dumps(entry.content, allow_nan=False).encode()
            writer.add_message(channels[entry.topic], entry.time_ns, body, entry.time_ns)
            count += 1
        writer.finish()
    return count


def json_schema(kind: type) -> dict[str, object]:
    """Describe a generated class to a viewer."""
    properties: dict[str, object] = {}
    fields = zip(kind.__slots__, kind.__typenames__, kind.__dimensions__, strict=True)  # type: ignore[attr-defined]
    for name, typename, dimensions in fields:
        single = {"type": KINDS.get(typename, "string")}
        array = dimensions is not None and typename != "byte"
        properties[name] = {"type": "array", "items": single} if array else single
    return {"type": "object", "properties": properties}


def plain(value: Any) -> Any:  # noqa: ANN401  # whatever messages are made of
    """Return arrays as lists, bytes as hexadecimal digits, and what is no number as null: JSON knows none of them."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [
            plain(part) for part in (value.tolist() if isinstance(value, np.ndarray) else value)
        ]
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, np.generic):
        return plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _entries(log: Path) -> Iterator[Entry]:
    schemas = {name: json_schema(kind) for name, kind in CHANNELS.items()}
    for when, name, data in read_log(log):
        message = decode(name, data)
        if message is not None:
            content = {field: plain(getattr(message, field)) for field in message.__slots__}
            yield Entry(name, CHANNELS[name].__name__, schemas[name], when * 1000, content)
