"""Headless Chromium, driven through its debugging port."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

BROWSER_TIMEOUT = 120.0
"""Timeout of everything the browser does, far longer than a slow machine needs [s]."""

QUIET = (
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""Flags against connections of the browser's own."""


class Tab:
    """One page of the browser."""

    def __init__(self, socket: ClientConnection) -> None:
        """Record errors from now on."""
        self._socket = socket
        self._numbers = itertools.count(1)
        self.errors: list[str] = []
        """Errors in the console: exceptions, refused requests, policy violations."""
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the browser and return its result."""
        number = next(self._numbers)
        request = {"id": number, "method": method, "params": parameters}
        self._socket.send(json.dumps(request))
        while True:
            message = json.loads(self._socket.recv(BROWSER_TIMEOUT))
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self._note(message)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page; a promise is awaited."""
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def open(self, address: str) -> None:
        """Load an address and wait until its scripts have run."""
        self.call("Page.navigate", url=address)
        self.wait("document.readyState == 'complete' && location.href != 'about:blank'")

    def wait(self, expression: str, meanwhile: Callable[[], object] = lambda: None) -> Any:
        """Wait until an expression is true, and return it; call `meanwhile` between looks."""
        deadline = time.monotonic() + BROWSER_TIMEOUT
        while not (found := self.evaluate(expression)):
            assert time.monotonic() < deadline, (expression, self.evaluate(TEXT), self.errors)
            meanwhile()
            time.sleep(0.05)
        return found

    def picture(self, selector: str) -> bytes:
        """Return a picture of an element, as PNG."""
        box = self.evaluate(
            f"(() => {{const box = document.querySelector({selector!r}).getBoundingClientRect(); "
            "return [box.x + scrollX, box.y + scrollY, box.width, box.height]})()"
        )
        clip = dict(zip(("x", "y", "width", "height"), box, strict=True))
        taken = self.call("Page.captureScreenshot", format="png", clip={**clip, "scale": 1})
        return base64.b64decode(taken["data"])

    def text(self, name: str) -> str:
        """Return the text of an element by its id."""
        return self.evaluate(f"document.getElementById({name!r}).textContent")

    def click(self, selector: str) -> None:
        """Press and release the mouse in the middle of an element."""
        box = self.evaluate(
            f"(() => {{const element = document.querySelector({selector!r}); "
            "element.scrollIntoView({block: 'center'}); "
            "const box = element.getBoundingClientRect(); "
            "return [box.x + box.width / 2, box.y + box.height / 2]})()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind, x=box[0], y=box[1], button="left", clickCount=1,
            )  # fmt: skip

    def press(self, key: str) -> None:
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key)

    def screenshot(self, path: Path, width: int, height: int) -> None:
        """Write a picture of the page as a screen of a given size shows it."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        data = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def _note(self, message: dict[str, Any]) -> None:
        parameters = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(parameters["exceptionDetails"]))
        if message.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])


TEXT = "document.body.innerText"


class Chromium:
    """A browser with its own profile; skips the test if there is none."""

    def __init__(self, folder: Path) -> None:
        """Start it with a profile in `folder`."""
        program = shutil.which("chromium")
        if program is None:
            pytest.skip("needs the program chromium (on Debian: apt install chromium)")
        self._process = subprocess.Popen(
            [
                program,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                *QUIET,
                "--remote-debugging-port=0",
                "--remote-allow-origins=*",
                f"--user-data-dir={folder}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        place = folder / "DevToolsActivePort"
        deadline = time.monotonic() + BROWSER_TIMEOUT
        while not (place.is_file() and place.read_text().count("\n")):
            assert time.monotonic() < deadline, "the browser did not start"
            time.sleep(0.05)
        self._port = int(place.read_text().splitlines()[0])
        self._sockets = contextlib.ExitStack()

    def tab(self) -> Tab:
        """Open a new page."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}/json/new?about:blank", method="PUT"
        )
        with urllib.request.urlopen(request, timeout=BROWSER_TIMEOUT) as answer:
            address = json.load(answer)["webSocketDebuggerUrl"]
        return Tab(self._sockets.enter_context(connect(address, max_size=None)))

    def __enter__(self) -> Chromium:
        """Return this object."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """End the browser."""
        self._sockets.close()
        self._process.terminate()
        self._process.wait()
