"""A recording of the master board's cable as MCAP, for Foxglove and other viewers.

python -m deploy.logs.wire_mcap wire.pcap wire.mcap
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from deploy.robots.odri.wire.wire_recorder import replay
from solo_doi.common.errors import SoloError, one_line

from .mcap_log import McapMessage, plain, write

TOPICS = {
    "Init": "wire/init",
    "Ack": "wire/ack",
    "CommandPacket": "wire/command",
    "SensorPacket": "wire/sensor",
}
"""Topics of decoded packets; all others are in `wire/malformed`."""


def messages(recording: Path) -> Iterator[McapMessage]:
    """Decode a recording; motors are in the board's order, units are those of the packets."""
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


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="wire_mcap", description=__doc__)
    parser.add_argument(
        "recording", type=Path, help="written by python -m deploy.robots.odri.wire.wire_recorder"
    )
    parser.add_argument("mcap", type=Path, help="file to write")
    arguments = parser.parse_args()
    if not arguments.recording.is_file():
        raise SoloError(
            f"{arguments.recording}: no such file. Expected a recording by "
            "`python -m deploy.robots.odri.wire.wire_recorder`."
        )
    count = write(messages(arguments.recording), arguments.mcap)
    sys.stdout.write(f"{arguments.mcap}: {count} packets\n")


if __name__ == "__main__":
    with one_line("wire_mcap"):
        main()
