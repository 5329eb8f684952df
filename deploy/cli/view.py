"""solo-deploy view: the page of a recorded log."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class ViewCommand:
    """Show the log of a deployment or an incident in a browser on this computer.

    Example: solo-deploy view runs/deploy-DATE-TIME
    """

    log: Annotated[Path, tyro.conf.Positional]
    """Directory of the deployment or the incident, or its log."""
    view_port: int = 0
    """Port of the page; 0 takes a free one."""


def view_log(command: ViewCommand) -> None:
    """Serve the page until Ctrl-C."""
    from deploy.launch.page_launch import need_websockets

    need_websockets()
    from deploy.console.page.page_server import listen
    from deploy.logs.log_view import serve_log

    with listen(command.view_port) as port:
        serve_log(command.log, port, _print_now)


def _print_now(text: str) -> None:
    """Print and flush."""
    sys.stdout.write(text)
    sys.stdout.flush()
