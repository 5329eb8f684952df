"""Causes of faults with their texts, shared by robot, controller, log and report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from solo_doi.solo12.constants import JOINT_NAMES


class Cause(IntEnum):
    """Cause of damped motors. Numbers are sent over LCM and logged, so they are never reused."""

    NONE = 0
    # Found by the controller in the robot's state.
    JOINT_POSITION = 1
    JOINT_VELOCITY = 2
    JOINT_TORQUE = 3
    TORQUE_RATE = 4
    TILT = 5
    STATE_NOT_FINITE = 6
    STATE_STALE = 7
    STATE_FROZEN = 8
    STATE_GAP = 9
    ROBOT_RESTARTED = 10
    ROBOT_FAULT = 11
    ATTITUDE_DISAGREES = 12
    # Found by the controller in its own operation.
    POLICY_NOT_FINITE = 20
    OUT_OF_ENVELOPE = 21
    TARGET_RATE = 22
    OVERRUN = 23
    DELAY = 24
    OPERATOR_SILENT = 25
    OPERATOR_STOP = 26
    # Found by the robot process in a command.
    COMMAND_NOT_FINITE = 40
    COMMAND_POSITION = 41
    COMMAND_STEP = 42
    COMMAND_GAINS = 43
    COMMAND_TORQUE = 44
    COMMAND_STALE = 45
    COMMAND_FOREIGN = 46
    COMMAND_RATE = 47
    COMMAND_OBSERVED = 48
    # Found by the robot process in its hardware.
    MOTOR_NOT_READY = 60
    COMMAND_LAG = 61
    SENSOR_STALE = 62
    HARDWARE = 63
    IMU_FROZEN = 64
    VOLTAGE = 65
    ENCODER_JUMP = 66
    # 67 was COMPLAINT, an error with a text but no number; such errors are HARDWARE now.
    PACKETS_LOST = 68
    VELOCITY_DISAGREES = 69
    BOARD_DISARMED = 70
    ENCODER_FROZEN = 71
    MOTOR_HOT = 72
    # Found by the robot process in its own operation.
    ROBOT_PROGRAM = 80

    UNKNOWN = 127
    """Placeholder for the number of a cause that this version does not define."""

    @classmethod
    def of(cls, number: int) -> Cause:
        """Return the cause of a number in a message; UNKNOWN for a number of another version."""
        if number in cls._value2member_map_:
            return cls(number)
        return cls.UNKNOWN


WORDS = {
    Cause.NONE: "nothing is wrong",
    Cause.JOINT_POSITION: "{joint} at {value:.2f} rad is beyond its safety limit",
    Cause.JOINT_VELOCITY: "{joint} turns at {value:.1f} rad/s, beyond its safety limit",
    Cause.JOINT_TORQUE: "{joint} exerts {value:.2f} N m, beyond its safety limit",
    Cause.TORQUE_RATE: "torque of {joint} changes by {value:.2f} N m in a tick, too often",
    Cause.TILT: "the base is tilted by {value:.2f} rad",
    Cause.STATE_NOT_FINITE: "the robot's state contains a number that is not finite",
    Cause.STATE_STALE: "the robot's newest state is {value:.0f} ms old",
    Cause.STATE_FROZEN: "the robot's sensors show the same numbers for {value:.0f} ms",
    Cause.STATE_GAP: "{value:.0f} states of the robot were lost while a hundred arrived",
    Cause.ROBOT_RESTARTED: "another robot process answers",
    Cause.ROBOT_FAULT: "the robot damps by itself: {behind}",
    Cause.ATTITUDE_DISAGREES: "IMU and estimator disagree about the tilt by {value:.2f} rad",
    Cause.POLICY_NOT_FINITE: "the policy's output is not finite",
    Cause.OUT_OF_ENVELOPE: "the observation is at {value:.1f} times the range of training",
    Cause.TARGET_RATE: "target of {joint} jumps by {value:.2f} rad",
    Cause.OVERRUN: "{value:.0f} ticks were late or skipped in a hundred",
    Cause.DELAY: "{value:.0f} ms from sensor to torque are outside the range of training",
    Cause.OPERATOR_SILENT: "no message from the operator for {value:.0f} ms",
    Cause.OPERATOR_STOP: "stopped by the operator",
    Cause.COMMAND_NOT_FINITE: "a command contains a number that is not finite",
    Cause.COMMAND_POSITION: "a command sends {joint} to {value:.2f} rad, beyond its limit",
    Cause.COMMAND_STEP: "a command moves {joint} by {value:.2f} rad at once",
    Cause.COMMAND_RATE: "commands move {joint} too fast, by {value:.2f} rad in a short time",
    Cause.COMMAND_GAINS: "a command has the gain {value:.2f}",
    Cause.COMMAND_TORQUE: "a command would give {joint} {value:.1f} N m",
    Cause.COMMAND_STALE: "no fresh command for {value:.0f} ms",
    Cause.COMMAND_OBSERVED: "the measurement behind a command is {value:.0f} ms old",
    Cause.COMMAND_FOREIGN: "a second controller sends commands",
    Cause.MOTOR_NOT_READY: "the motor of {joint} does not follow",
    Cause.COMMAND_LAG: "the motors have not acknowledged {value:.0f} commands",
    Cause.SENSOR_STALE: "no data from the motors for {value:.0f} ms",
    Cause.HARDWARE: "the hardware reports error {value:.0f} at {joint}{note}",
    Cause.IMU_FROZEN: "the IMU shows the same numbers for {value:.0f} ms",
    Cause.VOLTAGE: "the battery gives {value:.1f} V",
    Cause.PACKETS_LOST: "{value:.0f} packets between PC and motors were lost in a hundred",
    Cause.ENCODER_FROZEN: "the encoder of {joint} shows the same angle for {value:.0f} ms",
    Cause.MOTOR_HOT: "the motor of {joint} has had {value:.1f} A for too long",
    Cause.BOARD_DISARMED: (
        "this computer stalled for {value:.0f} ms, and the master board switched the motors off"
    ),
    Cause.VELOCITY_DISAGREES: (
        "velocity and encoder of {joint} disagree in {value:.0f} of a hundred ticks"
    ),
    Cause.ROBOT_PROGRAM: "the robot's own program failed{note}",
    Cause.ENCODER_JUMP: "the encoder of {joint} jumps by {value:.2f} rad",
    Cause.UNKNOWN: "a cause that this version does not know",
}


@dataclass(frozen=True)
class Fault:
    """A cause with its joint and measured value."""

    cause: Cause
    value: float = 0.0
    joint: int = -1
    behind: Cause = Cause.NONE
    """Cause that the robot process reported, if `cause` is ROBOT_FAULT.

    Joint and value then belong to this cause.
    """
    note: str = ""
    """Text from the hardware or the program; it is not sent over LCM."""

    def __str__(self) -> str:
        """Describe the fault in words."""
        name = "a joint"
        if 0 <= self.joint < len(JOINT_NAMES):
            name = JOINT_NAMES[self.joint]
        note = ""
        if self.note:
            note = f": {self.note}"
        behind = WORDS[self.behind].format(joint=name, value=self.value, note=note, behind="")
        return WORDS[self.cause].format(joint=name, value=self.value, note=note, behind=behind)
