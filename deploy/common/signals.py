"""Requests to end a process: Ctrl-C, Ctrl-Z, SIGTERM, a closed terminal, a dead parent."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from solo_doi.common.child_python import child_environment

TERMINAL = (signal.SIGTTIN, signal.SIGTTOU)
"""Signals to a background process that uses its terminal."""
STOPS = (signal.SIGTSTP, *TERMINAL)
"""Signals that stop a process by default."""
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, *STOPS)
"""Signals that all request the same: damp, report, end.

By default each but the first would stop or kill the process, which then sends no commands."""
PARENT = "SOLO_DOI_PARENT"
"""Environment variable with the id of the process that a child ends with."""


def on_ending(
    handler: Callable[[int, object], object] | signal.Handlers,
) -> dict[signal.Signals, Any]:
    """Install a handler for all endings; return the previous handlers.

    SIGHUP stays ignored under `nohup`.
    """
    previous = {number: signal.getsignal(number) for number in ENDINGS}
    if callable(handler):
        handler = _once(handler)
    for number in ENDINGS:
        if number != signal.SIGHUP or previous[number] is not signal.SIG_IGN:
            signal.signal(number, handler)
    return previous


def _once(handler: Callable[[int, object], object]) -> Callable[[int, object], object]:
    """Ignore terminal signals after the first ending.

    A background process that restores its terminal would otherwise receive them again and again.
    """

    def handle(number: int, frame: object) -> None:
        for one in TERMINAL:
            signal.signal(one, signal.SIG_IGN)
        handler(number, frame)

    return handle


def ask_to_end(process: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> None:
    """Request a child to end; also works if it was stopped before it installed its handlers."""
    process.send_signal(signal.SIGTERM if number in STOPS else number)
    process.send_signal(signal.SIGCONT)


class Parent:
    """The process that started this one."""

    def __init__(self) -> None:
        """Store its id; it may have been killed while this process started."""
        given = os.environ.pop(PARENT, None)  # not for the children of this process
        self._pid = os.getppid()
        self._gone = given is not None and int(given) not in _ancestors()

    @property
    def gone(self) -> bool:
        """True if it has ended for any reason."""
        return self._gone or os.getppid() != self._pid


def naming_parent() -> dict[str, str]:
    """Return the environment of a child that ends with this process, from its start."""
    return {**child_environment(), PARENT: str(os.getpid())}


def _ancestors() -> list[int]:
    """Return the ids of parent, grandparent and so on; a shell may be in between."""
    found = []
    pid = os.getppid()
    with suppress(OSError):  # an ancestor has just ended
        while pid:
            found.append(pid)
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return found


class StopRequest:
    """True after any of the endings, or when the parent process is gone."""

    def __init__(self) -> None:
        """Install the handlers."""
        self._requested = False
        self._parent = Parent()
        on_ending(self._request)

    def __call__(self) -> bool:
        """Return True if the process must stop."""
        return self._requested or self._parent.gone

    def _request(self, *_: object) -> None:
        self._requested = True


class Interrupts:
    """Raises KeyboardInterrupt at the first ending; ignores further ones, to end in order."""

    def __init__(self) -> None:
        """Start without a request."""
        self._requested = False

    def __enter__(self) -> Interrupts:
        """Install the handlers."""
        self._previous = on_ending(self._request)
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the previous handlers."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _request(self, *_: object) -> None:
        if not self._requested:
            self._requested = True
            raise KeyboardInterrupt
