"""The controller of one robot: messages in, joint commands out, without clock or socket.

A tick takes two calls, in this order. The loop receives messages first, so `on_robot_state` runs
the estimator and the safety checks on every new state of the robot. Then the loop calls `tick`,
which re-arms if requested, checks ages, delay and operator, computes the joint targets, stops a
walk at its bound, and returns the command. Any check can latch a fault; the command of that tick is
then damping.
"""

from __future__ import annotations

import numpy as np

from deploy.common.debounce import HoldTimer
from deploy.common.deploy_config import ControllerConfig
from deploy.common.faults import Cause, Fault
from deploy.common.reactions import Reaction, reaction_to
from deploy.common.robot_constants import TICK
from deploy.common.sensors import Sensors
from deploy.common.state_machine import POWERED, ControllerEvent, ControllerState, next_state
from deploy.messages.conversions import sensors_from_message
from deploy.messages.generated import controller_status, joint_command, policy_input, robot_state
from deploy.messages.lcm_link import (
    COMMAND_CHANNEL,
    OBSERVATION_CHANNEL,
    STATUS_CHANNEL,
    Mode,
    Request,
    blank,
    new_session,
)
from deploy.messages.walk_end_message import WalkEnd
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.solo12.constants import Array
from solo_doi.solo12.estimator import Estimate, Estimator

from .motion import MotionGenerator
from .odometry import Odometry
from .safety import Safety, attitude_difference
from .walk_bound import WalkBound

COMMAND_LIFETIME_NS = 20_000_000
"""Time for which a joint command is valid, equal to the master board's own timeout [ns]."""
REARM_NS = 500_000_000
"""Lifetime of a re-arm request, which takes effect when the robot has cleared its fault [ns]."""
LARGEST_RESTING_VELOCITY = 0.5
"""Joint velocity above which motors may not be switched on, as the legs still move [rad/s]."""
LARGEST_ESTIMATOR_STEP = 10 * TICK
"""Longest time step of the estimator, also after a gap in the states [s]."""
DOUBTFUL_TILT = 0.05
"""Difference between the tilts of IMU and estimator above which standing up takes the tilt from the
accelerometer again [rad]."""
EVENTS = {
    Request.STAND: ControllerEvent.STAND,
    Request.WALK: ControllerEvent.WALK,
    Request.STOP: ControllerEvent.STOP,
    Request.SIT: ControllerEvent.SIT,
    Request.DAMP: ControllerEvent.DAMP,
}
"""Requests that act at once. A re-arm request waits until the robot has no fault."""
EVENT_OF_REACTION = {
    Reaction.STAND: ControllerEvent.STOP,
    Reaction.SIT: ControllerEvent.SIT,
    Reaction.DAMP: ControllerEvent.FAULT,
}


class Controller:
    """State machine, estimator and safety checks of one robot."""

    def __init__(
        self,
        bundle: Bundle,
        skill: int,
        config: ControllerConfig | None = None,
        *,
        force: bool = False,
        distance: float | None = None,
    ) -> None:
        """Start idle; `skill` is the skill to walk with.

        `force` allows skills that their evaluation rejected. A walk ends `distance` metres from its
        start; None means no bound.
        """
        self.config = config or ControllerConfig()
        self.bundle = bundle
        self.state = ControllerState.IDLE
        self.skill = skill
        self.fault: Fault | None = None
        self.session = new_session()
        self.estimate: Estimate | None = None
        self.odometry = Odometry()
        self.walk_end: WalkEnd | None = None
        """End of a walk at its bound in this tick; None in all other ticks."""
        self._contract = bundle.contract
        self._allowed_skills = bundle.allowed(force=force)
        self._estimator = Estimator()
        self._safety = Safety(self.config.safety)
        self._motion = MotionGenerator(bundle, self.config, self._safety)
        self._walk_bound = WalkBound(distance)
        self._delay_timer = HoldTimer(self.config.safety.patience)
        self._newest: robot_state | None = None
        self._sensors: Sensors | None = None
        self._missed_states = 0
        self._late_ticks = 0
        self._own_lateness = 0.0
        self._heartbeat_ns = 0
        self._observed_ns = 0
        self._rearm_until_ns = 0
        self._sequence = 0

    # --- Inputs: messages and the loop's timing ---------------------------------------------------

    def on_robot_state(self, message: robot_state) -> bool:
        """Update the estimate with a robot state and check it; return False if the state is old."""
        newest = self._newest
        if newest is not None and message.session == newest.session:
            if message.sequence <= newest.sequence:
                return False
            # A robot that damps because of its own fault may skip states.
            if not message.fault:
                self._missed_states += message.sequence - newest.sequence - 1
        elif newest is not None:
            self._latch(Fault(Cause.ROBOT_RESTARTED))
            self._estimator = Estimator()
        self._newest = message
        self._own_lateness = 0.0
        self._estimate_and_check(message, newest)
        return True

    def on_operator_request(
        self, request: Request, now_ns: int, skill: int = -1, velocity: Array | None = None
    ) -> None:
        """Handle a request of the operator; a request of NOTHING is only a heartbeat."""
        self.on_heartbeat(now_ns)
        if self.fault is None and velocity is not None and np.isfinite(velocity).all():
            self._motion.command_velocity(velocity)
        if request is Request.REARM:
            self._rearm_until_ns = now_ns + REARM_NS
        elif request is Request.WALK and skill >= 0 and skill not in self._allowed_skills:
            return  # refuse to walk rather than walk with another skill
        elif self.fault is not None and request not in (Request.SIT, Request.DAMP):
            return  # a reaction to a fault can only escalate
        elif request in EVENTS:
            if request is Request.WALK and skill >= 0:
                self.skill = skill
            self._handle(EVENTS[request])

    def on_heartbeat(self, now_ns: int) -> None:
        """Restart the operator's timeout."""
        self._heartbeat_ns = now_ns

    def on_late_ticks(self, late_ticks: int) -> None:
        """Check the loop's timing; `late_ticks` is the number of ticks just skipped, usually 0.

        The skipped time is subtracted from the age of the robot's newest state in the next `tick`.
        """
        self._late_ticks = late_ticks
        fault = self._safety.check_timing(late_ticks)
        if fault is not None and self.state in POWERED:
            self._latch(fault)

    @property
    def at_rest(self) -> bool:
        """True if all motors are ready and no joint moves, so that positions may be held."""
        sensors = self._sensors
        if sensors is None or not sensors.ready.all():
            return False
        return bool(np.abs(sensors.joint_velocity).max() <= LARGEST_RESTING_VELOCITY)

    # --- Outputs: one command per tick, status and policy input on demand -------------------------

    def tick(self, now_ns: int) -> joint_command:
        """Return the joint command of this tick; see the module's docstring for the order."""
        sensors = self._sensors
        self._motion.observation = None
        if now_ns < self._rearm_until_ns and self._robot_is_healthy():
            self._rearm_until_ns = 0
            self._handle(ControllerEvent.REARM)
        if sensors is not None and self._newest is not None:
            self._check_watchdogs(self._newest, sensors, now_ns)
            if self.state in POWERED and self.estimate is not None:
                self._move(self._newest, sensors, self.estimate)
        self.odometry.update(self.state, sensors, self.estimate, self._motion.forward_command)
        self.walk_end = self._walk_bound.update(self.state, sensors, self.estimate)
        if self.walk_end is not None:
            self._handle(ControllerEvent.STOP)
        return self._command_message(now_ns)

    def status(self, now_ns: int) -> controller_status:
        """Return the state, fault and estimate, for consoles and logs."""
        status = blank(STATUS_CHANNEL)
        status.sequence = self._sequence
        status.time_ns = now_ns
        status.session = self.session
        status.state = self.state
        status.skill = self.skill
        if self.fault is not None:
            status.fault = self.fault.cause
            status.fault_joint = self.fault.joint
            status.fault_value = self.fault.value
            status.robot_fault = self.fault.behind
        if self.estimate is not None:
            status.velocity = self.estimate.velocity_b.tolist()
            status.gravity = self.estimate.gravity_b.tolist()
        return status

    def observation_message(self, now_ns: int) -> policy_input | None:
        """Return the policy's observation for the log; None if no policy step was due."""
        if self._motion.observation is None:
            return None
        message = blank(OBSERVATION_CHANNEL)
        message.sequence = self._sequence
        message.time_ns = now_ns
        message.session = self.session
        message.skill = self.skill
        message.observation = self._motion.observation.tolist()
        return message

    # --- Steps of a tick --------------------------------------------------------------------------

    def _estimate_and_check(self, message: robot_state, before: robot_state | None) -> None:
        """Update the estimate with a new state; check the state while motors hold positions."""
        sensors = sensors_from_message(message)
        fault = self._safety.check_finite(sensors)
        if fault is not None:
            self._latch(fault)
            return
        dt = TICK
        if before is not None and before.session == message.session:
            dt = (message.time_ns - before.time_ns) * 1e-9
        self._sensors = sensors
        self.estimate = self._estimator.update(
            sensors.joint_position, sensors.joint_velocity, sensors.joint_torque,
            sensors.angular_velocity_b, sensors.acceleration_b,
            min(max(dt, 0.0), LARGEST_ESTIMATOR_STEP),
        )  # fmt: skip
        missed = self._missed_states
        self._missed_states = 0
        if self.state in POWERED:
            fault = self._safety.check_news(sensors, missed)
            # A robot with a fault of its own sits or damps, and is checked by its own gate. That
            # fault is the cause, not what follows from it.
            if fault is None and not message.fault:
                fault = self._safety.check_motion(sensors, self.estimate)
            if fault is not None:
                self._latch(fault)

    def _check_watchdogs(self, newest: robot_state, sensors: Sensors, now_ns: int) -> None:
        """Check state age, robot's fault, operator and delay while motors hold positions."""
        if self.state not in POWERED:
            return
        limits = self.config.safety
        age = now_ns * 1e-9 - sensors.time
        late = self._lateness_since_newest(age)
        silence = (now_ns - self._heartbeat_ns) * 1e-9
        delay = newest.delay_ns * 1e-9
        _, shortest, longest = self._contract.motor_lag
        walking = self.state is ControllerState.WALK
        untrained_delay = walking and delay > 0.0 and not shortest <= delay <= longest
        # A state from the future would never become old, so both signs are checked.
        if age < -limits.state_age or not age - late <= limits.state_age:
            self._latch(Fault(Cause.STATE_STALE, 1000 * age))
        elif newest.fault == Cause.OPERATOR_STOP:  # the robot received the stop first
            self._handle(ControllerEvent.DAMP)
        elif newest.fault:
            self._latch(_robot_fault(newest))
        elif silence > limits.operator_age:
            self._latch(Fault(Cause.OPERATOR_SILENT, 1000 * silence))
        elif self._delay_timer.expired(untrained_delay, sensors.time):
            self._latch(Fault(Cause.DELAY, 1000 * delay))

    def _lateness_since_newest(self, age: float) -> float:
        """Return the time that the controller itself has skipped since the newest state [s].

        A stall of the computer stops the controller too. States that it did not wait for are not
        missing. `age` is the age of the newest state [s]: lateness before it does not count.
        """
        self._own_lateness = min(self._own_lateness + self._late_ticks * TICK, max(0.0, age))
        self._late_ticks = 0
        return self._own_lateness

    def _move(self, newest: robot_state, sensors: Sensors, estimate: Estimate) -> None:
        """Compute the joint targets of this tick."""
        fault = self._motion.update(self.state, sensors, estimate)
        if self._motion.observation is not None:
            self._observed_ns = newest.time_ns
        if fault is not None:
            self._latch(fault)
        elif self._motion.arrived:
            self._handle(ControllerEvent.ARRIVED)

    def _command_message(self, now_ns: int) -> joint_command:
        message = blank(COMMAND_CHANNEL)
        motion = self._motion
        newest = self._newest
        self._sequence += 1
        message.sequence = self._sequence
        message.time_ns = now_ns
        message.session = self.session
        message.mode = motion.mode
        message.skill = self.skill if self.state is ControllerState.WALK else -1
        message.bundle = bytes.fromhex(self.bundle.hash)
        message.position = motion.target.tolist()
        message.kp = motion.kp
        message.kd = motion.kd
        message.heartbeat_ns = self._heartbeat_ns
        if newest is not None:
            message.robot_session = newest.session
            message.state_sequence = newest.sequence
            message.expires_ns = newest.time_ns + COMMAND_LIFETIME_NS
            message.observed_ns = newest.time_ns
            if motion.mode is Mode.POLICY:
                message.observed_ns = self._observed_ns
        return message

    # --- State machine ----------------------------------------------------------------------------

    def _latch(self, fault: Fault) -> None:
        """React to a fault; only a graver one replaces it before the operator re-arms."""
        reaction = reaction_to(fault)
        if self.fault is not None and reaction <= reaction_to(self.fault):
            return
        self.fault = fault
        event = EVENT_OF_REACTION[reaction]
        if self.state not in POWERED:
            event = ControllerEvent.FAULT
        self._handle(event)

    def _handle(self, event: ControllerEvent) -> None:
        before = self.state
        latched = self.fault is not None
        lies = event is ControllerEvent.ARRIVED and before is ControllerState.SIT
        if latched and (lies or event is ControllerEvent.DAMP):
            event = ControllerEvent.FAULT  # damped until the operator re-arms
        self.state = next_state(before, event)
        if self.state is ControllerState.WALK and before is ControllerState.WALK:
            self._motion.switch_skill(self.skill)
        elif self.state is not before:
            self._enter(before)

    def _enter(self, before: ControllerState) -> None:
        if self.state not in POWERED:
            self._motion.damp(self._sensors)
            if self.state is ControllerState.IDLE:
                self.fault = None
            return
        if self._sensors is None or not (before in POWERED or self.at_rest):
            # No state of the robot yet, a motor that is not ready, or legs that still move.
            self.state = before
            return
        if before not in POWERED and self._tilt_is_doubtful(self._sensors):
            self._estimator.restart_tilt()
        gently = self.fault is not None
        self._motion.enter(self.state, before, self._sensors, self.skill, gently=gently)

    def _tilt_is_doubtful(self, sensors: Sensors) -> bool:
        """Return True if the estimate differs from the IMU's attitude, after lost measurements."""
        if self.estimate is None:
            return False
        return attitude_difference(sensors, self.estimate) > DOUBTFUL_TILT

    def _robot_is_healthy(self) -> bool:
        return self._newest is not None and not self._newest.fault


def _robot_fault(state: robot_state) -> Fault:
    """Return the fault of the robot process; causes of another version become UNKNOWN."""
    return Fault(Cause.ROBOT_FAULT, state.fault_value, state.fault_joint, Cause.of(state.fault))
