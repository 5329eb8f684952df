"""One tick of control: what was heard goes in, a joint command comes out. No clock, no socket: the loop has those."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from solo_doi.policies.bundle import Bundle
from solo_doi.solo12.constants import NUM_JOINTS, Array
from solo_doi.solo12.estimator import Estimate, Estimator
from solo_doi.solo12.limits import TRAINING
from solo_doi.solo12.sensors import seen_motion

from .faults import Cause, Fault
from .messages.convert import sensors_of
from .messages.wire import COMMAND, OBSERVATION, STATUS, Mode, Request, blank, new_session
from .poses import LYING, Glide
from .robots.robot import DAMPING, TICK, Sensors
from .safety import Lasting, Safety, SafetyConfig
from .state_machine import POWERED, Event, State, next_state
from .walker import Walker

EXPIRY_NS = 20_000_000
"""How long a command may be followed: as long as the master board waits before it lets go."""
REARM_NS = 500_000_000
"""How long a request to re-arm waits for the robot, which hears it at the same time, to be without a fault."""
LOWEST, HIGHEST = -TRAINING.position, TRAINING.position
"""Where joint targets end [rad]."""
EVENTS = {
    Request.STAND: Event.STAND, Request.WALK: Event.WALK, Request.STOP: Event.STOP,
    Request.SIT: Event.SIT, Request.DAMP: Event.DAMP,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ControllerConfig:
    """How the controller moves the robot."""

    power_seconds: float = 0.3
    """Duration in which the position gain grows from nothing when motors are switched on."""
    stand_seconds: float = 1.5
    """Duration of standing up."""
    stop_seconds: float = 0.8
    """Duration in which steps shrink to nothing before the robot stands: feet end where they belong."""
    sit_seconds: float = 1.5
    """Duration of lying down."""
    pose_kd: float = 0.2
    """Velocity gain while standing up, standing and lying down [N m s/rad]."""
    command_rate: float = 1.0
    """Largest change of a velocity command [m/s or rad/s, per second]."""
    safety: SafetyConfig = field(default_factory=SafetyConfig)


class Controller:
    """State machine, estimator, safety and skill of one robot."""

    def __init__(
        self, bundle: Bundle, skill: int, config: ControllerConfig | None = None, *, force: bool = False
    ) -> None:
        """Begin idle, with a skill to walk with; skills that evaluation rejected need `force`."""
        self.config = config or ControllerConfig()
        self.bundle = bundle
        self.state = State.IDLE
        self.skill = skill
        self.fault: Fault | None = None
        self.session = new_session()
        self.estimate: Estimate | None = None
        self._contract = bundle.contract
        self._allowed = bundle.allowed(force=force)
        self._pose = np.array(self._contract.default_pose)
        self._policy_ticks = round(self._contract.control_dt / TICK)
        self._estimator = Estimator()
        self._safety = Safety(self.config.safety)
        self._delayed = Lasting(self.config.safety.patience)
        self._heard: Any = None
        self._sensors: Sensors | None = None
        self._missed = 0
        self._heartbeat_ns = 0
        self._wished = np.array(self._contract.command)
        self._command = self._wished.copy()
        self._since = self._switched_on = 0.0
        self._stopping = False
        self._rearm_until = 0
        self._sequence = 0
        self._seen: np.ndarray | None = None
        self._damp()

    # --- What is heard ---------------------------------------------------------------------------

    def hear(self, message: Any) -> bool:  # noqa: ANN401  # generated classes have no types
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

    def ask(self, request: Request, now_ns: int, skill: int = -1, velocity: Array | None = None) -> None:
        """Take a wish of the operator."""
        self.alive(now_ns)
        if velocity is not None and np.isfinite(velocity).all():
            low, high = (np.array(self._contract.command_range[end]) for end in ("low", "high"))
            self._wished = np.clip(velocity, low, high)
        if request is Request.REARM:
            self._rearm_until = now_ns + REARM_NS
        elif request is Request.WALK and skill >= 0 and skill not in self._allowed:
            return  # better no walk than with another skill than the one asked for
        elif request in EVENTS:
            if request is Request.WALK and skill >= 0:
                self.skill = skill
            self._handle(EVENTS[request])

    def alive(self, now_ns: int) -> None:
        """Learn that the operator is there."""
        self._heartbeat_ns = now_ns

    def late(self, late: bool) -> None:  # the thing that is counted
        """Learn from the loop whether this tick began in time."""
        fault = self._safety.on_time(late)
        if fault is not None and self.state in POWERED:
            self._fail(fault)

    # --- What is done ----------------------------------------------------------------------------

    def tick(self, now_ns: int) -> Any:  # noqa: ANN401  # generated classes have no types
        """Return the joint command of this tick."""
        sensors, self._seen = self._sensors, None
        if now_ns < self._rearm_until and not self._still_bad():
            self._rearm_until = 0
            self._handle(Event.REARM)
        if sensors is not None and self._heard is not None:
            self._watch(sensors, now_ns)
            if self.state in POWERED and self.estimate is not None:
                self._act(sensors)
        return self._message(now_ns)

    def status(self, now_ns: int) -> Any:  # noqa: ANN401  # generated classes have no types
        """Return what the controller does, for whoever watches."""
        status = blank(STATUS)
        status.sequence, status.time_ns, status.session = self._sequence, now_ns, self.session
        status.state, status.skill = self.state, self.skill
        if self.fault is not None:
            status.fault, status.fault_joint, status.fault_value = self.fault.cause, self.fault.joint, self.fault.value
            status.robot_fault = self.fault.behind
        if self.estimate is not None:
            status.velocity, status.gravity = self.estimate.velocity_b.tolist(), self.estimate.gravity_b.tolist()
        return status

    def policy_input(self, now_ns: int) -> Any:  # noqa: ANN401  # generated classes have no types
        """Return what the policy saw in this tick, for the log; None if it was not its turn."""
        if self._seen is None:
            return None
        message = blank(OBSERVATION)
        message.sequence, message.time_ns, message.session = self._sequence, now_ns, self.session
        message.skill, message.observation = self.skill, self._seen.tolist()
        return message

    def _take(self, message: Any) -> None:  # noqa: ANN401
        before, self._heard = self._heard, message
        sensors = sensors_of(message)
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
            fault = self._safety.sensing(sensors, missed) or self._safety.moving(sensors, self.estimate)
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
        out_of_range = self.state is State.WALK and delay > 0.0 and not least <= delay <= most
        if not -limits.state_age <= age <= limits.state_age:  # one from the future would never grow old
            self._fail(Fault(Cause.STATE_STALE, 1000 * age))
        elif self._heard.fault == Cause.OPERATOR_STOP:  # a person has told the robot
            self._handle(Event.DAMP)
        elif self._heard.fault:
            self._fail(_robot_fault(self._heard))
        elif silence > limits.operator_age:
            self._fail(Fault(Cause.OPERATOR_SILENT, 1000 * silence))
        elif self._delayed.over(out_of_range, sensors.time):
            self._fail(Fault(Cause.DELAY, 1000 * delay))

    def _act(self, sensors: Sensors) -> None:
        time = sensors.time - self._since
        if self.state is State.WALK:
            self._walk(sensors, 1.0)
            return
        if self._stopping:
            share = 1.0 - time / self.config.stop_seconds
            if share > 0.0:
                self._walk(sensors, share)
                return
            self._stopping, self._since = False, sensors.time
            self._mode, self._kd = Mode.MOVE, self.config.pose_kd
            time = 0.0
        self._target = self._glide.target(time)
        self._kp = self._contract.kp * min(1.0, (sensors.time - self._switched_on) / self.config.power_seconds)
        if self._glide.arrived(time):
            self._handle(Event.ARRIVED)

    def _walk(self, sensors: Sensors, share: float) -> None:
        """Step with a skill; with a share below 1, in smaller steps around the standing pose."""
        due = self._walked % self._policy_ticks == 0
        self._walked += 1
        if not due:
            return
        self._steer()
        assert self.estimate is not None  # there is none only before the first state
        motion = seen_motion(sensors.joint_position, sensors.joint_velocity, self.estimate)
        target = self._walker.step(motion, self._command)
        self._seen = self._walker.observation
        target = self._pose + share * (target - self._pose)
        fault = self._safety.policy(target, self._target, self._walker.excess, sensors.time)
        if fault is not None:
            self._fail(fault)
            return
        self._target = target.clip(LOWEST, HIGHEST)
        self._observed_ns = self._heard.time_ns

    def _steer(self) -> None:
        step = self.config.command_rate * self._contract.control_dt
        self._command += (self._wished - self._command).clip(-step, step)

    # --- States ----------------------------------------------------------------------------------

    def _handle(self, event: Event) -> None:
        before, self.state = self.state, next_state(self.state, event)
        if self.state is State.WALK and before is State.WALK:
            self._walker.switch(self.skill)
        elif self.state is not before:
            self._enter(before)

    def _enter(self, before: State) -> None:
        config = self.config
        if self.state not in POWERED:
            self._damp()
            if self.state is State.IDLE:
                self.fault = None
            return
        known = self._sensors is not None and (before in POWERED or self._sensors.ready.all())
        if self._sensors is None or not known:  # nothing is known of the robot, or its motors do not follow: stay
            self.state = before
            return
        self._since = self._sensors.time
        if before not in POWERED:
            self._safety.power_on(self._sensors)
            self._switched_on = self._sensors.time
        if self.state is State.WALK:
            self._walker, self._walked = Walker(self.bundle, self.skill), 0
            self._safety.policy_on()
            self._mode, self._kd = Mode.POLICY, self._contract.kd
            self._command = np.array(self._contract.command) if self._fixed_command() else np.zeros(3)
            return
        self._stopping = before is State.WALK
        if not self._stopping:
            self._mode, self._kd = Mode.MOVE, config.pose_kd
        self._glide = self._next_glide(before)

    def _next_glide(self, before: State) -> Glide:
        """The slow motion that belongs to the state, from where the joints were sent or, if they were not, are."""
        assert self._sensors is not None  # checked on entering
        # Joints of a robot on its belly may be beyond their limits.
        lying = self._sensors.joint_position.clip(LOWEST, HIGHEST)
        start = self._pose if before is State.WALK else self._target if before in POWERED else lying
        if self.state is State.STAND:
            return Glide(start, self._pose, 0.0 if before is State.WALK else self.config.stand_seconds)
        if self.state is State.SIT:
            return Glide(start, LYING, self.config.sit_seconds)
        return Glide(self._pose, self._pose, float("inf"))

    def _fixed_command(self) -> bool:
        return self._contract.command_range["low"] == self._contract.command_range["high"]

    def _fail(self, fault: Fault) -> None:
        """Latch the first fault and damp."""
        if self.state is not State.FAULT:
            self.fault = fault
        self._handle(Event.FAULT)

    def _still_bad(self) -> bool:
        return self._heard is None or bool(self._heard.fault)

    def _damp(self) -> None:
        self._mode, self._kp, self._kd = Mode.DAMP, 0.0, DAMPING
        self._target = np.zeros(NUM_JOINTS) if self._sensors is None else self._sensors.joint_position

    def _message(self, now_ns: int) -> Any:  # noqa: ANN401
        message = blank(COMMAND)
        self._sequence += 1
        message.sequence, message.time_ns, message.session = self._sequence, now_ns, self.session
        message.mode, message.skill = self._mode, self.skill if self.state is State.WALK else -1
        message.bundle = bytes.fromhex(self.bundle.hash)
        message.position, message.kp, message.kd = self._target.tolist(), self._kp, self._kd
        message.heartbeat_ns = self._heartbeat_ns
        if self._heard is not None:
            message.robot_session, message.state_sequence = self._heard.session, self._heard.sequence
            message.expires_ns = self._heard.time_ns + EXPIRY_NS
            message.observed_ns = self._observed_ns if self._mode is Mode.POLICY else self._heard.time_ns
        return message


def _robot_fault(state: Any) -> Fault:  # noqa: ANN401  # generated classes have no types
    """What the robot says of itself, which may be another version of this program."""
    return Fault(Cause.ROBOT_FAULT, state.fault_value, state.fault_joint, Cause.of(state.fault))
