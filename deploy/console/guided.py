"""A script that asks the operator at the keyboard before every motion."""

from __future__ import annotations

import time
from collections.abc import Callable

from deploy.common.state_machine import ControllerState
from deploy.messages.lcm_link import Request
from deploy.messages.operator_request import OperatorRequest
from deploy.operators.operators import STAND_UP, Script
from solo_doi.solo12.constants import Array

from .keyboard import KEY_REQUESTS, Keyboard

STAND_CHECK = "Motors damped, robot on its belly, feet beside it, rope slack?"
"""Question to the operator before the robot stands up."""
WALK_CHECK = "Robot stands well, path ahead is free, one person at the rope?"
"""Question to the operator before the robot walks."""


class GuidedScript(Keyboard):
    """A script that waits for Enter before the robot stands up and before it walks.

    Consent to bring-up is asked before the robot process starts; see `consent`. The script cannot
    re-arm: a fault ends the run, and the next run asks its questions again.
    """

    can_rearm = False
    rearm_key = ""
    help = "ENTER continues, when asked · SPACE damp at once · q lie down and end"

    def __init__(
        self,
        skills: tuple[int, ...],
        seconds: float,
        velocity: Array | None,
        write: Callable[[str], object],
        distance: float | None = None,
    ) -> None:
        """Plan a walk as `Script` does; `write` shows the questions."""
        super().__init__()
        self.velocity = velocity
        self._script = Script(skills, seconds, velocity, distance=distance, may=self._confirmed)
        self._write = write
        self._question = ""
        self._enter_pressed = False

    def read(
        self, seconds: float, state: ControllerState | None
    ) -> tuple[list[OperatorRequest], bool]:
        """Return the keys' requests, or the script's next request if it is confirmed."""
        keys = self._keys(seconds)
        requests = [KEY_REQUESTS[key] for key in keys if key in " q"]
        self._enter_pressed = any(key in "\r\n" for key in keys)
        if requests or state is None:
            return requests, True
        request = self._script.next_request(state, time.monotonic())
        if self._script.done:
            return [KEY_REQUESTS["q"]], True
        if request.request is Request.NOTHING:
            return [], True
        return [request], True

    def _confirmed(self, step: str) -> bool:
        """Ask about a step once; return True if Enter was pressed after the question."""
        if self._question != step:
            self._question = step
            check = STAND_CHECK if step == STAND_UP else WALK_CHECK
            self._write(f"\r\033[K{check} ENTER: the robot will {step}.\n")
            return False  # Enter pressed before the question does not count
        if self._enter_pressed:
            self._question = ""
        return self._enter_pressed
