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
"""Signals that request the orderly end of a process: damp, report, end.

Without a handler, all except SIGINT would stop or kill the process, and commands would stop."""
PARENT = "SOLO_DOI_PARENT"
"""Environment variable with the process id of the parent; a child ends when its parent ends."""


def on_ending(
    handler: Callable[[int, object], object] | signal.Handlers,
) -> dict[signal.Signals, Any]:
    """Install a handler for all signals of `ENDINGS`; return the previous handlers.

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
    """Return a handler that ignores the signals of `TERMINAL` after its first call.

    A background process that restores its terminal would otherwise receive them repeatedly.
    """

    def handle(number: int, frame: object) -> None:
        for one in TERMINAL:
            signal.signal(one, signal.SIG_IGN)
        handler(number, frame)

    return handle


def ask_to_end(process: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> None:
    """Request a child process to end, even one that was stopped before it had handlers."""
    process.send_signal(signal.SIGTERM if number in STOPS else number)
    process.send_signal(signal.SIGCONT)


class Parent:
    """The process that started this one."""

    def __init__(self) -> None:
        """Store the parent's id; the parent may have been killed while this process started."""
        given = os.environ.pop(PARENT, None)  # must not be inherited by children
        self._pid = os.getppid()
        self._gone = given is not None and int(given) not in _ancestors()

    @property
    def gone(self) -> bool:
        """True if the parent has ended for any reason."""
        return self._gone or os.getppid() != self._pid


def naming_parent() -> dict[str, str]:
    """Return the environment variables of a child process that ends when this process ends.

    They name this process, so that the child detects an end during its own start.
    """
    return {**child_environment(), PARENT: str(os.getpid())}


def _ancestors() -> list[int]:
    """Return the process ids of all ancestors: a shell may be between parent and child."""
    found = []
    pid = os.getppid()
    with suppress(OSError):  # an ancestor has just ended
        while pid:
            found.append(pid)
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return found


class StopRequest:
    """Flag that is True after any signal of `ENDINGS`, or after the end of the parent process."""

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
    """Raises KeyboardInterrupt at the first signal of `ENDINGS`.

    Further signals are ignored, so that they cannot interrupt the orderly end.
    """

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
