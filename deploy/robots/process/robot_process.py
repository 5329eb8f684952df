"""Robot process: the only process that moves motors.

In each tick it reads sensors, publishes the state, receives commands, and sends the command that
the gate allows.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import suppress
from math import inf
from pathlib import Path

import numpy as np

from deploy.common.clock import CLOCK, Clock, Samples
from deploy.common.faults import Cause, Fault
from deploy.common.robot_constants import LOCKSTEP_POLL_SECONDS, TICK, damping_command
from deploy.common.robot_error import RobotError
from deploy.common.sensors import Sensors
from deploy.messages.conversions import state_message
from deploy.messages.generated import joint_command, operator_command
from deploy.messages.lcm_link import (
    COMMAND_CHANNEL,
    OPERATOR_CHANNEL,
    STATE_CHANNEL,
    LcmLink,
    ReplayFilter,
    Request,
    new_session,
)
from deploy.robots.robot import Robot

from .gate import Gate
from .outliers import OutlierFilter

ROBOT_PRIORITY = 60
"""Real-time priority, above the controller's, so that motors can be damped while it is busy."""
FIRST_COMMAND_SECONDS = 30.0
"""Timeout for the controller's first command in lock-step [s]."""
NEXT_COMMAND_SECONDS = 3.0
"""Timeout for each further command in lock-step [s]."""


class RobotProcess:
    """Connects one robot to LCM through the gate."""

    def __init__(
        self,
        robot: Robot,
        link: LcmLink,
        gate: Gate,
        *,
        lockstep: bool = False,
        separate_operator: bool = False,
        until: Callable[[], bool] = lambda: False,
        clock: Clock = CLOCK,
    ) -> None:
        """Subscribe to commands of the controller and of the operator.

        In lock-step, each tick waits for the command that answers its state, or until `until` is
        true. With `separate_operator`, the operator is a separate process; its silence is timed
        here, independently of the controller.
        """
        self._clock = clock
        self._until = until
        self.robot = robot
        self.gate = gate
        self.outliers = OutlierFilter()
        self._link = link
        self._lockstep = lockstep
        self._session = new_session()
        self._sequence = 0
        self._answered = 0
        self._timeout = FIRST_COMMAND_SECONDS
        self._now = self._acting = 0.0
        self._separate_operator = separate_operator
        gate.operator_time = -inf if separate_operator else None
        self._fresh = ReplayFilter()
        self._delay = 0.0
        self._delays = Samples(10_000)
        self.dropped = 0
        link.subscribe(COMMAND_CHANNEL, self._on_command)
        link.subscribe(OPERATOR_CHANNEL, self._on_operator)

    @property
    def session(self) -> int:
        """Session number that commands to this process must contain."""
        return self._session

    @property
    def skill(self) -> int:
        """Skill that drives the motors; -1 if none."""
        followed = self.gate.followed
        if followed is None or not self.gate.powered or self.gate.lies_down:
            return -1
        return followed.skill

    @property
    def delay_ms(self) -> dict[str, float] | None:
        """Delay from sensor to torque while a skill drove the motors [ms]; None if none did."""
        if not self._delays.count:
            return None
        values = np.percentile(self._delays.values(), [0, 50, 100])
        least, middle, most = (round(1000 * float(value), 3) for value in values)
        return {"min": least, "p50": middle, "max": most}

    @property
    def rejected(self) -> dict[str, int]:
        """Number of rejected measurements by kind, those of the robot's own driver included."""
        return dict(sorted((self.outliers.counts + self.robot.rejected).items()))

    def tick(self, now: float | None = None) -> None:
        """Read sensors, publish, receive, decide, drive.

        `now` replaces the robot's clock in tests [s].
        An exception is latched as a fault, and every further tick damps.

        Raises:
            RobotError: The robot cannot be used any more.
        """
        sensors = self._sense()
        try:
            self._act(sensors, now)
        except Exception as error:  # if the process ended, the legs would not be damped
            self._fail(error)
            with suppress(Exception):  # damping is sent again in the next tick
                self.robot.drive(damping_command(), self._now)

    def _sense(self) -> Sensors | None:
        try:
            sensors = self.robot.sense()
            if sensors is None:
                return None
            return self._plausible(sensors)
        except RobotError:
            raise
        except Exception as error:
            self._fail(error)
            self._clock.sleep(TICK)  # the failed `sense` did not wait for the next tick
            return None

    def _plausible(self, sensors: Sensors) -> Sensors:
        """Return measurements without outliers; latch lasting ones while motors hold positions."""
        sensors, fault = self.outliers.clean(sensors)
        if self.gate.powered:
            self.gate.latch(fault)
        else:
            self.outliers.reset()
        return sensors

    def _act(self, sensors: Sensors | None, now: float | None) -> None:
        if now is None:
            now = self.robot.time
        self._now = now
        if sensors is not None:
            self._publish(sensors)
        if self._lockstep:
            self._await_answer()
        else:
            self._link.receive()
        followed = self.gate.followed
        command = self.gate.decide(sensors, now)
        observed = now
        if followed is not None and self.gate.powered and not self.gate.lies_down:
            observed = followed.observed_ns * 1e-9
        acting = self.robot.drive(command, observed)
        if acting != self._acting:
            self._acting = acting
            self._delay = now - acting
            if self.skill >= 0:
                self._delays.add(self._delay)

    def stop(self) -> None:
        """Damp until re-armed, at the operator's request."""
        self.gate.latch(Fault(Cause.OPERATOR_STOP))
        self.robot.stop()
        self._lockstep = False  # damping must not wait for the controller

    def _fail(self, error: Exception) -> None:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        note = f"{type(error).__name__} in {where}: {error}"
        fault = Fault(Cause.ROBOT_PROGRAM, note=note)
        self.gate.latch(fault)
        with suppress(Exception):  # tried again in every tick that fails
            self.robot.stop(str(fault))  # during bring-up the gate does not control the motors

    def _publish(self, sensors: Sensors) -> None:
        message = state_message(sensors)
        self._sequence += 1
        message.sequence = self._sequence
        message.session = self._session
        followed = self.gate.followed
        fault = self.gate.fault
        message.command_sequence = -1 if followed is None else followed.sequence
        message.delay_ns = round(self._delay * 1e9)
        if fault is not None:
            message.fault = fault.cause
            message.fault_joint = fault.joint
            message.fault_value = fault.value
        self._published = message
        self._link.publish(STATE_CHANNEL, message)

    def _await_answer(self) -> None:
        self._link.receive()
        # Count polls instead of seconds, so that a stalled host does not time out.
        empty_polls = 0
        most_polls = self._timeout / LOCKSTEP_POLL_SECONDS
        while self._answered < self._sequence and empty_polls < most_polls and not self._until():
            if self._link.receive(LOCKSTEP_POLL_SECONDS) == 0:
                empty_polls += 1
                # Send the state again: a controller that has just subscribed has missed it.
                self._link.publish(STATE_CHANNEL, self._published)
        # Wait only once for a controller that is gone, so that ticks continue and damping acts.
        self._timeout = NEXT_COMMAND_SECONDS if self._answered == self._sequence else 0.0

    def _on_command(self, command: joint_command, data: bytes) -> None:
        followed = self.gate.followed
        same = False
        is_old = False
        if followed is not None:
            same = command.session == followed.session
            is_old = same and command.sequence <= followed.sequence
        if (
            is_old
            or command.robot_session != self._session  # meant for an earlier robot process
            or command.expires_ns <= self._now * 1e9  # late or replayed
        ):
            self.dropped += 1
        elif not same and self.gate.powered:
            self.gate.latch(Fault(Cause.COMMAND_FOREIGN))
        else:
            self._answered = command.state_sequence
            self.gate.offer(command, self.robot.largest_gains)

    def _on_operator(self, command: operator_command, data: bytes) -> None:
        if not self._fresh.accept(command, self._clock.now_ns()):
            self.dropped += 1
            return
        if self._separate_operator:
            self.gate.operator_time = self._now
        if command.request == Request.DAMP:
            self.stop()
        elif command.request == Request.REARM:
            self.gate.rearm()
