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

from .mcap_log import Entry, plain, write

TOPICS = {
    "Init": "wire/init",
    "Ack": "wire/ack",
    "CommandPacket": "wire/command",
    "SensorPacket": "wire/sensor",
}
"""Everything else is under `wire/malformed`."""


def entries(recording: Path) -> Iterator[Entry]:
    """Read a recording through the decoders; motors are in the board's order, units are those of the packets."""
    for record in replay(recording):
        kind = type(record.packet).__name__
        content = plain(asdict(record.packet)) | {"from_pc": record.from_pc}
        yield Entry(
            TOPICS.get(kind, "wire/malformed"), kind, schema(content), record.time_ns, content
        )


def schema(value: object) -> dict[str, object]:
    """Describe a value to a viewer."""
    if isinstance(value, dict):
        return {
            "type": "object",
            "properties": {name: schema(part) for name, part in value.items()},
        }
    if isinstance(value, list):
        return {"type": "array", "items": schema(value[0]) if value else {}}
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
    count = write(entries(arguments.recording), arguments.mcap)
    sys.stdout.write(f"{arguments.mcap}: {count} packets\n")


if __name__ == "__main__":
    with one_line("wire_mcap"):
        main()
