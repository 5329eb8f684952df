"""The page as an operator's device, and the reaction to its stop button."""

from __future__ import annotations

import math
import queue
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from deploy.common.state_machine import ControllerState
from deploy.messages.lcm_link import Request
from deploy.messages.operator_request import DAMP, OperatorRequest
from solo_doi.solo12.constants import Array

if TYPE_CHECKING:
    from typing import Self  # novm: not in Python 3.10, which robots' computers may have

PRESENCE_SECONDS = 0.3
"""Silence of the driver's page after which the operator counts as absent [s]."""
DRIVE_REQUESTS = {
    "stand": Request.STAND,
    "walk": Request.WALK,
    "stop": Request.STOP,
    "sit": Request.SIT,
    "rearm": Request.REARM,
    "quit": Request.QUIT,
}
"""Requests of the page's buttons, by name."""


def reaction_to_stop(presses: int) -> OperatorRequest:
    """Return the request that the stop button sends; `presses` counts from 1.

    The only place that decides it. Damping at once lets the robot sink to the ground. Once the
    controller can sit down reliably after a fault, the first press may do that instead.
    """
    return DAMP


class PageDevice:
    """Page of the driver as an operator's device; the server's thread fills it."""

    can_rearm = True
    rearm_key = "the button Re-arm"
    help = "The page drives the robot. Keep its window in front: a page that is silent damps."

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """Start without a driver."""
        self._now = now
        self._requests: queue.SimpleQueue[OperatorRequest] = queue.SimpleQueue()
        self._driven_at = -math.inf
        self._velocity = np.zeros(3)

    @property
    def velocity(self) -> Array | None:
        """Velocity of the page's sliders, (3,) [m/s, m/s, rad/s]; zero without a driver."""
        if self._present:
            return self._velocity
        return np.zeros(3)

    def put(self, request: OperatorRequest) -> None:
        """Add a request."""
        self._requests.put(request)

    def drive(self, message: dict[str, Any], low: Array, high: Array) -> None:
        """Handle a message of the driver's page: a heartbeat with a velocity, maybe a request.

        A velocity outside `low` to `high` is limited; anything malformed is ignored.
        """
        velocity = _numbers(message.get("velocity"))
        if velocity is not None:
            self._velocity = np.clip(velocity, low, high)
        self._driven_at = self._now()
        request = DRIVE_REQUESTS.get(str(message.get("request")))
        skill = message.get("skill", -1)
        if request is not None and isinstance(skill, int) and -1 <= skill < 128:
            self.put(OperatorRequest(request, skill))

    def read(
        self, seconds: float, state: ControllerState | None
    ) -> tuple[list[OperatorRequest], bool]:
        """Return the requests of the next `seconds`, and True if the driver's page is alive."""
        time.sleep(seconds)
        requests = []
        while not self._requests.empty():
            requests.append(self._requests.get())
        return requests, self._present

    @property
    def _present(self) -> bool:
        return self._now() - self._driven_at < PRESENCE_SECONDS

    def __enter__(self) -> Self:
        """Return this object; a page needs no acquisition."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Do nothing."""


def _numbers(values: object) -> Array | None:
    """Return three finite numbers; None for anything else."""
    if not isinstance(values, list) or len(values) != 3:
        return None
    if not all(isinstance(value, int | float) for value in values):
        return None
    numbers = np.array(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        return None
    return numbers
