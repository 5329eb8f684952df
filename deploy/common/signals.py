"""How a process learns that it shall end: Ctrl-C, Ctrl-Z, a request to end, a terminal that was closed."""

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
"""What a program in the background gets for using its terminal."""
STOPS = (signal.SIGTSTP, *TERMINAL)
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, *STOPS)
"""All mean the same: damp, report, end. By default each but the first would leave the legs limp: a program that
stands still commands nothing."""
PARENT = "SOLO_DOI_PARENT"
"""Environment variable with the process that a new one shall end with."""


def on_ending(
    handler: Callable[[int, object], object] | signal.Handlers,
) -> dict[signal.Signals, Any]:
    """Take over the signals; return who had them before. `nohup` keeps its word: a closed terminal is then nothing."""
    kept = {number: signal.getsignal(number) for number in ENDINGS}
    for number in ENDINGS:
        if number != signal.SIGHUP or kept[number] is not signal.SIG_IGN:
            signal.signal(number, _once(handler) if callable(handler) else handler)
    return kept


def _once(handler: Callable[[int, object], object]) -> Callable[[int, object], object]:
    """Hear of the terminal once: whoever gives it back from the background would be told again and again."""

    def hear(number: int, frame: object) -> None:
        for one in TERMINAL:
            signal.signal(one, signal.SIG_IGN)
        handler(number, frame)

    return hear


def ask_to_end(process: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> None:
    """Pass a request to end on, also to one that was stopped before it took over the signals."""
    process.send_signal(signal.SIGTERM if number in STOPS else number)
    process.send_signal(signal.SIGCONT)


class Parent:
    """The process that started this one."""

    def __init__(self) -> None:
        """Remember it; it may be gone already, if it was killed while this one started."""
        given = os.environ.pop(PARENT, None)  # not meant for processes that this one starts
        self._pid = os.getppid()
        self._gone = given is not None and int(given) not in _ancestors()

    @property
    def gone(self) -> bool:
        """Whether it has ended, however it did."""
        return self._gone or os.getppid() != self._pid


def naming_parent() -> dict[str, str]:
    """Return the environment of a process that shall end with this one, from its first moment on."""
    return {**child_environment(), PARENT: str(os.getpid())}


def _ancestors() -> list[int]:
    """Who started this process, who started that one, and so on: there may be a shell in between."""
    found, pid = [], os.getppid()
    with suppress(OSError):  # one has just ended
        while pid:
            found.append(pid)
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return found


class StopRequest:
    """Becomes true by any of the endings, or when the process that started this one is gone."""

    def __init__(self) -> None:
        """Take over the signals."""
        self._asked = False
        self._parent = Parent()
        on_ending(self._ask)

    def __call__(self) -> bool:
        """Whether to stop."""
        return self._asked or self._parent.gone

    def _ask(self, *_: object) -> None:
        self._asked = True


class Interrupts:
    """Makes the first request to end a KeyboardInterrupt. Further ones are not heard: an end must come to its end."""

    def __init__(self) -> None:
        """Nothing was asked yet."""
        self._asked = False

    def __enter__(self) -> Interrupts:
        """Take over the signals."""
        self._kept = on_ending(self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        """Give them back."""
        for number, handler in self._kept.items():
            signal.signal(number, handler)

    def _ask(self, *_: object) -> None:
        if not self._asked:
            self._asked = True
            raise KeyboardInterrupt
