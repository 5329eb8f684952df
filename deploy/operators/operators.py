"""Who tells the controller what to do: a script for dry runs, or a person over LCM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from deploy.common.clock import CLOCK, Clock
from deploy.common.state_machine import ControllerState
from deploy.messages.lcm_link import OPERATOR, WIRE_REQUESTS, LcmLink, ReplayFilter, Request
from deploy.messages.operator_request import OperatorRequest, operator_request_of
from solo_doi.solo12.constants import Array


class Operator(Protocol):
    """Gives wishes; one that asks for nothing is a sign of life."""

    def next_request(self, state: ControllerState, now: float) -> OperatorRequest | None:
        """Return what is asked for at a time of the robot's clock [s]; None is silence."""

    @property
    def done(self) -> bool:
        """Whether nothing more will be asked for."""


SETTLE, REST = 0.5, 1.0
"""Pauses of a script before it goes on, and at the end [s]."""
STAND_UP = "stand up"


class Script:
    """Stands up, walks with one skill after another, stops, lies down."""

    def __init__(
        self,
        skills: tuple[int, ...],
        seconds: float,
        velocity: Array | None = None,
        *,
        settle: float = SETTLE,
        at_rest: Callable[[], bool] = lambda: True,
        may: Callable[[str], bool] = lambda what: True,
    ) -> None:
        """Walk `seconds` with each of the skills, after the robot has lain `at_rest` for `settle` seconds.

        `may` is asked, in words, before the robot stands up and before it walks, until it agrees.
        """
        self._skills, self._turn = skills, 0
        self._seconds, self._velocity = seconds, velocity
        self._settle, self._at_rest, self._may = settle, at_rest, may
        self._entered = 0.0
        self._state = ControllerState.IDLE
        self._asked: float | None = None
        self._stopped = self.done = False

    def next_request(self, state: ControllerState, now: float) -> OperatorRequest:
        """Follow the plan by what the controller does."""
        if self._asked is None or state is not self._state:
            self._state, self._entered = state, now
            self._asked = now
        if state is ControllerState.IDLE and not self._stopped and not self._at_rest():
            self._entered = self._asked = now
        since, waited = now - self._entered, now - self._asked
        if (state is ControllerState.IDLE and self._stopped) or state in (
            ControllerState.FAULT,
            ControllerState.DAMP,
        ):
            self.done = since > REST
        elif state is ControllerState.IDLE and waited > self._settle and self._may(STAND_UP):
            self._asked = now
            return OperatorRequest(Request.STAND)
        elif state is ControllerState.READY and waited > SETTLE:
            if self._stopped:
                return OperatorRequest(Request.SIT)
            if self._may(self._walking()):
                return self._walk(0, now)
        elif state is ControllerState.WALK and waited >= self._seconds:
            if self._turn + 1 < len(self._skills):
                return self._walk(self._turn + 1, now)
            self._stopped = True
            return OperatorRequest(Request.STOP)
        return OperatorRequest(Request.NOTHING)

    def _walk(self, turn: int, now: float) -> OperatorRequest:
        self._turn, self._asked = turn, now
        return OperatorRequest(Request.WALK, self._skills[turn], self._velocity)

    def _walking(self) -> str:
        velocity = (
            "" if self._velocity is None else f" at {self._velocity.tolist()} (m/s, m/s, rad/s)"
        )
        skills = ", then ".join(f"{self._seconds:g} s with skill {skill}" for skill in self._skills)
        return f"walk {skills}{velocity}, stop, and lie down"


class Spectator:
    """Asks for nothing, for a while: who only watches a robot needs no other operator."""

    def __init__(self, seconds: float) -> None:
        """Watch for so many seconds of the robot's time."""
        self._seconds = seconds
        self._begun: float | None = None
        self.done = False

    def next_request(self, state: ControllerState, now: float) -> None:
        """Say nothing."""
        self._begun = now if self._begun is None else self._begun
        self.done = now - self._begun >= self._seconds


class Remote:
    """A person at a keyboard or gamepad, in another process."""

    done = False

    def __init__(self, link: LcmLink, clock: Clock = CLOCK) -> None:
        """Listen to operator commands."""
        self._clock = clock
        self._wishes: list[OperatorRequest] = []
        self._fresh = ReplayFilter()
        self.dropped = 0
        link.subscribe(OPERATOR, self._hear)

    def next_request(self, state: ControllerState, now: float) -> OperatorRequest | None:
        """Return the oldest wish that was not yet granted."""
        return self._wishes.pop(0) if self._wishes else None

    def _hear(self, command: Any, data: bytes) -> None:  # noqa: ANN401  # generated classes have no types
        known = command.request in WIRE_REQUESTS
        if known and self._fresh.accept(command, self._clock.now_ns()):
            self._wishes.append(operator_request_of(command))
        else:
            self.dropped += 1
