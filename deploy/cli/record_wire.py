"""solo-deploy record-wire: record the packets on the master board's cable."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class RecordWireCommand:
    """Record every packet between PC and master board, both ways, until Ctrl-C.

    The recorder only listens. The file is a packet capture with nanoseconds, which Wireshark can
    open. It is valid up to its last whole record, even if the recorder is killed.

    Example: solo-deploy record-wire CARD wire.pcap
    """

    interface: Annotated[str, tyro.conf.Positional]
    """Network card that the master board is plugged into."""
    file: Annotated[Path, tyro.conf.Positional]
    """File to write. Must not exist."""


def record_wire(command: RecordWireCommand) -> None:
    """Record until an interrupt."""
    from deploy.robots.odri.wire.wire_recorder import record

    try:
        record(command.interface, command.file, lambda: False)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("The recording is complete.") from None
