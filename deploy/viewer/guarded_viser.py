"""Server of viser with the checks that it lacks.

By itself, viser 1.1 listens on all network interfaces, checks neither Host nor Origin, and lets any
client ask for a tunnel that publishes the view on the internet.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import viser
import websockets.asyncio.server
from viser import _messages as viser_messages
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

VIEW_ADDRESS = "127.0.0.1"
VIEW_HOSTS = (VIEW_ADDRESS, "localhost")
TUNNEL_REQUESTS = (viser_messages.ShareUrlRequest, viser_messages.ShareUrlDisconnect)
"""Messages of a browser that viser answers with a public tunnel."""
VIEW_POLICY = (
    "default-src 'self' 'unsafe-inline' data: blob:; script-src 'self' 'unsafe-inline' "
    "'unsafe-eval' 'wasm-unsafe-eval' blob:; connect-src 'self' data: blob:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors "
)
"""Page code may load nothing from other computers."""

ProcessRequest = Callable[[ServerConnection, Request], Response | None]


class NoTunnel:
    """Replacement of viser's tunnel, which cannot be opened."""

    def __init__(self, *arguments: object, **options: object) -> None:
        """Refuse.

        Raises:
            PermissionError: Always.
        """
        raise PermissionError("this view is never published")


def guarded_server(page_port: int) -> viser.ViserServer:
    """Start viser on a free port of the loopback interface.

    Only pages of `page_port` on this computer may frame it, and only its own page may connect.
    """
    original = websockets.asyncio.server.serve

    def serve(handler: Any, host: str, port: int, **options: Any) -> Any:  # noqa: ANN401
        answer = options.pop("process_request")
        return original(handler, host, port, process_request=_checked(answer, page_port), **options)

    setattr(websockets.asyncio.server, "serve", serve)  # noqa: B010  # mypy sees a class
    setattr(viser._viser, "ViserTunnel", NoTunnel)  # noqa: B010
    with contextlib.redirect_stdout(io.StringIO()):  # a banner
        server = viser.ViserServer(host=VIEW_ADDRESS, port=0, verbose=False)
    for kind in TUNNEL_REQUESTS:
        server._websock_server.unregister_handler(kind)
    server.gui.configure_theme(control_layout="floating", show_logo=False, show_share_button=False)
    server.gui.main_panel.minimize()  # it has no content
    return server


def _checked(answer: ProcessRequest, page_port: int) -> ProcessRequest:
    """Return viser's answer to requests, behind checks of Host and Origin."""
    framers = " ".join(f"http://{name}:{page_port}" for name in VIEW_HOSTS)

    def process_request(connection: ServerConnection, request: Request) -> Response | None:
        host = _only(request.headers, "Host")
        port = connection.local_address[1]
        if host not in [f"{name}:{port}" for name in VIEW_HOSTS]:
            return _refusal("This server answers on the loopback only.")
        if "Upgrade" in request.headers:
            if _only(request.headers, "Origin") != f"http://{host}":
                return _refusal("Only the view itself may connect.")
            return None
        response = answer(connection, request)
        if response is not None:
            response.headers["Content-Security-Policy"] = VIEW_POLICY + framers
            response.headers["X-Content-Type-Options"] = "nosniff"
            response.headers["Referrer-Policy"] = "no-referrer"
        return response

    return process_request


def _only(headers: Headers, name: str) -> str | None:
    """Return a header that occurs once; None if it is missing or repeated."""
    values = headers.get_all(name)
    return values[0] if len(values) == 1 else None


def _refusal(reason: str) -> Response:
    status = HTTPStatus.FORBIDDEN
    body = f"{reason}\n".encode()
    headers = Headers({"Content-Length": str(len(body)), "Connection": "close"})
    return Response(status.value, status.phrase, headers, body)
