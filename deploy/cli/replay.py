"""solo-deploy replay: run the controller again on a recorded log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class ReplayCommand:
    """Run the controller again on the log of a deployment or an incident.

    Compares the policy's input term by term, then the joint commands, and names the first
    difference. The exit code is 0 if there is none.

    Example: solo-deploy replay runs/deploy-DATE-TIME
    """

    log: Annotated[Path, tyro.conf.Positional]
    """Directory of the deployment or the incident, or its log."""
    mcap: Path | None = None
    """Also write the log as MCAP, for Foxglove and other viewers."""


def replay_log(command: ReplayCommand) -> int:
    """Replay a log; return 0 if observations and commands equal the recorded ones, else 1."""
    from deploy.logs.controller_replay import find_log, replay
    from deploy.logs.log_picture import draw
    from deploy.logs.mcap_log import export

    log = find_log(command.log)
    if command.mcap is not None:
        print(f"{command.mcap}: {export(log, command.mcap)} messages")
    picture = draw(log.parent)
    if picture is not None:
        print(f"picture: {picture}")
    found = replay(log)
    print(found)
    return 0 if found.difference is None else 1
