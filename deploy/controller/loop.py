"""The controller's loop: listen, tick, publish; on the wall clock at 1 kHz, or in lock-step with the robot."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deploy.common.clock import CLOCK, Clock, Samples, Ticker
from deploy.common.robot_constants import TICK
from deploy.common.state_machine import ControllerState
from deploy.common.walk_summary import WalkSummary
from deploy.messages.lcm_link import COMMAND, OBSERVATION, OPERATOR, STATE, STATUS, LcmLink
from deploy.messages.operator_request import operator_message
from deploy.operators.operators import Operator
from deploy.recorder.recorder import Recorder

from .controller import Controller

STATUS_TICKS, FIRST_MINUTE = 100, 60_000
FIRST_STATE_SECONDS = 30.0
"""Timeout for the robot's first state [s]."""
LOST_STATE_SECONDS = 10.0
"""Timeout for any further state in lock-step [s]."""
POLL_SECONDS = 0.1
"""Duration of one poll for messages in lock-step [s]."""


@dataclass
class LoopReport:
    """What a loop has to say of itself."""

    history: list[dict[str, Any]] = field(default_factory=list)
    """States of the controller and skills it walked with, with the times at which they began."""
    faults: list[str] = field(default_factory=list)
    ticks: int = 0
    overruns: int = 0
    skipped: int = 0
    malformed: int = 0
    forged: int = 0
    unsent: int = 0
    work: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Duration of every tick's work [s]: reading messages with their codes, estimate, checks, policy, sending, log.

    In lock-step, where reading waits for the robot, without taking messages apart."""
    age: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Age of the state that every tick acted on [s]."""
    lateness: np.ndarray = field(default_factory=lambda: np.zeros(0))
    memory: dict[str, float] = field(default_factory=dict)
    """Of the process, after the first minute and at the end [MB]."""
    walk: WalkSummary | None = None
    """Walk by the onboard estimator; None until the loop has ended."""
    ended: str = ""


class Loop:
    """Runs one controller."""

    def __init__(
        self,
        controller: Controller,
        link: LcmLink,
        operator: Operator,
        recorder: Recorder | None,
        clock: Clock = CLOCK,
    ) -> None:
        """Listen to the robot."""
        self._clock = clock
        self._controller, self._link, self._operator, self._recorder = (
            controller,
            link,
            operator,
            recorder,
        )
        self._newest: int | None = None
        self._news = False
        self._doing: tuple[ControllerState, int] | None = None
        self._readonly = False
        self._late = self._heard = 0.0
        self._work, self._age = Samples(), Samples()
        self.report = LoopReport()
        link.subscribe(STATE, self._hear)

    def run(
        self, until: Callable[[], bool], *, lockstep: bool = False, readonly: bool = False
    ) -> LoopReport:
        """Run until the operator is done, `until` says so, or the robot is gone; a mistake is reported and raised."""
        self._readonly = readonly
        try:
            self.report.ended = self._lockstep(until) if lockstep else self._wall(until)
        except Exception as error:
            self._break_off(error)
            raise
        finally:
            self._sum_up()
        return self.report

    def _break_off(self, error: Exception) -> None:
        """Name a mistake in this program: nobody commands any more, and the robot's last line damps."""
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        self.report.ended = (
            f"the controller's program failed: {type(error).__name__} in {where}: {error}"
        )
        if self._recorder is not None:
            self._recorder.incident(self.report.ended)

    def _sum_up(self) -> None:
        self.report.malformed, self.report.forged = self._link.malformed, self._link.forged
        self.report.unsent = self._link.unsent
        self.report.memory["last"] = memory()
        self.report.walk = self._controller.odometry.summary()
        self.report.work, self.report.age = self._work.values(), self._age.values()

    def _wall(self, until: Callable[[], bool]) -> str:
        ticker = Ticker(TICK, clock=self._clock)
        try:
            while not (until() or self._operator.done):
                before, late = ticker.skipped, ticker.wait()
                begun = time.perf_counter()
                self._link.receive()
                if self._newest is not None:
                    self._late = late * 1e-9
                    left_out = (
                        ticker.skipped - before
                    )  # by every tick that is late by more than a period
                    self.report.overruns += left_out > 0
                    self._controller.on_late_ticks(left_out)
                    now_ns = self._clock.now_ns()
                    if left_out:  # what a replay cannot know otherwise
                        self._keep(STATUS, self._status(now_ns).encode())
                    self._tick(now_ns)
                elif ticker.ticks > FIRST_STATE_SECONDS / TICK:
                    return "no robot was heard of"
                self._work.add(time.perf_counter() - begun)
        finally:
            self.report.lateness, self.report.skipped = ticker.lateness(), ticker.skipped
        return "done" if self._operator.done else "stopped"

    def _lockstep(self, until: Callable[[], bool]) -> str:
        while not (until() or self._operator.done):
            # Looks are counted, not seconds: a machine that stands still takes nobody's patience.
            silent, patience = (
                0,
                (FIRST_STATE_SECONDS if self._newest is None else LOST_STATE_SECONDS)
                / POLL_SECONDS,
            )
            self._heard = 0.0
            while not self._news:
                if until():
                    return "stopped"
                if silent > patience:
                    return "no robot was heard of" if self._newest is None else "the robot is gone"
                silent += self._link.receive(POLL_SECONDS) == 0
            self._news = False
            assert self._newest is not None  # there was news
            begun = time.perf_counter()
            self._tick(self._newest)
            self._work.add(self._heard + time.perf_counter() - begun)
        return "done" if self._operator.done else "stopped"

    def _tick(self, now_ns: int) -> None:
        controller = self._controller
        self._age.add((now_ns - (self._newest or 0)) * 1e-9)
        wish = self._operator.next_request(controller.state, now_ns * 1e-9)
        if wish is not None and not self._readonly:
            if wish.request or wish.velocity is not None:
                self._keep(OPERATOR, operator_message(wish, self.report.ticks, now_ns).encode())
            controller.on_operator_request(wish.request, now_ns, wish.skill, wish.velocity)
        command = controller.tick(now_ns)
        seen = controller.policy_input(now_ns)
        if seen is not None:
            self._keep(OBSERVATION, seen.encode())
        if not self._readonly:
            self._keep(COMMAND, self._link.publish(COMMAND, command))
        self.report.ticks += 1
        if self.report.ticks == FIRST_MINUTE:
            self.report.memory["first"] = memory()
        if self.report.ticks % STATUS_TICKS == 0:
            self._tell(now_ns)
        doing = (
            controller.state,
            controller.skill if controller.state is ControllerState.WALK else -1,
        )
        if doing != self._doing:  # hearing a state may have changed it, too
            self._doing = doing
            self._remember(now_ns)

    def _tell(self, now_ns: int) -> None:
        self._link.publish(STATUS, self._status(now_ns))

    def _status(self, now_ns: int) -> Any:  # noqa: ANN401  # generated classes have no types
        status = self._controller.status(now_ns)
        status.ticks, status.overruns, status.lateness = (
            self.report.ticks,
            self.report.overruns,
            self._late,
        )
        return status

    def _remember(self, now_ns: int) -> None:
        state = self._controller.state
        entry = {"time": now_ns * 1e-9, "state": state.name}
        if state is ControllerState.WALK:
            entry["skill"] = self._controller.skill
        if state is ControllerState.FAULT:
            self.report.faults.append(str(self._controller.fault))
            if self._recorder is not None:
                self._recorder.incident(str(self._controller.fault))
        self.report.history.append(entry)

    def _hear(self, message: Any, data: bytes) -> None:  # noqa: ANN401  # generated classes have no types
        begun = time.perf_counter()
        if not self._controller.on_robot_state(message):
            return  # a log has what the controller acted on, once
        self._newest, self._news = message.time_ns, True
        self._keep(STATE, data)
        self._heard += time.perf_counter() - begun

    def _keep(self, channel: str, data: bytes) -> None:
        if self._recorder is not None:
            self._recorder.put(channel, data)


def memory() -> float:
    """Memory that this process holds [MB]."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
