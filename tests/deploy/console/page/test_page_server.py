"""The server of the page: files, roles, refusals."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from deploy.console.page.page_server import (
    LARGEST_MESSAGE,
    MOST_CONNECTIONS,
    NO_TOKEN,
    PAGE_FILES,
    PageServer,
    listen,
)
from solo_doi.common.errors import SoloError


class Content:
    """Keeps what viewers ask for."""

    def __init__(self) -> None:
        """Start without a request."""
        self.driven: list[dict[str, Any]] = []
        self.stops: list[str] = []

    def greeting(self) -> dict[str, Any]:
        """Return a number that JSON does not have."""
        return {"kind": "test", "unknown": float("nan")}

    def on_drive(self, message: dict[str, Any]) -> None:
        """Keep a message."""
        self.driven.append(message)

    def on_stop(self, who: str) -> int | None:
        """Count a stop; the third is too much."""
        self.stops.append(who)
        return len(self.stops) if len(self.stops) < 3 else None


class Running:
    """A server in a thread."""

    def __init__(self) -> None:
        """Start it."""
        self.content = Content()
        self._open = contextlib.ExitStack()
        self._listener = listen(0)
        self.server = PageServer(self._listener, self.content, drivable=True)
        self.loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self._ready.wait()

    def _run(self) -> None:
        async def serve() -> None:
            self._ended = asyncio.Event()
            async with self.server.start():
                self._ready.set()
                await self._ended.wait()
                await self.server.farewell({"ended": True})

        self.loop.run_until_complete(serve())

    def end(self) -> None:
        """Close all connections and end the server."""
        self._open.close()
        self.loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()
        self._listener.close()
        self.loop.close()

    def connect(self, path: str = "/socket", **changes: Any) -> ClientConnection:
        """Connect as the page does, or with other headers."""
        host = f"127.0.0.1:{self.server.port}"
        settings = {"origin": f"http://{host}", **changes}
        return self._open.enter_context(connect(f"ws://{host}{path}", **settings))

    def enter(self, token: str | None = None, own_pass: str = "") -> ClientConnection:
        """Connect and present a token; the right one by default."""
        viewer = self.connect()
        shown = self.server.access.token if token is None else token
        viewer.send(json.dumps({"token": shown, "pass": own_pass}))
        return viewer

    def get(self, path: str, host: str | None = None) -> http.client.HTTPResponse:
        """Request a file."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        connection.request("GET", path, headers={} if host is None else {"Host": host})
        return connection.getresponse()


@pytest.fixture
def running() -> Iterator[Running]:
    found = Running()
    yield found
    found.end()


def received(viewer: ClientConnection) -> dict[str, Any]:
    return json.loads(viewer.recv(60))


@pytest.mark.parametrize("path", PAGE_FILES)
def test_files_are_served_with_their_policy(running: Running, path: str) -> None:
    answer = running.get(path)
    body = answer.read()
    assert answer.status == 200
    assert int(answer.headers["Content-Length"]) == len(body) > 100
    assert answer.headers["Content-Type"] == PAGE_FILES[path][1]
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["/none", "/../page.html", "/page_server.py"])
def test_other_files_are_not_served(running: Running, path: str) -> None:
    assert running.get(path).status == 404


@pytest.mark.parametrize("path", ["/", "/socket", "/stop"])
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1:1", "evil.example:80"])
def test_another_host_is_refused(running: Running, path: str, host: str) -> None:
    """A rebound DNS name of another site has that site's name as host."""
    assert running.get(path, host).status == 403


@pytest.mark.parametrize("path", ["/socket", "/stop"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", None])
def test_another_site_is_refused(running: Running, path: str, origin: str | None) -> None:
    with pytest.raises(InvalidStatus) as error:
        running.connect(path, origin=origin)
    assert error.value.response.status_code == 403
    assert running.content.stops == []


@pytest.mark.parametrize("token", ["", "wrong"])
def test_without_the_token_a_viewer_is_refused(running: Running, token: str) -> None:
    with running.enter(token) as viewer, pytest.raises(ConnectionClosed) as error:
        viewer.recv(60)
    assert error.value.rcvd is not None
    assert error.value.rcvd.code == NO_TOKEN


@pytest.mark.parametrize("first", ["not JSON", "[1]", '"text"', "{}"])
def test_malformed_first_messages_are_refused(running: Running, first: str) -> None:
    with running.connect() as viewer:
        viewer.send(first)
        with pytest.raises(ConnectionClosed):
            viewer.recv(60)


def test_the_first_viewer_drives_the_second_watches(running: Running) -> None:
    with running.enter() as driver, running.enter() as watcher:
        hello = received(driver)
        assert hello["role"] == "driver"
        assert hello["hello"] == {"kind": "test", "unknown": None, "frame": 0}
        assert received(watcher)["role"] == "watcher"
        for viewer in (driver, watcher):
            viewer.send(json.dumps({"request": "walk", "sent": 7}))
            assert received(viewer) == {"echo": 7}
        assert running.content.driven == [{"request": "walk", "sent": 7}]
    with running.enter("", hello["pass"]) as returned:
        assert received(returned)["role"] == "driver"


def test_anyone_at_this_computer_may_stop(running: Running) -> None:
    with running.connect("/stop") as viewer:
        for expected in (1, 2, None):
            viewer.send("stop")
            assert received(viewer) == {"stopped": expected}
    assert len({*running.content.stops}) == 1


def test_snapshots_reach_all_viewers_and_the_end_too(running: Running) -> None:
    with running.enter() as first, running.enter() as second:
        received(first), received(second)
        running.loop.call_soon_threadsafe(running.server.broadcast, {"number": 1})
        assert received(first) == received(second) == {"number": 1}
        running.loop.call_soon_threadsafe(running._ended.set)
        assert received(first) == received(second) == {"ended": True}


def test_long_messages_end_the_connection(running: Running) -> None:
    with running.enter() as viewer:
        received(viewer)
        viewer.send("x" * (LARGEST_MESSAGE + 1))
        with pytest.raises(ConnectionClosed):
            viewer.recv(60)


def test_connections_are_limited(running: Running) -> None:
    viewers = [running.connect("/stop") for _ in range(MOST_CONNECTIONS)]
    viewers[-1].send("stop")
    received(viewers[-1])  # all are counted now
    with pytest.raises(InvalidStatus) as error:
        running.connect("/stop")
    assert error.value.response.status_code == 503


def test_the_server_is_not_on_the_network(running: Running) -> None:
    assert running._listener.getsockname()[0] == "127.0.0.1"
    assert running.server.link.startswith(f"http://127.0.0.1:{running.server.port}/#")


def test_a_port_in_use_is_an_error(running: Running) -> None:
    with pytest.raises(SoloError, match=r"--view-port \d+: cannot be used .*Leave it out"):
        listen(running.server.port)


def test_a_browser_that_is_faster_than_the_server_waits() -> None:
    """The link is printed before the server's thread runs."""
    with listen(0) as port, socket.create_connection(port.getsockname(), timeout=60):
        pass
