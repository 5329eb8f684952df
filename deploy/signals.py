"""How a process learns that it shall end."""

from __future__ import annotations

import os
import signal


class StopRequest:
    """Becomes true on Ctrl-C, on a request to end, or when the process that started this one is gone."""

    def __init__(self) -> None:
        """Take over the signals."""
        self._asked = False
        self._parent = os.getppid()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask)

    def __call__(self) -> bool:
        """Whether to stop."""
        return self._asked or os.getppid() != self._parent

    def _ask(self, *_: object) -> None:
        self._asked = True
