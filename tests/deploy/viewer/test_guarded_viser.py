"""The view's server: only its own page on this computer may connect, and nothing is published."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

pytest.importorskip("viser", reason="needs the extra `view`")

PAGE_PORT = 40417
SERVER = """
import json, sys, time
from deploy.viewer.guarded_viser import guarded_server
server = guarded_server(40417)
print(server.get_port(), flush=True)
for line in sys.stdin:
    handled = [kind.__name__ for kind in server._websock_server._incoming_handlers]
    try:
        server.request_share_url()
        tunnel = "opened"
    except PermissionError as error:
        tunnel = str(error)
    print(json.dumps({"handled": handled, "tunnel": tunnel}), flush=True)
"""
TIMEOUT = 60.0
LISTENING = "0A"
"""State of a listening socket in /proc/net/tcp."""


@pytest.fixture(scope="module")
def view() -> Iterator[subprocess.Popen[str]]:
    """A view in a process of its own, since it changes libraries."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    yield process
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        pipe.close()


@pytest.fixture(scope="module")
def port(view: subprocess.Popen[str]) -> int:
    """Port of the view."""
    assert view.stdout is not None
    return int(view.stdout.readline())


def answer(port: int, host: str, path: str = "/") -> tuple[int, dict[str, str]]:
    """Return status and headers of a request."""
    connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Host", host)
    connection.endheaders()
    response = connection.getresponse()
    return response.status, dict(response.getheaders())


def test_only_the_loopback_listens(port: int) -> None:
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    lines += Path("/proc/net/tcp6").read_text().splitlines()[1:]
    places = [line.split()[1].split(":") for line in lines if line.split()[3] == LISTENING]
    assert [address for address, number in places if int(number, 16) == port] == ["0100007F"]


def test_its_page_may_be_framed_by_the_operators_page_alone(port: int) -> None:
    status, headers = answer(port, f"127.0.0.1:{port}")
    assert status == 200
    policy = headers["Content-Security-Policy"]
    framers = policy.partition("frame-ancestors ")[2]
    assert framers == f"http://127.0.0.1:{PAGE_PORT} http://localhost:{PAGE_PORT}"
    assert "http:" not in policy.partition("frame-ancestors")[0]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "", "[::1]"])
def test_other_names_are_refused(port: int, host: str) -> None:
    """A name of another computer that resolves to the loopback is a rebinding attack."""
    assert answer(port, host)[0] == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", None, "http://127.0.0.1:40417"])
def test_other_pages_cannot_connect(port: int, origin: Any) -> None:
    """Not even the operator's page itself needs a connection: it only frames the view."""
    with pytest.raises(InvalidStatus, match="403"):
        connect(f"ws://127.0.0.1:{port}", origin=origin)


def test_a_request_for_a_tunnel_does_nothing(view: subprocess.Popen[str], port: int) -> None:
    """The view's own page sends the request; the server has no handler, and cannot open one."""
    import msgspec
    from viser import _messages
    from viser.infra._infra import Subprotocol

    request = msgspec.msgpack.encode({"type": "ShareUrlRequest"})
    import viser

    protocol = Subprotocol(f"viser-v{viser.__version__}")
    origin: Any = f"http://127.0.0.1:{port}"
    with connect(
        f"ws://127.0.0.1:{port}", origin=origin, subprotocols=[protocol], max_size=None
    ) as page:
        page.recv(TIMEOUT)
        assert type(_messages.Message.deserialize(request)).__name__ == "ShareUrlRequest"
        page.send(request)
        time.sleep(0.2)
        assert view.stdin is not None
        assert view.stdout is not None
        view.stdin.write("\n")
        view.stdin.flush()
        line = view.stdout.readline()
        while not line.startswith("{"):  # viser prints what it does
            line = view.stdout.readline()
        found = json.loads(line)
    assert not {"ShareUrlRequest", "ShareUrlDisconnect"} & {*found["handled"]}
    assert found["tunnel"] == "this view is never published"
