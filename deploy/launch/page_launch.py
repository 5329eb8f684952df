"""The page of a deployment: its port before anything starts, its server while robots run."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deploy.common.deploy_config import KEY_FILE, DeployConfig
from deploy.console.console import Device
from deploy.console.page.page_device import PageDevice
from deploy.messages.authentication import run_authority
from deploy.messages.lcm_link import LcmLink
from solo_doi.common.errors import MissingPackageError
from solo_doi.policies.bundle.reader import Bundle

from .viewer_launch import robot_viewer

if TYPE_CHECKING:
    from deploy.console.page.page_server import PageServer

PAGE_LOG_FILE = "page.log"
"""Stops that were pressed on the page, in the folder of a deployment."""


@dataclass(frozen=True)
class PagePlan:
    """Everything that the page needs before the processes start."""

    port: socket.socket
    """Open port."""
    bundle: Bundle
    device: PageDevice | None
    """Device that the page fills; None if it does not drive."""


def need_websockets() -> None:
    """Refuse to serve a page without the library.

    Raises:
        MissingPackageError: It is not installed.
    """
    try:
        import websockets  # noqa: F401
    except ImportError as error:
        raise MissingPackageError(
            "websockets", "--view", "Run: pip install 'websockets>=14'"
        ) from error


@contextmanager
def planned_page(
    config: DeployConfig, bundle: Bundle, device: Device | None
) -> Iterator[PagePlan | None]:
    """Open the port of the page, if one is asked for, and close it at the end."""
    if not config.shows_page:
        yield None
        return
    need_websockets()
    from deploy.console.page.page_server import listen

    with listen(config.view_port) as port:
        yield PagePlan(port, bundle, device if isinstance(device, PageDevice) else None)


@contextmanager
def shown_page(
    config: DeployConfig, out: Path, plan: PagePlan | None
) -> Iterator[PageServer | None]:
    """Serve the page while robot and controller run."""
    if plan is None:
        yield None
        return
    from deploy.console.page.live_page import LivePage, live_page

    def log(text: str) -> None:
        line = f"{datetime.now():%Y-%m-%d %H:%M:%S.%f} {text}\n"
        with suppress(OSError), (out / PAGE_LOG_FILE).open("a") as file:  # a full disk
            file.write(line)

    link = LcmLink(run_authority(out, out / KEY_FILE, config.key), config.url)
    page = LivePage(config, plan.bundle, link, plan.device, log)
    port = int(plan.port.getsockname()[1])
    with (
        robot_viewer(port) as viewer,
        live_page(
            page,
            plan.port,
            _print_now,
            drivable=plan.device is not None,
            frame=viewer.port if viewer else 0,
            on_snapshot=viewer.show if viewer else _ignore,
        ) as server,
    ):
        yield server


def _ignore(snapshot: dict[str, Any]) -> None:
    """Do nothing: there is no view."""


def _print_now(text: str) -> None:
    """Print and flush."""
    sys.stdout.write(text)
    sys.stdout.flush()
