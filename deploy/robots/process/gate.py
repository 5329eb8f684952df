"""The robot's last line: every command and every measurement passes it; it trusts nobody and never forgets a fault.

A command, when it comes: numbers, limits of joints, step and rate, gains. Then in every tick, in this order: whether
measurements can be believed (numbers, errors of drivers, joints, encoders); torque that the command asks for, age of
the command and of the measurement behind it, operator's last sign of life, tilt, motors ready, acknowledgements, lost
packets, age of the sensors, IMU, battery. Errors of drivers come so early since all else is computed from
what these drivers measure, and since a motor in error is not ready either: the error is the cause to name. The first
that fails is latched; from then on motors are damped until a person re-arms.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from deploy.common.debounce import RollingCount
from deploy.common.faults import Cause, Fault
from deploy.common.position_limits import RelaxedLimits
from deploy.common.robot_constants import (
    FROZEN_AFTER,
    LARGEST_GAINS,
    LARGEST_TILT,
    LEAST_VOLTAGE,
    TICK,
    damping_command,
)
from deploy.common.sensors import Sensors
from deploy.messages.lcm_link import Mode
from solo_doi.solo12.constants import NUM_LEGS, Array
from solo_doi.solo12.limits import DRIVER, LARGEST_KD, LARGEST_KP, SAFETY
from solo_doi.solo12.rotations import tilt
from solo_doi.solo12.state import JointCommand

from .damping import Damping
from .rate_limit import Travel


@dataclass(frozen=True, kw_only=True)
class GateConfig:
    """Thresholds of the last line. Limits of joints are in `solo_doi.solo12.limits`."""

    step: float = 1.6
    """Largest change of a joint target from one command to the next; skills need 0.63 [rad]."""
    first_step: float = 0.6
    """Farthest that the first command may be from a joint: from the metal's stop to where targets end [rad]."""
    rate: float = 20.0
    """How fast targets may move for long, back and forth; steps up to `step` are borne at once, skills need 0.68 of
    these at this rate [rad/s]."""
    kp: float = LARGEST_KP
    """Largest position gain [N m/rad]."""
    kd: float = LARGEST_KD
    """Largest velocity gain [N m s/rad]."""
    torque: tuple[float, float, float] = (5.5, 6.5, 10.5)
    """Largest torque that gains and distance may ask for, per HAA, HFE, KFE: twice what the five skills ask for at most
    in PyBullet and on the virtual board. The drivers clip at 2.5; who asks for more is wrong about the robot [N m]."""
    expiry: float = 0.020
    """How long a command is followed, whatever it says of itself [s]."""
    observed_age: float = 0.060
    """How old the measurement behind a command may be: a policy step of 20 ms and the largest trained delay of 25 ms,
    with room for a stall. One that is yet to come is refused, too: motors would wait for it [s]."""
    operator_age: float = 0.6
    """How long the operator may be silent [s]."""
    tilt: float = LARGEST_TILT
    """Largest angle between base and level [rad]."""
    command_lag: int = 10
    """Ticks the motors may be silent about commands."""
    lost_share: int = 10
    """Packets between PC and motors, both ways, that may be lost while a hundred come: a sound cable loses none."""
    sensor_age: float = 0.005
    """How long sensors may be silent [s]."""
    encoder_jump: float = 0.05
    """Largest change of a joint position beyond what the fastest turn explains [rad]."""
    imu_frozen: float = FROZEN_AFTER
    """How long the IMU may show the very same numbers [s]."""
    voltage: float = LEAST_VOLTAGE
    """Least battery voltage [V]."""


class Gate:
    """Decides what the motors do."""

    def __init__(self, config: GateConfig | None = None) -> None:
        """Begin damped, with no command and no fault."""
        self._config = config or GateConfig()
        self.fault: Fault | None = None
        self.operator_heard: float | None = None
        """When the robot itself last heard the operator, on its clock [s]; None if only the controller can tell."""
        self._followed: Any = None
        self._timed: Any = None
        self._followed_since = 0.0
        self._positions = RelaxedLimits(DRIVER.position)
        self._switching_on = False
        self._imu = b""
        self._imu_since = 0.0
        self._sensed = -inf
        self._before: Sensors | None = None
        self._losses = RollingCount(self._config.lost_share)
        self._damping = Damping()
        self._travel = Travel(self._config.step, self._config.rate)
        self._torque = np.tile(self._config.torque, NUM_LEGS)

    @property
    def powered(self) -> bool:
        """Whether motors hold positions."""
        return (
            self.fault is None and self._followed is not None and self._followed.mode != Mode.DAMP
        )

    @property
    def followed(self) -> Any:  # noqa: ANN401  # generated classes have no types
        """The command that is followed; None before the first."""
        return self._followed

    def rearm(self) -> None:
        """Forget the fault: a person has asked for it. Old commands are forgotten too."""
        if self.fault is not None:
            self.fault = self._followed = None

    def offer(self, command: Any, carried: tuple[float, float] = LARGEST_GAINS) -> None:  # noqa: ANN401  # generated
        """Take a command if it is sound; a command that is not latches a fault.

        `carried` are the largest kp and kd that the way to the motors carries: more would be clamped or refused there.
        """
        if self.fault is None:
            self.fault = self._wrong_with(command, carried)
            if self.fault is None:
                self._switching_on = self._switching_on or (
                    not self.powered and command.mode != Mode.DAMP
                )
                self._followed = command

    def decide(self, sensors: Sensors | None, now: float) -> JointCommand:
        """Return what the motors do in this tick."""
        if sensors is not None:
            self._sensed = sensors.time
        self._travel.leak(now)
        if self._followed is not self._timed:
            self._timed, self._followed_since = self._followed, now
        if self.powered and self.fault is None:
            self.fault = self._wrong_now(sensors, now)
        elif sensors is not None:
            self._imu_changed(sensors)
        self._before = sensors or self._before
        if not self.powered:
            measured = sensors is not None and np.isfinite(sensors.joint_position).all()
            return damping_command(
                sensors.joint_position if measured and sensors is not None else None,
                self._damping.gain(now),
            )
        command = self._followed
        self._damping.hold(command.kd, now)
        return JointCommand(position=np.array(command.position), kp=command.kp, kd=command.kd)

    def _wrong_with(self, command: Any, carried: tuple[float, float]) -> Fault | None:  # noqa: ANN401
        position = np.array(command.position)
        if not all(map(isfinite, (*command.position, command.kp, command.kd))):
            return Fault(Cause.COMMAND_NOT_FINITE)
        if command.mode == Mode.DAMP:
            return None  # positions mean nothing, and the gains are ours
        fault = _first_beyond(
            position, SAFETY.position, Cause.COMMAND_POSITION
        ) or self._wrong_step(position)
        if fault is not None:
            return fault
        safe = self._config.kp, self._config.kd
        for gain, most, wire in zip((command.kp, command.kd), safe, carried, strict=True):
            if not 0.0 <= gain <= min(most, wire):
                return Fault(Cause.COMMAND_GAINS, gain)
        return None

    def _wrong_step(self, position: Array) -> Fault | None:
        """Compare with the command that is followed, or at switch-on with where the joints are."""
        if not self.powered:
            if self._before is None:
                return None  # nothing was measured yet: whoever is never heard of is not moved
            step = np.abs(position - self._before.joint_position)
            return _first_beyond(step, self._config.first_step, Cause.COMMAND_STEP)
        step = np.abs(position - np.array(self._followed.position))
        fault = _first_beyond(step, self._config.step, Cause.COMMAND_STEP)
        if fault is None and (much := self._travel.add(step)) is not None:
            fault = Fault(Cause.COMMAND_RATE, much[1], much[0])
        return fault

    def _wrong_now(self, sensors: Sensors | None, now: float) -> Fault | None:
        config, command = self._config, self._followed
        if sensors is not None:
            fault = self._wrong_measured(sensors)
            if fault is not None:
                return fault
            asked = command.kp * (np.array(command.position) - sensors.joint_position)
            fault = _first_beyond(asked, self._torque, Cause.COMMAND_TORQUE)
            if fault is not None:
                return fault
        expires = min(command.expires_ns * 1e-9, self._followed_since + config.expiry)
        if now >= expires:
            return Fault(Cause.COMMAND_STALE, 1000 * (now - expires + config.expiry))
        observed = now - command.observed_ns * 1e-9
        if (
            not -TICK / 2 <= observed <= config.observed_age
        ):  # half a tick, as times are rounded on their way
            return Fault(Cause.COMMAND_OBSERVED, 1000 * observed)
        heard = command.heartbeat_ns * 1e-9 if self.operator_heard is None else self.operator_heard
        silence = abs(now - heard)  # a time to come is no sign of life either
        if silence > config.operator_age:
            return Fault(Cause.OPERATOR_SILENT, 1000 * silence)
        fault = None if sensors is None else self._wrong_robot(sensors)
        if fault is None and now - self._sensed > config.sensor_age:
            return Fault(Cause.SENSOR_STALE, 1000 * (now - self._sensed))
        return fault or (None if sensors is None else self._wrong_hardware(sensors))

    def _wrong_measured(self, sensors: Sensors) -> Fault | None:
        """Whether measurements can be believed, and joints are where they may be."""
        config, before = self._config, self._before or sensors
        if not sensors.finite:
            return Fault(Cause.STATE_NOT_FINITE)
        if any(sensors.errors.tolist()):  # what such a driver says of its joints means nothing
            joint = int(np.argmax(sensors.errors != 0))
            return Fault(
                Cause.HARDWARE, float(sensors.errors[joint]), joint, note=", ".join(sensors.faults)
            )
        if self._switching_on:
            self._positions.relax_to(sensors.joint_position)
            self._losses = RollingCount(config.lost_share)
            self._switching_on = False
        outside = self._positions.violated_joint(sensors.joint_position)
        if outside is not None:
            return Fault(Cause.JOINT_POSITION, float(sensors.joint_position[outside]), outside)
        reach = config.encoder_jump + DRIVER.velocity * max(0.0, sensors.time - before.time)
        step = np.abs(sensors.joint_position - before.joint_position)
        return (
            _first_beyond(sensors.joint_velocity, DRIVER.velocity, Cause.JOINT_VELOCITY)
            or _first_beyond(step, reach, Cause.ENCODER_JUMP)
        )  # fmt: skip

    def _wrong_robot(self, sensors: Sensors) -> Fault | None:
        config, before = self._config, self._before or sensors
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

    def _wrong_hardware(self, sensors: Sensors) -> Fault | None:
        config = self._config
        self._imu_changed(sensors)
        if sensors.time - self._imu_since > config.imu_frozen:
            return Fault(Cause.IMU_FROZEN, 1000 * (sensors.time - self._imu_since))
        if sensors.voltage < config.voltage:  # False where the voltage is unknown
            return Fault(Cause.VOLTAGE, sensors.voltage)
        return None

    def _imu_changed(self, sensors: Sensors) -> None:
        imu = sensors.angular_velocity_b.tobytes() + sensors.acceleration_b.tobytes()
        if imu != self._imu:
            self._imu, self._imu_since = imu, sensors.time


def _first_beyond(values: Array, limit: Array | float, cause: Cause) -> Fault | None:
    """Return the fault of the first joint whose number is too large, either way."""
    beyond = np.abs(values) > limit
    joint = int(beyond.argmax())
    return Fault(cause, float(values[joint]), joint) if beyond[joint] else None
