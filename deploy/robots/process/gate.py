"""Last line of defence: checks every command and every measurement before motors move.

On arrival, a command is checked for finite numbers, joint limits, step, rate and gains.
In every tick, these are checked in this order:

1. measurements: finite numbers, driver errors, joint positions, joint velocities, encoder jumps
2. torque that the command requests, age of the command, age of the measurement it is based on
3. silence of the operator
4. tilt, motors ready, acknowledgements, lost packets, age of the sensors
5. frozen IMU, battery voltage

Driver errors are checked before joint positions and velocities, since measurements of a driver in
error are invalid. A motor in error is also not ready, but the report must name the error.
A check that fails is latched with its reaction (`deploy.common.reactions`): lying down under the
gate's own control, or damping. A graver fault escalates. Only an operator re-arms.
"""

from __future__ import annotations

from math import inf, isfinite

import numpy as np

from deploy.common.debounce import HoldTimer, RollingCount
from deploy.common.faults import Cause, Fault
from deploy.common.position_limits import RelaxedLimits
from deploy.common.reactions import Reaction, reaction_to
from deploy.common.robot_constants import (
    LARGEST_GAINS,
    MEASURED_VOLTAGE,
    TICK,
    damping_command,
)
from deploy.common.sensors import Sensors
from deploy.messages.generated import joint_command
from deploy.messages.lcm_link import Mode
from solo_doi.solo12.constants import NUM_LEGS, Array
from solo_doi.solo12.limits import DRIVER_LIMITS, SAFETY_LIMITS
from solo_doi.solo12.rotations import tilt
from solo_doi.solo12.state import JointCommand

from .damping import Damping
from .gate_config import GateConfig
from .joint_watch import FrozenEncoders, MotorHeat
from .lying_down import CatchingPose, LyingDown
from .rate_limit import RateLimit


class Gate:
    """Checks commands and measurements; decides which command the motors get in each tick."""

    def __init__(self, config: GateConfig | None = None) -> None:
        """Start damped, without a command and without a fault."""
        self._config = config or GateConfig()
        self.fault: Fault | None = None
        self.operator_time: float | None = None
        """Time of the operator's last message to this process, on the robot's clock [s].

        None if the operator is a script in the controller; commands then carry its heartbeat.
        """
        self.holds = 0
        """Number of times in which the last command was held because fresh ones were late."""
        self._holding = False
        self._lying_down: LyingDown | None = None
        self._catching = CatchingPose()
        self._frozen = FrozenEncoders()
        self._heat = MotorHeat()
        self._followed: joint_command | None = None
        self._timed: joint_command | None = None
        self._followed_since = 0.0
        self._positions = RelaxedLimits(DRIVER_LIMITS.position)
        self._switching_on = False
        self._imu = b""
        self._imu_since = 0.0
        self._sensed = -inf
        self._before: Sensors | None = None
        self._losses = RollingCount(self._config.lost_share)
        self._low_voltage = HoldTimer(self._config.voltage_patience)
        self._has_voltage = self._is_low = False
        self._now = self._stalled = 0.0
        self._drove = False  # a position command in the tick before
        self._rearmed = False  # and no damping command since
        self._damping = Damping()
        self._rate_limit = RateLimit(self._config.step, self._config.rate)
        self._torque = np.tile(self._config.torque, NUM_LEGS)

    @property
    def powered(self) -> bool:
        """True while motors hold positions."""
        if self.fault is not None:
            return self._lying_down is not None
        return self._followed is not None and self._followed.mode != Mode.DAMP

    @property
    def lies_down(self) -> bool:
        """True while the gate lies the robot down by itself; commands are then not followed."""
        return self._lying_down is not None

    @property
    def followed(self) -> joint_command | None:
        """Command that is followed; None before the first and after re-arming."""
        return self._followed

    def latch(self, fault: Fault | None) -> None:
        """Keep a fault until `rearm`; only a graver one replaces it, and None changes nothing."""
        if fault is None:
            return
        reaction = reaction_to(fault)
        if self.fault is not None and reaction <= reaction_to(self.fault):
            return
        if self.fault is not None and fault.cause is Cause.OPERATOR_STOP:
            self._lying_down = None  # the cause of the fault is worth more than the stop
            return
        # A command that has not driven the motors yet starts no motion of the gate's own.
        can_lie_down = self.fault is None and self.powered and self._drove
        if reaction is Reaction.SIT and can_lie_down:
            assert self._followed is not None
            self._lying_down = LyingDown(self._followed, self._catching.pose(), self._now)
        else:
            self._lying_down = None
        self.fault = fault

    def rearm(self) -> None:
        """Clear the fault and the followed command, at the operator's request.

        An empty battery must be charged first. A robot that lies down lies first. Motors then
        stay damped until the controller damps them too: it may still be lying down.
        """
        if self._lying_down is not None:
            return
        if self.fault is not None and not (self.fault.cause is Cause.VOLTAGE and self._is_low):
            self.fault = self._followed = None
            self._rearmed = True

    def offer(self, command: joint_command, carried: tuple[float, float] = LARGEST_GAINS) -> None:
        """Follow a command if it passes all checks; otherwise latch a fault.

        `carried` are the largest kp [N m/rad] and kd [N m s/rad] that the link to the motors can
        carry. The link would clamp or refuse larger gains.
        """
        if self.fault is not None:
            if command.mode == Mode.DAMP:  # the controller has found something graver
                self._lying_down = None
            return
        self._rearmed = self._rearmed and command.mode != Mode.DAMP
        if self._rearmed:
            return
        self.latch(self._command_fault(command, carried))
        if self.fault is None:
            switches_on = not self.powered and command.mode != Mode.DAMP
            self._switching_on = self._switching_on or switches_on
            self._followed = command

    def decide(self, sensors: Sensors | None, now: float) -> JointCommand:
        """Return the command for the motors in this tick."""
        self._stalled = now - self._now
        self._now = now
        if sensors is not None:
            self._sensed = sensors.time
            self._watch_battery(sensors)
        finite = sensors if sensors is not None and sensors.finite else None
        if finite is not None:
            self._heat.update(finite)
        self._rate_limit.leak(now)
        if self._followed is not self._timed:
            self._timed = self._followed
            self._followed_since = now
        if self.powered:
            self.latch(self._tick_fault(sensors, now))
        elif sensors is not None:
            self._watch_imu(sensors)
        self._before = finite or self._before
        if finite is not None and not self._holding:
            self._catching.update(finite)
        if self._lying_down is not None and self._lying_down.is_over(now):
            self._lying_down = None
        command = self._followed
        self._drove = self.powered
        if self._lying_down is not None:
            lying = self._lying_down.command(now)
            self._damping.hold(float(lying.kd), now)
            return lying
        if command is None or not self.powered:
            position = None
            if sensors is not None and np.isfinite(sensors.joint_position).all():
                position = sensors.joint_position
            return damping_command(position, self._damping.gain(now))
        self._damping.hold(command.kd, now)
        return JointCommand(position=np.array(command.position), kp=command.kp, kd=command.kd)

    def _command_fault(self, command: joint_command, carried: tuple[float, float]) -> Fault | None:
        position = np.array(command.position)
        if not all(map(isfinite, (*command.position, command.kp, command.kd))):
            return Fault(Cause.COMMAND_NOT_FINITE)
        if command.mode == Mode.DAMP:
            return None  # positions and gains of a damping command are not used
        fault = _first_beyond(position, SAFETY_LIMITS.position, Cause.COMMAND_POSITION)
        fault = fault or self._step_fault(position)
        if fault is not None:
            return fault
        safe = (self._config.kp, self._config.kd)
        for gain, most, wire in zip((command.kp, command.kd), safe, carried, strict=True):
            if not 0.0 <= gain <= min(most, wire):
                return Fault(Cause.COMMAND_GAINS, gain)
        return None

    def _step_fault(self, position: Array) -> Fault | None:
        """Check the step from the followed command, or at switch-on from the measured joints."""
        followed = self._followed
        if followed is None or not self.powered:
            if self._before is None:
                return None  # not measured yet: the check of the sensors' age will fail
            step = np.abs(position - self._before.joint_position)
            return _first_beyond(step, self._config.first_step, Cause.COMMAND_STEP)
        step = np.abs(position - np.array(followed.position))
        fault = _first_beyond(step, self._config.step, Cause.COMMAND_STEP)
        if fault is not None:
            return fault
        excess = self._rate_limit.add(step)
        if excess is None:
            return None
        joint, travelled = excess
        return Fault(Cause.COMMAND_RATE, travelled, joint)

    def _tick_fault(self, sensors: Sensors | None, now: float) -> Fault | None:
        """Return the first fault of this tick."""
        config = self._config
        command = self._followed
        assert command is not None, "motors are powered by a command"
        if sensors is not None:
            fault = self._measurement_fault(sensors)
            if fault is not None:
                return fault
            if not sensors.ready.any() and self._stalled > config.disarmed_after:
                return Fault(Cause.BOARD_DISARMED, 1000 * self._stalled)
        fault = None
        if self._lying_down is None:
            fault = self._followed_fault(command, sensors, now)
        if fault is None and sensors is not None:
            fault = self._robot_fault(sensors)
        if fault is None and now - self._sensed > config.sensor_age:
            return Fault(Cause.SENSOR_STALE, 1000 * (now - self._sensed))
        if fault is None and sensors is not None:
            fault = self._imu_or_battery_fault(sensors)
        return fault

    def _followed_fault(
        self, command: joint_command, sensors: Sensors | None, now: float
    ) -> Fault | None:
        """Check torque, ages and operator of the command that is followed."""
        config = self._config
        if sensors is not None:
            asked = command.kp * (np.array(command.position) - sensors.joint_position)
            fault = _first_beyond(asked, self._torque, Cause.COMMAND_TORQUE)
            fault = fault or self._frozen.check(sensors.joint_position, asked, now)
            if fault is not None:
                return fault
        expires = min(command.expires_ns * 1e-9, self._followed_since + config.expiry)
        self._count_hold(late=now >= expires)
        if now >= expires - config.expiry + config.hold:
            return Fault(Cause.COMMAND_STALE, 1000 * (now - expires + config.expiry))
        observed = min(now, expires) - command.observed_ns * 1e-9
        # Half a tick of tolerance, since times are rounded in messages.
        if not -TICK / 2 <= observed <= config.observed_age:
            return Fault(Cause.COMMAND_OBSERVED, 1000 * observed)
        operator_time = self.operator_time
        if operator_time is None:
            operator_time = command.heartbeat_ns * 1e-9
        silence = abs(now - operator_time)  # a time in the future is not valid either
        if silence > config.operator_age:
            return Fault(Cause.OPERATOR_SILENT, 1000 * silence)
        return None

    def _count_hold(self, *, late: bool) -> None:
        self.holds += late and not self._holding
        self._holding = late

    def _measurement_fault(self, sensors: Sensors) -> Fault | None:
        """Check that measurements are plausible and joints are within their limits."""
        config = self._config
        before = self._before or sensors
        if not sensors.finite:
            return Fault(Cause.STATE_NOT_FINITE)
        if any(sensors.errors.tolist()):  # measurements of a driver in error are not valid
            joint = int(np.argmax(sensors.errors != 0))
            return Fault(
                Cause.HARDWARE, float(sensors.errors[joint]), joint, note=", ".join(sensors.faults)
            )
        if self._switching_on:
            self._positions.relax_to(sensors.joint_position)
            self._losses = RollingCount(config.lost_share)
            self._frozen = FrozenEncoders()
            self._switching_on = False
        outside = self._positions.violated_joint(sensors.joint_position)
        if outside is not None:
            return Fault(Cause.JOINT_POSITION, float(sensors.joint_position[outside]), outside)
        reach = config.encoder_jump + DRIVER_LIMITS.velocity * max(0.0, sensors.time - before.time)
        step = np.abs(sensors.joint_position - before.joint_position)
        fault = _first_beyond(sensors.joint_velocity, DRIVER_LIMITS.velocity, Cause.JOINT_VELOCITY)
        return fault or _first_beyond(step, reach, Cause.ENCODER_JUMP)

    def _robot_fault(self, sensors: Sensors) -> Fault | None:
        """Check tilt, motors, acknowledgements and lost packets."""
        config = self._config
        before = self._before or sensors
        angle = tilt(sensors.quaternion)
        if angle > config.tilt:
            return Fault(Cause.TILT, angle)
        if not all(sensors.ready.tolist()):
            return Fault(Cause.MOTOR_NOT_READY, joint=int(np.argmin(sensors.ready)))
        if sensors.command_lag > config.command_lag:
            return Fault(Cause.COMMAND_LAG, sensors.command_lag)
        if self._losses.exceeded(sensors.lost - before.lost):
            return Fault(Cause.PACKETS_LOST, self._losses.count)
        return None

    def _imu_or_battery_fault(self, sensors: Sensors) -> Fault | None:
        config = self._config
        self._watch_imu(sensors)
        if sensors.time - self._imu_since > config.imu_frozen:
            return Fault(Cause.IMU_FROZEN, 1000 * (sensors.time - self._imu_since))
        if self._is_low:
            return Fault(Cause.VOLTAGE, sensors.voltage)
        return self._heat.fault()

    def _watch_battery(self, sensors: Sensors) -> None:
        """Debounce a low voltage, also while motors are damped."""
        self._has_voltage = self._has_voltage or sensors.voltage > MEASURED_VOLTAGE
        # False for NaN, an unknown voltage, and for a board that never measured one.
        low = self._has_voltage and sensors.voltage < self._config.voltage
        self._is_low = self._low_voltage.expired(low, sensors.time)

    def _watch_imu(self, sensors: Sensors) -> None:
        """Store the time at which the IMU readings last changed."""
        imu = sensors.angular_velocity_b.tobytes() + sensors.acceleration_b.tobytes()
        if imu != self._imu:
            self._imu = imu
            self._imu_since = sensors.time


def _first_beyond(values: Array, limit: Array | float, cause: Cause) -> Fault | None:
    """Return the fault of the first joint whose magnitude is above its limit, if any."""
    beyond = np.abs(values) > limit
    joint = int(beyond.argmax())
    if not beyond[joint]:
        return None
    return Fault(cause, float(values[joint]), joint)
