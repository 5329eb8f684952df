"""Server of the operator's page: files and two kinds of connections, on the loopback interface.

`/socket` shows the robot and takes the driver's messages; its first message carries the token.
`/stop` needs no token and does one thing. Both are WebSockets, since a browser always sends the
Origin of those.
"""

from __future__ import annotations

import asyncio
import json
import math
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus
from importlib.resources import files
from typing import Any, Protocol

from websockets.asyncio.server import ServerConnection, broadcast, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from solo_doi.common.errors import SoloError

from .access import LOOPBACK_NAMES, Access, Role

PAGE_FILES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/plots.js": ("plots.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
}
"""Files of the page with their types, by path."""
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; frame-src "
)
"""Sources of the page's content; those of frames follow."""
SECURITY_HEADERS = {
    "Content-Security-Policy": f"{CONTENT_POLICY}'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LARGEST_MESSAGE = 4096
"""Longest message of a browser [bytes]."""
MOST_CONNECTIONS = 32
TOKEN_SECONDS = 10.0
"""Time for a connection to present its token [s]."""
LARGEST_BACKLOG = 200_000
"""Unsent bytes at which a slow viewer misses snapshots, so that it does not fall behind."""
FAREWELL_SECONDS = 0.2
"""Time for the last message to leave before the connections are closed [s]."""
NO_TOKEN = 4401
"""Code with which a connection without a valid token is closed."""


class PageContent(Protocol):
    """What a page shows, and what it may ask for."""

    def greeting(self) -> dict[str, Any]:
        """Return what does not change while the page is open."""

    def on_drive(self, message: dict[str, Any]) -> None:
        """Handle a message of the driver."""

    def on_stop(self, who: str) -> int | None:
        """Stop the robot; return the number of stops, None if they come too fast."""


def listen(port: int) -> socket.socket:
    """Open the port of the page, on the loopback interface only; 0 is any free port.

    Raises:
        SoloError: The port is in use.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()  # a browser that is faster than the server waits
    except OSError as error:
        listener.close()
        raise SoloError(
            f"--view-port {port}: cannot be used ({error.strerror}). Leave it out for a free one."
        ) from error
    return listener


class PageServer:
    """Serves one page to several viewers; its methods run in one event loop."""

    def __init__(
        self, listener: socket.socket, content: PageContent, *, drivable: bool, frame: int = 0
    ) -> None:
        """Serve `content` on an open port; with `drivable`, the first viewer may drive.

        `frame` is the port of another server, whose view the page may frame; 0 for none.
        """
        self._frame = frame
        self._listener = listener
        self._content = content
        self.port = int(listener.getsockname()[1])
        self.access = Access(self.port, drivable=drivable)
        self._viewers: set[ServerConnection] = set()
        self._connections = 0
        self._handlers: dict[str, Callable[[ServerConnection], Any]] = {
            "/socket": self._show,
            "/stop": self._stop,
        }

    @property
    def link(self) -> str:
        """Address of the page with its token, for the terminal.

        The part after # stays in the browser: it is in no request and in no log.
        """
        return f"http://127.0.0.1:{self.port}/#{self.access.token}"

    def start(self) -> AbstractAsyncContextManager[object]:
        """Return the server as an asynchronous context manager."""
        return serve(
            self._handle,
            sock=self._listener,
            process_request=self._answer,
            max_size=LARGEST_MESSAGE,
            compression=None,
        )

    def broadcast(self, content: dict[str, Any]) -> None:
        """Send a snapshot to all viewers but those that cannot keep up."""
        broadcast([*filter(_keeps_up, self._viewers)], encoded(content))

    async def farewell(self, content: dict[str, Any]) -> None:
        """Send the last message to all viewers."""
        broadcast(self._viewers, encoded(content))
        await asyncio.sleep(FAREWELL_SECONDS)

    # --- Requests -----------------------------------------------------------------------------

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """Refuse foreign requests, and send files; None continues with a WebSocket."""
        host = _only(request.headers, "Host")
        if not self.access.known_host(host):
            return _refusal(HTTPStatus.FORBIDDEN, "This server answers on the loopback only.")
        path = request.path.partition("?")[0]
        if path in self._handlers:
            if not self.access.own_origin(_only(request.headers, "Origin"), host):
                return _refusal(HTTPStatus.FORBIDDEN, "Only the page itself may connect.")
            if self._connections >= MOST_CONNECTIONS:
                return _refusal(HTTPStatus.SERVICE_UNAVAILABLE, "Too many connections.")
            return None
        if path not in PAGE_FILES:
            return _refusal(HTTPStatus.NOT_FOUND, "No such page.")
        name, kind = PAGE_FILES[path]
        response = _response(HTTPStatus.OK, kind, files(__package__).joinpath(name).read_bytes())
        if self._frame:
            del response.headers["Content-Security-Policy"]
            framed = " ".join(f"http://{name}:{self._frame}" for name in LOOPBACK_NAMES)
            response.headers["Content-Security-Policy"] = f"{CONTENT_POLICY}{framed}"
        return response

    async def _handle(self, connection: ServerConnection) -> None:
        assert connection.request is not None  # set by the handshake
        self._connections += 1
        try:
            await self._handlers[connection.request.path.partition("?")[0]](connection)
        except ConnectionClosed:
            pass  # the viewer is gone
        finally:
            self._connections -= 1
            self._viewers.discard(connection)

    async def _stop(self, connection: ServerConnection) -> None:
        """Stop the robot with every message."""
        async for _ in connection:
            count = self._content.on_stop(str(connection.remote_address[1]))
            await connection.send(encoded({"stopped": count}))

    async def _show(self, connection: ServerConnection) -> None:
        """Admit a viewer, then answer its messages; snapshots come from `broadcast`."""
        try:
            first = _parsed(await asyncio.wait_for(connection.recv(), TOKEN_SECONDS))
        except asyncio.TimeoutError:  # noqa: UP041  # another class in Python 3.10
            first = {}
        role, own_pass = self.access.admit(str(first.get("token", "")), str(first.get("pass", "")))
        if role is Role.STRANGER:
            await connection.close(NO_TOKEN, "the link's token is missing or wrong")
            return
        greeting = {**self._content.greeting(), "frame": self._frame}
        hello = {"hello": greeting, "role": role.value, "pass": own_pass}
        await connection.send(encoded(hello))
        self._viewers.add(connection)
        async for text in connection:
            message = _parsed(text)
            if role is Role.DRIVER:
                self._content.on_drive(message)
            # The page measures how slow the connection is.
            await connection.send(encoded({"echo": message.get("sent")}))


def _keeps_up(viewer: ServerConnection) -> bool:
    return viewer.transport.get_write_buffer_size() < LARGEST_BACKLOG


def encoded(content: object) -> str:
    """Return JSON in which numbers that are not finite are null, since browsers refuse them."""
    return json.dumps(_finite(content), allow_nan=False)


def _finite(content: object) -> object:
    if isinstance(content, float) and not math.isfinite(content):
        return None
    if isinstance(content, dict):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return list(map(_finite, content))
    return content


def _parsed(text: str | bytes) -> dict[str, Any]:
    """Return a JSON object; empty for anything else."""
    try:
        content = json.loads(text)
    except ValueError:
        return {}
    if not isinstance(content, dict):
        return {}
    return content


def _only(headers: Headers, name: str) -> str | None:
    """Return a header that occurs once; None if it is missing or repeated."""
    values = headers.get_all(name)
    if len(values) != 1:
        return None
    return values[0]


def _refusal(status: HTTPStatus, reason: str) -> Response:
    return _response(status, "text/plain; charset=utf-8", f"{reason}\n".encode())


def _response(status: HTTPStatus, kind: str, body: bytes) -> Response:
    headers = Headers(SECURITY_HEADERS)
    headers["Content-Type"] = kind
    headers["Content-Length"] = str(len(body))
    headers["Connection"] = "close"
    return Response(status.value, status.phrase, headers, body)
