"""Access to the operator's page: who may look, who may drive, who may stop.

The server listens on the loopback interface only. Any page on the internet can still make a browser
on this computer send requests to it, so every request is checked: the Host header must name this
server (against rebinding of DNS names), and the Origin header of a connection must be the page
itself (against requests from other sites).

The link in the terminal carries a token. The first browser that presents it may drive. It gets a
pass with which it can return after a lost connection. Other browsers with the token may look. A
stop needs no token.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from enum import Enum

TOKEN_BYTES = 24
"""Random bytes of a token; in URLs it has 32 characters."""
LOOPBACK_NAMES = ("127.0.0.1", "localhost")


class Role(Enum):
    """Rights of a viewer."""

    DRIVER = "driver"
    """May drive, look and stop."""
    WATCHER = "watcher"
    """May look and stop."""
    STRANGER = "stranger"
    """May stop."""


class Access:
    """Rights of the viewers of one page."""

    def __init__(self, port: int, *, drivable: bool) -> None:
        """Draw a token; without `drivable`, no viewer may drive."""
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self._hosts = [f"{name}:{port}" for name in LOOPBACK_NAMES]
        self._drivable = drivable
        self._pass = ""

    def known_host(self, host: str | None) -> bool:
        """Return True if a Host header names this server."""
        return host in self._hosts

    def own_origin(self, origin: str | None, host: str | None) -> bool:
        """Return True if a connection comes from the page of this server."""
        return self.known_host(host) and origin == f"http://{host}"

    def admit(self, token: str, returning: str = "") -> tuple[Role, str]:
        """Return the role of a viewer, and the driver's pass for its next connection.

        `returning` is the pass of an earlier connection.
        """
        if self._pass and hmac.compare_digest(returning.encode(), self._pass.encode()):
            return Role.DRIVER, self._pass
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return Role.STRANGER, ""
        if self._drivable and not self._pass:
            self._pass = secrets.token_urlsafe(TOKEN_BYTES)
            return Role.DRIVER, self._pass
        return Role.WATCHER, ""


class StopRate:
    """Token bucket: a burst at once, then a steady rate."""

    def __init__(
        self, burst: int, per_second: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        """Start full."""
        self._burst = burst
        self._rate = per_second
        self._now = now
        self._left = float(burst)
        self._at = now()
        self.refused = 0
        """Number of refused calls."""

    def allow(self) -> bool:
        """Return True if the call is within the limit."""
        now = self._now()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            self.refused += 1
            return False
        self._left -= 1
        return True
