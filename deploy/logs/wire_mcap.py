"""A recording of the master board's cable as MCAP, for Foxglove and other viewers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from deploy.robots.odri.wire.wire_recorder import replay
from solo_doi.common.errors import SoloError

from .mcap_log import McapMessage, plain, write

TOPICS = {
    "Init": "wire/init",
    "Ack": "wire/ack",
    "CommandPacket": "wire/command",
    "SensorPacket": "wire/sensor",
}
"""Topics of decoded packets; all others are in `wire/malformed`."""


def export(recording: Path, path: Path) -> int:
    """Write a recording as MCAP; return its number of packets.

    Raises:
        SoloError: There is no such recording.
    """
    if not recording.is_file():
        raise SoloError(
            f"{recording}: no such file. Expected a recording by `solo-deploy record-wire`."
        )
    return write(messages(recording), path)


def messages(recording: Path) -> Iterator[McapMessage]:
    """Yield the decoded packets; motors are in the board's order, values are SI at the motor."""
    for record in replay(recording):
        kind = type(record.packet).__name__
        content = plain(asdict(record.packet)) | {"from_pc": record.from_pc}
        topic = TOPICS.get(kind, "wire/malformed")
        yield McapMessage(topic, kind, schema(content), record.time_ns, content)


def schema(value: object) -> dict[str, object]:
    """Return the JSON schema of a value."""
    if isinstance(value, dict):
        properties = {name: schema(part) for name, part in value.items()}
        return {"type": "object", "properties": properties}
    if isinstance(value, list):
        items = schema(value[0]) if value else {}
        return {"type": "array", "items": items}
    if isinstance(value, bool):
        return {"type": "boolean"}
    return {"type": "string" if isinstance(value, str) else "number"}
