"""The robot's last line: every command and every measurement passes it; it trusts nobody and never forgets a fault.

Checks of commands, in this order: numbers, limits of joints, gains, steps. Checks of the moment: age of the command,
of the operator's last sign of life and of the sensors; their numbers, errors of drivers, joints, torque, tilt, motors,
acknowledgements, lost packets, IMU, battery. The first that fails is latched; from then on motors are damped until a
person re-arms.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from deploy.allowance import Allowance
from deploy.faults import Cause, Fault
from deploy.messages.wire import Mode
from deploy.safety import Share
from solo_doi.solo12.constants import Array
from solo_doi.solo12.limits import DRIVER, LARGEST_KD, LARGEST_KP, SAFETY
from solo_doi.solo12.rotations import tilt
from solo_doi.solo12.state import JointCommand

from .robot import Sensors, damped


@dataclass(frozen=True, kw_only=True)
class GateConfig:
    """Thresholds of the last line. Limits of joints are in `solo_doi.solo12.limits`."""

    step: float = 1.6
    """Largest change of a joint target from one command to the next [rad]."""
    kp: float = LARGEST_KP
    """Largest position gain [N m/rad]."""
    kd: float = LARGEST_KD
    """Largest velocity gain [N m s/rad]."""
    torque: float = 12.0
    """Largest torque that gains and distance may ask for; the drivers clip what exceeds their limit [N m]."""
    expiry: float = 0.020
    """How long a command is followed, whatever it says of itself [s]."""
    operator_age: float = 0.6
    """How long the operator may be silent [s]."""
    tilt: float = 1.2
    """Largest angle between base and level [rad]."""
    command_lag: int = 10
    """Ticks the motors may be silent about commands."""
    lost_share: int = 10
    """Packets between PC and motors, both ways, that may be lost while a hundred come: a sound cable loses none."""
    sensor_age: float = 0.005
    """How long sensors may be silent [s]."""
    encoder_jump: float = 0.05
    """Largest change of a joint position beyond what the fastest turn explains [rad]."""
    imu_frozen: float = 0.020
    """How long the IMU may show the very same numbers [s]."""
    voltage: float = 20.0
    """Least battery voltage; a pack of six cells is flat there [V]."""


class Gate:
    """Decides what the motors do."""

    def __init__(self, config: GateConfig | None = None) -> None:
        """Begin damped, with no command and no fault."""
        self._config = config or GateConfig()
        self.fault: Fault | None = None
        self._followed: Any = None
        self._timed: Any = None
        self._followed_since = 0.0
        self._positions = Allowance(DRIVER.position)
        self._switching_on = False
        self._imu = b""
        self._imu_since = 0.0
        self._sensed = -inf
        self._before: Sensors | None = None
        self._losses = Share(self._config.lost_share)

    @property
    def powered(self) -> bool:
        """Whether motors hold positions."""
        return self.fault is None and self._followed is not None and self._followed.mode != Mode.DAMP

    @property
    def followed(self) -> Any:  # noqa: ANN401  # generated classes have no types
        """The command that is followed; None before the first."""
        return self._followed

    def rearm(self) -> None:
        """Forget the fault: a person has asked for it. Old commands are forgotten too."""
        if self.fault is not None:
            self.fault = self._followed = None

    def offer(self, command: Any) -> None:  # noqa: ANN401  # generated classes have no types
        """Take a command if it is sound; a command that is not latches a fault."""
        if self.fault is None:
            self.fault = self._wrong_with(command)
            if self.fault is None:
                self._switching_on = self._switching_on or (not self.powered and command.mode != Mode.DAMP)
                self._followed = command

    def decide(self, sensors: Sensors | None, now: float) -> JointCommand:
        """Return what the motors do in this tick."""
        if sensors is not None:
            self._sensed = sensors.time
        if self._followed is not self._timed:
            self._timed, self._followed_since = self._followed, now
        if self.powered and self.fault is None:
            self.fault = self._wrong_now(sensors, now)
        elif sensors is not None:
            self._imu_changed(sensors)
        self._before = sensors or self._before
        if not self.powered:
            measured = sensors is not None and np.isfinite(sensors.joint_position).all()
            return damped(sensors.joint_position if measured and sensors is not None else None)
        command = self._followed
        return JointCommand(position=np.array(command.position), kp=command.kp, kd=command.kd)

    def _wrong_with(self, command: Any) -> Fault | None:  # noqa: ANN401
        position = np.array(command.position)
        if not np.isfinite([*position, command.kp, command.kd]).all():
            return Fault(Cause.COMMAND_NOT_FINITE)
        if command.mode == Mode.DAMP:
            return None  # positions mean nothing, and the gains are ours
        beyond = np.abs(position) > SAFETY.position
        if beyond.any():
            joint = int(np.argmax(beyond))
            return Fault(Cause.COMMAND_POSITION, float(position[joint]), joint)
        for gain, most in ((command.kp, self._config.kp), (command.kd, self._config.kd)):
            if not 0.0 <= gain <= most:
                return Fault(Cause.COMMAND_GAINS, gain)
        if self.powered:
            step = np.abs(position - np.array(self._followed.position))
            joint = int(np.argmax(step))
            if step[joint] > self._config.step:
                return Fault(Cause.COMMAND_STEP, float(step[joint]), joint)
        return None

    def _wrong_now(self, sensors: Sensors | None, now: float) -> Fault | None:
        config, command = self._config, self._followed
        silence = abs(now - command.heartbeat_ns * 1e-9)  # a time to come is no sign of life either
        expires = min(command.expires_ns * 1e-9, self._followed_since + config.expiry)
        if now >= expires:
            return Fault(Cause.COMMAND_STALE, 1000 * (now - expires + config.expiry))
        if silence > config.operator_age:
            return Fault(Cause.OPERATOR_SILENT, 1000 * silence)
        if now - self._sensed > config.sensor_age:
            return Fault(Cause.SENSOR_STALE, 1000 * (now - self._sensed))
        return None if sensors is None else self._wrong_sensors(sensors, np.array(command.position), command.kp)

    def _wrong_sensors(self, sensors: Sensors, position: Array, kp: float) -> Fault | None:
        config = self._config
        if not sensors.finite:
            return Fault(Cause.STATE_NOT_FINITE)
        if sensors.errors.any():  # first: what such a driver says of its joints means nothing
            joint = int(np.argmax(sensors.errors != 0))
            return Fault(Cause.HARDWARE, float(sensors.errors[joint]), joint)
        if self._switching_on:
            self._positions.start(sensors.joint_position)
            self._losses = Share(config.lost_share)
            self._switching_on = False
        outside = self._positions.beyond(sensors.joint_position)
        if outside is not None:
            return Fault(Cause.JOINT_POSITION, float(sensors.joint_position[outside]), outside)
        for value, limit, cause in (
            (sensors.joint_velocity, DRIVER.velocity, Cause.JOINT_VELOCITY),
            (kp * (position - sensors.joint_position), config.torque, Cause.COMMAND_TORQUE),
        ):
            beyond = np.abs(value) > limit
            if beyond.any():
                joint = int(np.argmax(beyond))
                return Fault(cause, float(value[joint]), joint)
        angle = tilt(sensors.quaternion)
        if angle > config.tilt:
            return Fault(Cause.TILT, angle)
        return self._wrong_hardware(sensors)

    def _wrong_hardware(self, sensors: Sensors) -> Fault | None:
        config, before = self._config, self._before or sensors
        step = np.abs(sensors.joint_position - before.joint_position)
        if step.max() > config.encoder_jump + DRIVER.velocity * (sensors.time - before.time):
            joint = int(np.argmax(step))
            return Fault(Cause.ENCODER_JUMP, float(step[joint]), joint)
        if not sensors.ready.all():
            return Fault(Cause.MOTOR_NOT_READY, joint=int(np.argmin(sensors.ready)))
        if sensors.command_lag > config.command_lag:
            return Fault(Cause.COMMAND_LAG, sensors.command_lag)
        if self._losses.over(sensors.lost - before.lost):
            return Fault(Cause.PACKETS_LOST, self._losses.count)
        if sensors.faults:
            return Fault(Cause.COMPLAINT, note=", ".join(sensors.faults))
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
