"""Logs as MCAP, the format that Foxglove and other viewers read: one JSON object per message."""

from __future__ import annotations

import json
from pathlib import Path

from solo_doi.errors import MissingPackageError
from solo_doi.files import replacing

from .messages.wire import CHANNELS, decode
from .recorder import read_log

KINDS = {"double": "number", "int64_t": "integer", "int32_t": "integer", "int16_t": "integer", "int8_t": "integer"}


def export(log: Path, path: Path) -> int:
    """Write a log as MCAP; return how many messages it has."""
    try:
        from mcap.writer import Writer
    except ImportError as error:
        raise MissingPackageError("mcap", "Exporting MCAP", "pip install 'solo-doi[mcap]'") from error
    count = 0
    with replacing(path) as partial, partial.open("wb") as file:
        writer = Writer(file)
        writer.start()
        channels = {}
        for name, kind in CHANNELS.items():
            schema = writer.register_schema(kind.__name__, "jsonschema", json.dumps(json_schema(kind)).encode())
            channels[name] = writer.register_channel(name, "json", schema)
        for when, name, data in read_log(log):
            message = decode(name, data)
            if message is not None:
                body = json.dumps({field: _plain(getattr(message, field)) for field in message.__slots__}).encode()
                writer.add_message(channels[name], when * 1000, body, when * 1000)
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


def _plain(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value
