"""What can go wrong, once: causes with their words, the same for robot, controller, log and report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from solo_doi.solo12.constants import JOINT_NAMES


class Cause(IntEnum):
    """Why the motors are damped. Numbers go over LCM and into logs: they are never given anew."""

    NONE = 0
    # What the controller finds in the robot's state.
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
    # What it finds in itself.
    POLICY_NOT_FINITE = 20
    OUT_OF_ENVELOPE = 21
    TARGET_RATE = 22
    OVERRUN = 23
    DELAY = 24
    OPERATOR_SILENT = 25
    OPERATOR_STOP = 26
    # What the robot's last line finds in a command.
    COMMAND_NOT_FINITE = 40
    COMMAND_POSITION = 41
    COMMAND_STEP = 42
    COMMAND_GAINS = 43
    COMMAND_TORQUE = 44
    COMMAND_STALE = 45
    COMMAND_FOREIGN = 46
    COMMAND_RATE = 47
    COMMAND_OBSERVED = 48
    # What it finds in its hardware.
    MOTOR_NOT_READY = 60
    COMMAND_LAG = 61
    SENSOR_STALE = 62
    HARDWARE = 63
    IMU_FROZEN = 64
    VOLTAGE = 65
    ENCODER_JUMP = 66
    # 67 was COMPLAINT, the hardware's words alone: errors of drivers are HARDWARE, and nothing else complains.
    PACKETS_LOST = 68
    # What it finds in itself.
    ROBOT_PROGRAM = 80

    UNKNOWN = 127
    """What another version of this program may have sent."""

    @classmethod
    def of(cls, number: int) -> Cause:
        """Return the cause of a number in a message, whoever sent it."""
        return cls(number) if number in cls._value2member_map_ else cls.UNKNOWN


WORDS = {
    Cause.NONE: "nothing is wrong",
    Cause.JOINT_POSITION: "{joint} at {value:.2f} rad is beyond its safety limit",
    Cause.JOINT_VELOCITY: "{joint} turns at {value:.1f} rad/s, beyond its safety limit",
    Cause.JOINT_TORQUE: "{joint} gives {value:.2f} N m, beyond its safety limit",
    Cause.TORQUE_RATE: "torque of {joint} changes by {value:.2f} N m in a tick, too often",
    Cause.TILT: "the base is tilted by {value:.2f} rad",
    Cause.STATE_NOT_FINITE: "the robot's state holds a number that is not finite",
    Cause.STATE_STALE: "the robot's newest state is {value:.0f} ms old",
    Cause.STATE_FROZEN: "the robot's sensors show the same numbers for {value:.0f} ms",
    Cause.STATE_GAP: "{value:.0f} states of the robot were lost while a hundred came",
    Cause.ROBOT_RESTARTED: "another robot process answers",
    Cause.ROBOT_FAULT: "the robot damps by itself: {behind}",
    Cause.ATTITUDE_DISAGREES: "IMU and estimator disagree about the tilt by {value:.2f} rad",
    Cause.POLICY_NOT_FINITE: "the policy's answer is not finite",
    Cause.OUT_OF_ENVELOPE: "the policy sees what it never saw in training, {value:.1f} times the range",
    Cause.TARGET_RATE: "target of {joint} jumps by {value:.2f} rad",
    Cause.OVERRUN: "{value:.0f} ticks were late or left out while a hundred were made",
    Cause.DELAY: "{value:.0f} ms from sensor to torque are beyond what the policy was trained with",
    Cause.OPERATOR_SILENT: "the operator has not been heard of for {value:.0f} ms",
    Cause.OPERATOR_STOP: "stopped by the operator",
    Cause.COMMAND_NOT_FINITE: "a command holds a number that is not finite",
    Cause.COMMAND_POSITION: "a command wants {joint} at {value:.2f} rad, beyond its limit",
    Cause.COMMAND_STEP: "a command moves {joint} by {value:.2f} rad at once",
    Cause.COMMAND_RATE: "commands move {joint} too fast, by {value:.2f} rad of late",
    Cause.COMMAND_GAINS: "a command has the gain {value:.2f}",
    Cause.COMMAND_TORQUE: "a command would give {joint} {value:.1f} N m",
    Cause.COMMAND_STALE: "no fresh command for {value:.0f} ms",
    Cause.COMMAND_OBSERVED: "a command is said to rest on a measurement that is {value:.0f} ms old",
    Cause.COMMAND_FOREIGN: "a second controller commands",
    Cause.MOTOR_NOT_READY: "the motor of {joint} does not follow",
    Cause.COMMAND_LAG: "the motors have not acknowledged {value:.0f} commands",
    Cause.SENSOR_STALE: "the motors have not been heard of for {value:.0f} ms",
    Cause.HARDWARE: "the hardware reports error {value:.0f} at {joint}{note}",
    Cause.IMU_FROZEN: "the IMU shows the same numbers for {value:.0f} ms",
    Cause.VOLTAGE: "the battery gives {value:.1f} V",
    Cause.PACKETS_LOST: "{value:.0f} packets were lost between PC and motors while a hundred came",
    Cause.ROBOT_PROGRAM: "the robot's own program failed{note}",
    Cause.ENCODER_JUMP: "the encoder of {joint} jumps by {value:.2f} rad",
    Cause.UNKNOWN: "a cause that this version does not know",
}


@dataclass(frozen=True)
class Fault:
    """A cause with the joint and the number that made it one."""

    cause: Cause
    value: float = 0.0
    joint: int = -1
    behind: Cause = Cause.NONE
    """What the robot found, whose joint and number these are, if the cause is the robot's own fault."""
    note: str = ""
    """What the hardware says; it does not go over LCM."""

    def __str__(self) -> str:
        """Say it in words."""
        name = JOINT_NAMES[self.joint] if 0 <= self.joint < len(JOINT_NAMES) else "a joint"
        parts = {
            "joint": name,
            "value": self.value,
            "note": f": {self.note}" if self.note else "",
            "behind": "",
        }
        return WORDS[self.cause].format(**parts | {"behind": WORDS[self.behind].format(**parts)})
