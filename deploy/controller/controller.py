"""One tick of control: what was heard goes in, a joint command comes out. No clock, no socket: the loop has those."""

from __future__ import annotations

from typing import Any

import numpy as np

from deploy.common.debounce import HoldTimer
from deploy.common.deploy_config import ControllerConfig
from deploy.common.faults import Cause, Fault
from deploy.common.robot_constants import TICK
from deploy.common.sensors import Sensors
from deploy.common.state_machine import POWERED, ControllerEvent, ControllerState, next_state
from deploy.messages.conversions import sensors_from_message
from deploy.messages.lcm_link import COMMAND, OBSERVATION, STATUS, Mode, Request, blank, new_session
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.solo12.constants import Array
from solo_doi.solo12.estimator import Estimate, Estimator

from .motion import Mover
from .odometry import Odometry
from .safety import Safety

COMMAND_LIFETIME_NS = 20_000_000
"""Time for which a joint command is valid, equal to the master board's own timeout [ns]."""
REARM_NS = 500_000_000
"""How long a request to re-arm waits for the robot, which hears it at the same time, to be without a fault."""
MOVING = 0.5
"""Joint velocity of a robot that does not rest: motors switched on meanwhile would find joints elsewhere [rad/s]."""
EVENTS = {
    Request.STAND: ControllerEvent.STAND, Request.WALK: ControllerEvent.WALK, Request.STOP: ControllerEvent.STOP,
    Request.SIT: ControllerEvent.SIT, Request.DAMP: ControllerEvent.DAMP,
}  # fmt: skip


class Controller:
    """State machine, estimator and safety of one robot; what its motors are told is the mover's."""

    def __init__(
        self,
        bundle: Bundle,
        skill: int,
        config: ControllerConfig | None = None,
        *,
        force: bool = False,
    ) -> None:
        """Begin idle, with a skill to walk with; skills that evaluation rejected need `force`."""
        self.config = config or ControllerConfig()
        self.bundle = bundle
        self.state = ControllerState.IDLE
        self.skill = skill
        self.fault: Fault | None = None
        self.session = new_session()
        self.estimate: Estimate | None = None
        self._contract = bundle.contract
        self._allowed = bundle.allowed(force=force)
        self._estimator = Estimator()
        self._safety = Safety(self.config.safety)
        self._mover = Mover(bundle, self.config, self._safety)
        self._delayed = HoldTimer(self.config.safety.patience)
        self.odometry = Odometry()
        self._heard: Any = None
        self._sensors: Sensors | None = None
        self._missed = 0
        self._heartbeat_ns = 0
        self._observed_ns = 0
        self._rearm_until = 0
        self._sequence = 0

    # --- What is heard ---------------------------------------------------------------------------

    def on_robot_state(self, message: Any) -> bool:  # noqa: ANN401  # generated classes have no types
        """Take a state of the robot, and return whether it is news; older ones than the newest are dropped."""
        if self._heard is not None and message.session == self._heard.session:
            if message.sequence <= self._heard.sequence:
                return False
            if not message.fault:  # one that damps by itself owes nothing more
                self._missed += message.sequence - self._heard.sequence - 1
        elif self._heard is not None:
            self._fail(Fault(Cause.ROBOT_RESTARTED))
            self._estimator = Estimator()
        self._take(message)
        return True

    def on_operator_request(
        self, request: Request, now_ns: int, skill: int = -1, velocity: Array | None = None
    ) -> None:
        """Take a wish of the operator."""
        self.on_heartbeat(now_ns)
        if velocity is not None and np.isfinite(velocity).all():
            self._mover.command_velocity(velocity)
        if request is Request.REARM:
            self._rearm_until = now_ns + REARM_NS
        elif request is Request.WALK and skill >= 0 and skill not in self._allowed:
            return  # better no walk than with another skill than the one asked for
        elif request in EVENTS:
            if request is Request.WALK and skill >= 0:
                self.skill = skill
            self._handle(EVENTS[request])

    def on_heartbeat(self, now_ns: int) -> None:
        """Learn that the operator is there."""
        self._heartbeat_ns = now_ns

    @property
    def at_rest(self) -> bool:
        """Whether motors follow and no joint moves, so that motors may be switched on."""
        sensors = self._sensors
        return sensors is not None and bool(
            sensors.ready.all() and np.abs(sensors.joint_velocity).max() <= MOVING
        )

    def on_late_ticks(self, late: int) -> None:
        """Learn from the loop by how many whole ticks this one was late: so many were left out."""
        fault = self._safety.on_time(late)
        if fault is not None and self.state in POWERED:
            self._fail(fault)

    # --- What is done ----------------------------------------------------------------------------

    def tick(self, now_ns: int) -> Any:  # noqa: ANN401  # generated classes have no types
        """Return the joint command of this tick."""
        sensors, self._mover.seen = self._sensors, None
        if now_ns < self._rearm_until and not self._still_bad():
            self._rearm_until = 0
            self._handle(ControllerEvent.REARM)
        if sensors is not None and self._heard is not None:
            self._watch(sensors, now_ns)
            if self.state in POWERED and self.estimate is not None:
                self._act(sensors, self.estimate)
        self.odometry.update(self.state, sensors, self.estimate, self._mover.commanded)
        return self._message(now_ns)

    def status(self, now_ns: int) -> Any:  # noqa: ANN401  # generated classes have no types
        """Return what the controller does, for whoever watches."""
        status = blank(STATUS)
        status.sequence, status.time_ns, status.session = self._sequence, now_ns, self.session
        status.state, status.skill = self.state, self.skill
        if self.fault is not None:
            status.fault, status.fault_joint, status.fault_value = (
                self.fault.cause,
                self.fault.joint,
                self.fault.value,
            )
            status.robot_fault = self.fault.behind
        if self.estimate is not None:
            status.velocity, status.gravity = (
                self.estimate.velocity_b.tolist(),
                self.estimate.gravity_b.tolist(),
            )
        return status

    def policy_input(self, now_ns: int) -> Any:  # noqa: ANN401  # generated classes have no types
        """Return what the policy saw in this tick, for the log; None if it was not its turn."""
        if self._mover.seen is None:
            return None
        message = blank(OBSERVATION)
        message.sequence, message.time_ns, message.session = self._sequence, now_ns, self.session
        message.skill, message.observation = self.skill, self._mover.seen.tolist()
        return message

    def _take(self, message: Any) -> None:  # noqa: ANN401
        before, self._heard = self._heard, message
        sensors = sensors_from_message(message)
        fault = self._safety.finite(sensors)
        if fault is not None:
            self._fail(fault)
            return
        same_robot = before is not None and before.session == message.session
        dt = (message.time_ns - before.time_ns) * 1e-9 if same_robot else TICK
        self._sensors = sensors
        self.estimate = self._estimator.update(
            sensors.joint_position, sensors.joint_velocity, sensors.joint_torque,
            sensors.angular_velocity_b, sensors.acceleration_b, min(max(dt, 0.0), 10 * TICK),
        )  # fmt: skip
        missed, self._missed = self._missed, 0
        if self.state in POWERED:
            fault = self._safety.sensing(sensors, missed) or self._safety.moving(
                sensors, self.estimate
            )
            if fault is not None:
                self._fail(fault)

    def _watch(self, sensors: Sensors, now_ns: int) -> None:
        if self.state not in POWERED:
            return
        limits = self.config.safety
        age = now_ns * 1e-9 - sensors.time
        silence = (now_ns - self._heartbeat_ns) * 1e-9
        delay = self._heard.delay_ns * 1e-9
        _, least, most = self._contract.motor_lag
        out_of_range = (
            self.state is ControllerState.WALK and delay > 0.0 and not least <= delay <= most
        )
        if (
            not -limits.state_age <= age <= limits.state_age
        ):  # one from the future would never grow old
            self._fail(Fault(Cause.STATE_STALE, 1000 * age))
        elif self._heard.fault == Cause.OPERATOR_STOP:  # a person has told the robot
            self._handle(ControllerEvent.DAMP)
        elif self._heard.fault:
            self._fail(_robot_fault(self._heard))
        elif silence > limits.operator_age:
            self._fail(Fault(Cause.OPERATOR_SILENT, 1000 * silence))
        elif self._delayed.expired(out_of_range, sensors.time):
            self._fail(Fault(Cause.DELAY, 1000 * delay))

    def _act(self, sensors: Sensors, estimate: Estimate) -> None:
        fault = self._mover.act(self.state, sensors, estimate)
        if self._mover.seen is not None:
            self._observed_ns = self._heard.time_ns
        if fault is not None:
            self._fail(fault)
        elif self._mover.arrived:
            self._handle(ControllerEvent.ARRIVED)

    # --- States ----------------------------------------------------------------------------------

    def _handle(self, event: ControllerEvent) -> None:
        before, self.state = self.state, next_state(self.state, event)
        if self.state is ControllerState.WALK and before is ControllerState.WALK:
            self._mover.switch(self.skill)
        elif self.state is not before:
            self._enter(before)

    def _enter(self, before: ControllerState) -> None:
        if self.state not in POWERED:
            self._mover.damp(self._sensors)
            if self.state is ControllerState.IDLE:
                self.fault = None
            return
        if self._sensors is None or not (before in POWERED or self.at_rest):
            # Nothing is known of the robot, its motors do not follow, or it still sinks to the ground: stay.
            self.state = before
            return
        self._mover.enter(self.state, before, self._sensors, self.skill)

    def _fail(self, fault: Fault) -> None:
        """Latch the first fault and damp."""
        if self.state is not ControllerState.FAULT:
            self.fault = fault
        self._handle(ControllerEvent.FAULT)

    def _still_bad(self) -> bool:
        return self._heard is None or bool(self._heard.fault)

    def _message(self, now_ns: int) -> Any:  # noqa: ANN401
        message, mover = blank(COMMAND), self._mover
        self._sequence += 1
        message.sequence, message.time_ns, message.session = self._sequence, now_ns, self.session
        message.mode, message.skill = (
            mover.mode,
            self.skill if self.state is ControllerState.WALK else -1,
        )
        message.bundle = bytes.fromhex(self.bundle.hash)
        message.position, message.kp, message.kd = mover.target.tolist(), mover.kp, mover.kd
        message.heartbeat_ns = self._heartbeat_ns
        if self._heard is not None:
            message.robot_session, message.state_sequence = (
                self._heard.session,
                self._heard.sequence,
            )
            message.expires_ns = self._heard.time_ns + COMMAND_LIFETIME_NS
            message.observed_ns = (
                self._observed_ns if mover.mode is Mode.POLICY else self._heard.time_ns
            )
        return message


def _robot_fault(state: Any) -> Fault:  # noqa: ANN401  # generated classes have no types
    """What the robot says of itself, which may be another version of this program."""
    return Fault(Cause.ROBOT_FAULT, state.fault_value, state.fault_joint, Cause.of(state.fault))
