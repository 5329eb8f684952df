"""The robot process: the only one that moves motors. It senses, publishes, listens, and lets the gate decide."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from deploy.common.clock import CLOCK, Clock, Samples
from deploy.common.faults import Cause, Fault
from deploy.common.robot_constants import TICK, damping_command
from deploy.common.robot_error import RobotError
from deploy.common.sensors import Sensors
from deploy.messages.conversions import state_of
from deploy.messages.lcm_link import (
    COMMAND,
    OPERATOR,
    STATE,
    Freshness,
    LcmLink,
    Request,
    new_session,
)
from deploy.robots.robot import Robot

from .gate import Gate

PRIORITY = 60
"""Above the controller: motors must be damped also while that one works."""
START, PATIENCE = 30.0, 3.0
"""How long a lock-step waits for a controller's first answer, and for any other before it goes on without [s]."""
WAIT = 0.1
"""How long one look for messages lasts in lock-step [s]."""


class RobotProcess:
    """One robot behind LCM."""

    def __init__(
        self,
        robot: Robot,
        link: LcmLink,
        gate: Gate,
        *,
        lockstep: bool = False,
        person: bool = False,
        until: Callable[[], bool] = lambda: False,
        clock: Clock = CLOCK,
    ) -> None:
        """Listen to the controller and to the operator; in lock-step every state waits for its answer, or `until`.

        Where a `person` operates, by a program of its own, their silence is timed here, whatever the controller says.
        """
        self._clock, self._until = clock, until
        self.robot, self.gate = robot, gate
        self._link, self._lockstep = link, lockstep
        self._session = new_session()
        self._sequence = 0
        self._answered = 0
        self._patience = START
        self._now = self._acting = 0.0
        self._person = person
        gate.operator_heard = -inf if person else None
        self._fresh = Freshness()
        self._delay = 0.0
        self._delays = Samples(10_000)
        self.dropped = 0
        link.subscribe(COMMAND, self._take)
        link.subscribe(OPERATOR, self._operator)

    @property
    def session(self) -> int:
        """The number that commands for this process carry."""
        return self._session

    @property
    def skill(self) -> int:
        """The skill that has the motors; -1 if none."""
        return self.gate.followed.skill if self.gate.powered else -1

    @property
    def delay_ms(self) -> dict[str, float] | None:
        """From sensor to torque while a skill had the motors; None if none had them."""
        if not self._delays.count:
            return None
        values = np.percentile(self._delays.values(), [0, 50, 100])
        least, middle, most = (round(1000 * float(value), 3) for value in values)
        return {"min": least, "p50": middle, "max": most}

    def tick(self, now: float | None = None) -> None:
        """Sense, tell, listen, decide, drive; on the robot's clock, unless a test brings another time.

        A mistake in this program is a fault like any other: latched, and damping goes on in every further tick.

        Raises:
            RobotError: The robot says that nothing more will come of it.
        """
        sensors = self._sense()
        try:
            self._act(sensors, now)
        except Exception as error:  # whatever it is: a process that ends leaves the legs limp
            self._fail(error)
            with suppress(Exception):  # tried again in every tick
                self.robot.drive(damping_command(), self._now)

    def _sense(self) -> Sensors | None:
        try:
            return self.robot.sense()
        except RobotError:
            raise
        except Exception as error:
            self._fail(error)
            self._clock.sleep(TICK)  # `sense` may not have kept time
            return None

    def _act(self, sensors: Sensors | None, now: float | None) -> None:
        now = self._now = self.robot.time if now is None else now
        if sensors is not None:
            self._tell(sensors)
        if self._lockstep:
            self._await_answer()
        else:
            self._link.receive()
        followed = self.gate.followed
        command = self.gate.decide(sensors, now)
        observed = (
            followed.observed_ns * 1e-9 if self.gate.powered and followed is not None else now
        )
        acting = self.robot.drive(command, observed)
        if acting != self._acting:
            self._acting, self._delay = acting, now - acting
            if self.skill >= 0:
                self._delays.add(self._delay)

    def stop(self) -> None:
        """Damp for good: a person has asked for it."""
        self.gate.fault = self.gate.fault or Fault(Cause.OPERATOR_STOP)
        self.robot.stop()
        self._lockstep = False  # nobody needs to be waited for

    def _fail(self, error: Exception) -> None:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        note = f"{type(error).__name__} in {where}: {error}"
        fault = Fault(Cause.ROBOT_PROGRAM, note=note)
        self.gate.fault = self.gate.fault or fault
        with suppress(Exception):  # tried again in every tick that fails
            self.robot.stop(str(fault))  # in bring-up, motors are not the gate's

    def _tell(self, sensors: Sensors) -> None:
        message = state_of(sensors)
        self._sequence += 1
        message.sequence, message.session = self._sequence, self._session
        followed, fault = self.gate.followed, self.gate.fault
        message.command_sequence = -1 if followed is None else followed.sequence
        message.delay_ns = round(self._delay * 1e9)
        if fault is not None:
            message.fault, message.fault_joint, message.fault_value = (
                fault.cause,
                fault.joint,
                fault.value,
            )
        self._told = message
        self._link.publish(STATE, message)

    def _await_answer(self) -> None:
        self._link.receive()
        silent = (
            0  # looks are counted, not seconds: a machine that stands still takes nobody's patience
        )
        while (
            self._answered < self._sequence and silent < self._patience / WAIT and not self._until()
        ):
            if self._link.receive(WAIT) == 0:
                silent += 1
                self._link.publish(STATE, self._told)  # who has just begun to listen has missed it
        # A controller that is gone is waited for once; time must go on, and damping with it.
        self._patience = PATIENCE if self._answered == self._sequence else 0.0

    def _take(self, command: Any, data: bytes) -> None:  # noqa: ANN401  # generated classes have no types
        followed = self.gate.followed
        same = followed is not None and command.session == followed.session
        if (
            command.robot_session != self._session  # meant for a robot process that is no more
            or command.expires_ns <= self._now * 1e9  # late, or kept and sent again
            or (same and command.sequence <= followed.sequence)
        ):
            self.dropped += 1
        elif not same and self.gate.powered:
            self.gate.fault = self.gate.fault or Fault(Cause.COMMAND_FOREIGN)
        else:
            self._answered = command.state_sequence
            self.gate.offer(command, self.robot.largest_gains)

    def _operator(self, command: Any, data: bytes) -> None:  # noqa: ANN401
        if not self._fresh.take(command, self._clock.now_ns()):
            self.dropped += 1
            return
        if self._person:
            self.gate.operator_heard = self._now
        if command.request == Request.DAMP:
            self.stop()
        elif command.request == Request.REARM:
            self.gate.rearm()
