"""The controller's loop: receive, tick, publish; at 1 kHz, or in lock-step with the robot."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from deploy.common.clock import CLOCK, Clock, Samples, Ticker
from deploy.common.faults import Fault
from deploy.common.robot_constants import LOCKSTEP_POLL_SECONDS, TICK
from deploy.common.state_machine import ControllerState
from deploy.messages.generated import controller_status, robot_state
from deploy.messages.lcm_link import (
    COMMAND_CHANNEL,
    LARGEST_BATCH,
    OBSERVATION_CHANNEL,
    OPERATOR_CHANNEL,
    STATE_CHANNEL,
    STATUS_CHANNEL,
    WALK_END_CHANNEL,
    LcmLink,
)
from deploy.messages.operator_request import operator_message
from deploy.messages.walk_end_message import walk_end_message
from deploy.operators.operators import Operator
from deploy.recorder.recorder import Recorder

from .controller import Controller
from .loop_report import LoopEnd, LoopReport

STATUS_TICKS = 100
"""Ticks between two status messages."""
FIRST_MINUTE = 60_000
"""Tick of the first memory measurement, after one minute."""
FIRST_STATE_SECONDS = 30.0
"""Timeout for the robot's first state [s]."""
LOST_STATE_SECONDS = 10.0
"""Timeout for any further state in lock-step [s]."""


class Loop:
    """Runs one controller: receives messages, ticks, publishes and records."""

    def __init__(
        self,
        controller: Controller,
        link: LcmLink,
        operator: Operator,
        recorder: Recorder | None,
        clock: Clock = CLOCK,
    ) -> None:
        """Subscribe to the robot's states."""
        self._clock = clock
        self._controller = controller
        self._link = link
        self._operator = operator
        self._recorder = recorder
        self._newest_ns: int | None = None
        self._has_new_state = False
        self._fault: Fault | None = None
        self._activity: tuple[ControllerState, int] | None = None
        self._readonly = False
        self._lateness = 0.0
        self._state_work = 0.0
        self._work = Samples()
        self._age = Samples()
        self.report = LoopReport()
        link.subscribe(STATE_CHANNEL, self._on_state, queue=LARGEST_BATCH)

    def run(
        self, until: Callable[[], bool], *, lockstep: bool = False, readonly: bool = False
    ) -> LoopReport:
        """Run until the operator is done, `until` returns True, or the robot is lost.

        An exception is recorded in the report and raised.
        """
        self._readonly = readonly
        run = self._run_lockstep if lockstep else self._run_realtime
        try:
            self.report.ended = run(until)
        except Exception as error:
            self._record_error(error)
            raise
        finally:
            self._complete_report()
        return self.report

    def _record_error(self, error: Exception) -> None:
        """Record an exception as report and incident; the robot process damps without commands."""
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        self.report.ended = (
            f"the controller's program failed: {type(error).__name__} in {where}: {error}"
        )
        if self._recorder is not None:
            self._recorder.incident(self.report.ended)

    def _complete_report(self) -> None:
        self.report.malformed = self._link.malformed
        self.report.forged = self._link.forged
        self.report.unsent = self._link.unsent
        self.report.memory["last"] = memory()
        self.report.walk = self._controller.odometry.summary()
        self.report.work = self._work.values()
        self.report.age = self._age.values()

    def _run_realtime(self, until: Callable[[], bool]) -> str:
        ticker = Ticker(TICK, clock=self._clock)
        try:
            while not (until() or self._operator.done):
                skipped_before = ticker.skipped
                ticker.wait()
                begun = time.perf_counter()
                self._link.receive()
                # Read after receiving: a stall before this line is the loop's own lateness.
                now_ns = self._clock.now_ns()
                late_ns = ticker.stalled(now_ns)
                if self._newest_ns is not None:
                    self._lateness = late_ns * 1e-9
                    self._tick_realtime(now_ns, ticker.skipped - skipped_before)
                elif ticker.ticks > FIRST_STATE_SECONDS / TICK:
                    return "no state of the robot arrived"
                self._work.add(time.perf_counter() - begun)
        finally:
            self.report.lateness = ticker.lateness()
            self.report.skipped = ticker.skipped
        return self._ending()

    def _tick_realtime(self, now_ns: int, skipped: int) -> None:
        """Check the timing, then tick; `skipped` is the number of ticks just skipped."""
        self.report.overruns += skipped > 0
        self._controller.on_late_ticks(skipped)
        if skipped:  # a replay reads the lateness from this status
            self._log(STATUS_CHANNEL, self._status(now_ns).encode())
        self._tick(now_ns)

    def _run_lockstep(self, until: Callable[[], bool]) -> str:
        while not (until() or self._operator.done):
            # Count polls instead of seconds, so a stalled host does not time out.
            silent_polls = 0
            timeout = FIRST_STATE_SECONDS if self._newest_ns is None else LOST_STATE_SECONDS
            self._state_work = 0.0
            while not self._has_new_state:
                if until():
                    return LoopEnd.STOPPED.value
                if silent_polls > timeout / LOCKSTEP_POLL_SECONDS:
                    if self._newest_ns is None:
                        return "no state of the robot arrived"
                    return f"no state from the robot process for {LOST_STATE_SECONDS:.0f} s"
                silent_polls += self._link.receive(LOCKSTEP_POLL_SECONDS) == 0
            self._has_new_state = False
            assert self._newest_ns is not None  # set with the new state
            begun = time.perf_counter()
            self._tick(self._newest_ns)
            self._work.add(self._state_work + time.perf_counter() - begun)
        return self._ending()

    def _ending(self) -> str:
        if self._operator.done:
            return LoopEnd.DONE.value
        return LoopEnd.STOPPED.value

    def _tick(self, now_ns: int) -> None:
        controller = self._controller
        self._age.add((now_ns - (self._newest_ns or 0)) * 1e-9)
        self._pass_on_request(now_ns)
        command = controller.tick(now_ns)
        observation = controller.observation_message(now_ns)
        if observation is not None:
            self._log(OBSERVATION_CHANNEL, observation.encode())
        if controller.walk_end is not None:
            ending = walk_end_message(controller.walk_end, command)
            self._log(WALK_END_CHANNEL, self._link.publish(WALK_END_CHANNEL, ending))
        if not self._readonly:
            self._log(COMMAND_CHANNEL, self._link.publish(COMMAND_CHANNEL, command))
        self.report.ticks += 1
        if self.report.ticks == FIRST_MINUTE:
            self.report.memory["first"] = memory()
        if self.report.ticks % STATUS_TICKS == 0:
            self._link.publish(STATUS_CHANNEL, self._status(now_ns))
        self._record_fault()
        # Compared here, not in `Controller.tick`: messages can change the state too.
        skill = controller.skill if controller.state is ControllerState.WALK else -1
        activity = (controller.state, skill)
        if activity != self._activity:
            self._activity = activity
            self._record_activity(now_ns)

    def _pass_on_request(self, now_ns: int) -> None:
        """Log the operator's request, and pass it to the controller."""
        request = self._operator.next_request(self._controller.state, now_ns * 1e-9)
        if request is None or self._readonly:
            return
        if request.request or request.velocity is not None:  # heartbeats are not logged
            self._log(
                OPERATOR_CHANNEL, operator_message(request, self.report.ticks, now_ns).encode()
            )
        self._controller.on_operator_request(
            request.request, now_ns, request.skill, request.velocity
        )

    def _status(self, now_ns: int) -> controller_status:
        status = self._controller.status(now_ns)
        status.ticks = self.report.ticks
        status.overruns = self.report.overruns
        status.lateness = self._lateness
        return status

    def _record_activity(self, now_ns: int) -> None:
        """Add the controller's state to the history."""
        state = self._controller.state
        entry = {"time": now_ns * 1e-9, "state": state.name}
        if state is ControllerState.WALK:
            entry["skill"] = self._controller.skill
        if self._controller.walk_end is not None:
            entry["reason"] = str(self._controller.walk_end)
        self.report.history.append(entry)

    def _record_fault(self) -> None:
        """Record an incident for a new fault, and for one that escalates it."""
        fault = self._controller.fault
        if fault is self._fault:
            return
        self._fault = fault
        if fault is not None:
            self.report.faults.append(str(fault))
            if self._recorder is not None:
                self._recorder.incident(str(fault))

    def _on_state(self, message: robot_state, data: bytes) -> None:
        """Pass a state to the controller; log it only if the controller used it."""
        begun = time.perf_counter()
        if not self._controller.on_robot_state(message):
            return
        self._newest_ns = message.time_ns
        self._has_new_state = True
        self._log(STATE_CHANNEL, data)
        self._state_work += time.perf_counter() - begun

    def _log(self, channel: str, data: bytes) -> None:
        if self._recorder is not None:
            self._recorder.put(channel, data)


def memory() -> float:
    """Return the resident memory of this process [MB]."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
