"""solo-deploy convert-wire: convert a recording of the master board's cable for viewers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class ConvertWireCommand:
    """Write a recording of the master board's cable as MCAP, for Foxglove and other viewers.

    Example: solo-deploy convert-wire wire.pcap wire.mcap
    """

    recording: Annotated[Path, tyro.conf.Positional]
    """File written by `solo-deploy record-wire`."""
    mcap: Annotated[Path, tyro.conf.Positional]
    """File to write."""


def convert_wire(command: ConvertWireCommand) -> None:
    """Convert a recording."""
    from deploy.logs.wire_mcap import export

    print(f"{command.mcap}: {export(command.recording, command.mcap)} packets")
