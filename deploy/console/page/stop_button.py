"""Stop button of the page: sends at once, repeats until the robot confirms, and is logged."""

from __future__ import annotations

import threading
from collections.abc import Callable

from deploy.console.console import Sender
from deploy.messages.operator_request import OperatorRequest

from .access import StopRate
from .page_device import reaction_to_stop

BURST = 5
PER_SECOND = 2.0
"""Stops per second that are accepted and logged, after a burst. All have the same effect, so that a
flood changes nothing but the length of the log."""

LEAST_REPEATS = 5
"""Repetitions of every stop: a confirmation may still be that of the stop before."""


class StopButton:
    """Stop requests of all viewers."""

    def __init__(
        self, sender: Sender, log: Callable[[str], object], limit: StopRate | None = None
    ) -> None:
        """Send through `sender`; `log` gets one line per accepted press."""
        self._sender = sender
        self._log = log
        self._limit = limit or StopRate(BURST, PER_SECOND)
        self._lock = threading.Lock()
        self._pending: OperatorRequest | None = None
        self._least = 0
        self.presses = 0
        """Number of accepted presses."""

    def press(self, who: str) -> OperatorRequest | None:
        """Send a stop at once; return its request, or None if presses come too fast."""
        with self._lock:
            if not self._limit.allow():
                return None
            self.presses += 1
            self._pending = reaction_to_stop(self.presses)
            self._least = LEAST_REPEATS
            self._sender.send(self._pending)
        self._log(f"stop {self.presses} pressed on the page by {who}")
        return self._pending

    def repeat(self, *, confirmed: bool) -> None:
        """Send a pending stop again, until the robot has confirmed it; called periodically.

        A message may be lost, and a robot process that is still starting must receive it too.
        """
        with self._lock:
            if self._pending is None:
                return
            if confirmed and not self._least:
                self._pending = None
                return
            self._least = max(0, self._least - 1)
            self._sender.send(self._pending)
