"""Sources of operator requests: a script for dry runs, a spectator, or a person over LCM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from deploy.common.clock import CLOCK, Clock
from deploy.common.state_machine import ControllerState
from deploy.messages.generated import operator_command
from deploy.messages.lcm_link import OPERATOR_CHANNEL, WIRE_REQUESTS, LcmLink, ReplayFilter, Request
from deploy.messages.operator_request import OperatorRequest, operator_request_of
from solo_doi.solo12.constants import Array

SETTLE = 0.5
"""Time at rest before a script stands up, and while standing before it walks or lies down [s]."""
SCRIPT_END_PAUSE = 1.0
"""Pause of a script before its end [s]."""
STAND_UP = "stand up"
"""Name of the step that `may` gets before the robot stands up."""


class Operator(Protocol):
    """Source of requests to the controller; a request of NOTHING is a heartbeat."""

    def next_request(self, state: ControllerState, now: float) -> OperatorRequest | None:
        """Return the request of this tick; None is silence. `now` is on the robot's clock [s]."""

    @property
    def done(self) -> bool:
        """True if no further request will come."""


class Script:
    """Scripted operator: stands up, walks with one skill after another, stops, lies down."""

    def __init__(
        self,
        skills: tuple[int, ...],
        seconds: float,
        velocity: Array | None = None,
        *,
        settle: float = SETTLE,
        distance: float | None = None,
        at_rest: Callable[[], bool] = lambda: True,
        may: Callable[[str], bool] = lambda what: True,
    ) -> None:
        """Walk `seconds` with each skill, after the robot was `at_rest` for `settle` seconds.

        The controller may end the walk earlier, at a `distance` from its start [m]. The script then
        continues as after its own stop.

        Standing up and walking need permission: `may` is called with a description of the step, in
        every tick until it returns True.
        """
        self._skills = skills
        self._turn = 0
        self._seconds = seconds
        self._velocity = velocity
        self._settle = settle
        self._distance = distance
        self._at_rest = at_rest
        self._may = may
        self._state = ControllerState.IDLE
        self._entered_at = 0.0
        self._requested_at: float | None = None
        self._walk_requested = False
        self._stopped = False
        self.done = False

    def next_request(self, state: ControllerState, now: float) -> OperatorRequest:
        """Return the next request of the script for the controller's state."""
        if self._requested_at is None or state is not self._state:
            if self._walk_requested and state is not ControllerState.WALK:
                self._stopped = True  # the walk is over, also if the controller ended it
            self._state = state
            self._entered_at = now
            self._requested_at = now
        if state is ControllerState.IDLE and not self._stopped and not self._at_rest():
            self._entered_at = now
            self._requested_at = now
        waited = now - self._requested_at
        ended = state in (ControllerState.FAULT, ControllerState.DAMP)
        if ended or (state is ControllerState.IDLE and self._stopped):
            self.done = now - self._entered_at > SCRIPT_END_PAUSE
        elif state is ControllerState.IDLE and waited > self._settle and self._may(STAND_UP):
            self._requested_at = now
            return OperatorRequest(Request.STAND)
        elif state is ControllerState.READY and waited > SETTLE:
            if self._stopped:
                return OperatorRequest(Request.SIT)
            if self._may(self._description()):
                return self._walk(0, now)
        elif state is ControllerState.WALK and waited >= self._seconds:
            if self._turn + 1 < len(self._skills):
                return self._walk(self._turn + 1, now)
            self._stopped = True
            return OperatorRequest(Request.STOP)
        return OperatorRequest(Request.NOTHING)

    def _walk(self, turn: int, now: float) -> OperatorRequest:
        self._turn = turn
        self._walk_requested = True
        self._requested_at = now
        return OperatorRequest(Request.WALK, self._skills[turn], self._velocity)

    def _description(self) -> str:
        """Describe the walk for the operator's permission."""
        velocity = ""
        if self._velocity is not None:
            velocity = f" at {self._velocity.tolist()} (m/s, m/s, rad/s)"
        skills = ", then ".join(f"{self._seconds:g} s with skill {skill}" for skill in self._skills)
        end = "stop"
        if self._distance is not None:
            end = (
                f"stop at the latest when it estimates {self._distance:g} m from here (it comes to "
                "rest up to about 1 m beyond, and the estimate may err)"
            )
        return f"walk {skills}{velocity}, {end}, and lie down"


class Spectator:
    """Operator without requests, for runs that only observe the robot."""

    def __init__(self, seconds: float) -> None:
        """Observe for `seconds` of the robot's time."""
        self._seconds = seconds
        self._started_at: float | None = None
        self.done = False

    def next_request(self, state: ControllerState, now: float) -> None:
        """Return no request; finish after the given time."""
        if self._started_at is None:
            self._started_at = now
        self.done = now - self._started_at >= self._seconds


class Remote:
    """A person at a keyboard or gamepad, in another process."""

    done = False

    def __init__(self, link: LcmLink, clock: Clock = CLOCK) -> None:
        """Subscribe to operator commands."""
        self._clock = clock
        self._requests: list[OperatorRequest] = []
        self._filter = ReplayFilter()
        self.dropped = 0
        """Number of unknown, old or expired commands."""
        link.subscribe(OPERATOR_CHANNEL, self._on_command)

    def next_request(self, state: ControllerState, now: float) -> OperatorRequest | None:
        """Return the oldest pending request."""
        if not self._requests:
            return None
        return self._requests.pop(0)

    def _on_command(self, command: operator_command, data: bytes) -> None:
        known = command.request in WIRE_REQUESTS
        if known and self._filter.accept(command, self._clock.now_ns()):
            self._requests.append(operator_request_of(command))
        else:
            self.dropped += 1
