"""Conversion between joints and motors: numbering, signs, gear ratio, motor constant of Solo12.

joint = sign * motor / gear + offset
torque = sign * current * motor_constant * gear
kp_motor = kp_joint / (gear^2 * motor_constant)
"""

from __future__ import annotations

import numpy as np

from deploy.common.robot_error import RobotError
from deploy.robots.odri.wire.protocol import LIMITS, Flags, MotorCommand, SensorPacket
from solo_doi.solo12.constants import JOINT_NAMES, NUM_JOINTS, Array, constant
from solo_doi.solo12.limits import GEAR_RATIO, MOTOR_CONSTANT, TORQUE_PER_AMPERE, TRAINING_LIMITS
from solo_doi.solo12.state import JointCommand

MOTORS = {  # joint: motor number and sign, as wired on every Solo12 [ODRI, driver file]
    "FL_HAA": (0, 1),
    "FL_HFE": (3, -1),
    "FL_KFE": (2, -1),
    "FR_HAA": (1, -1),
    "FR_HFE": (5, 1),
    "FR_KFE": (4, 1),
    "HL_HAA": (6, 1),
    "HL_HFE": (9, -1),
    "HL_KFE": (8, -1),
    "HR_HAA": (7, -1),
    "HR_HFE": (11, 1),
    "HR_KFE": (10, 1),
}
MOTOR_OF_JOINT = np.array([MOTORS[name][0] for name in JOINT_NAMES])
JOINT_OF_MOTOR = np.argsort(MOTOR_OF_JOINT)
DRIVER_OF_JOINT = MOTOR_OF_JOINT // 2
SIGN = constant([MOTORS[name][1] for name in JOINT_NAMES])
GAIN_PER_AMPERE = GEAR_RATIO**2 * MOTOR_CONSTANT
"""Joint gain [N m/rad] per motor gain [A/rad]."""
SATURATION = TRAINING_LIMITS.current
"""Current limit of the drivers: the torque limit of training, 2.5 N m [A]."""
_TURNS = SIGN * GEAR_RATIO
_TORQUES = SIGN * TORQUE_PER_AMPERE
_NOTHING = constant(np.zeros(NUM_JOINTS))


def largest_gains(protocol: int) -> tuple[float, float]:
    """Return the largest kp [N m/rad] and kd [N m s/rad] at a joint that a protocol can carry."""
    return LIMITS[protocol].kp * GAIN_PER_AMPERE, LIMITS[protocol].kd * GAIN_PER_AMPERE


def check(command: JointCommand, protocol: int) -> None:
    """Refuse commands that the protocol cannot carry.

    The vendor's library would clamp gains and send NaN as the lowest position.

    Raises:
        RobotError: The message has the joint, the value and the largest gain.
    """
    finite = np.isfinite(command.position)
    worst = int(finite.argmin())
    if not finite[worst]:
        raise RobotError(
            f"{JOINT_NAMES[worst]}: its position is {command.position[worst]}. Nothing was sent."
        )
    for name, gain, limit in zip(
        ("kp", "kd"), (command.kp, command.kd), largest_gains(protocol), strict=True
    ):
        if not isinstance(gain, np.ndarray) and 0.0 <= gain <= limit:
            continue  # fast path: one gain for all joints, as in every policy
        values = np.broadcast_to(gain, NUM_JOINTS)
        good = (values >= 0.0) & (values <= limit)
        if not good.all():
            joint = int(np.argmin(good))
            raise RobotError(
                f"{JOINT_NAMES[joint]}: {name} is {values[joint]}, protocol {protocol} carries "
                f"0 to {limit:.3f}: use a policy with lower gains."
            )


def motor_command(
    command: JointCommand,
    offset: Array,
    *,
    enabled: Flags,
    compensate_index: Flags,
    saturation: float = SATURATION,
) -> MotorCommand:
    """Convert a joint command to a motor command; flags are per joint, (12,)."""
    return MotorCommand(
        enabled=enabled[JOINT_OF_MOTOR],
        compensate_index=compensate_index[JOINT_OF_MOTOR],
        position=((command.position - offset) * _TURNS)[JOINT_OF_MOTOR],
        velocity=_NOTHING,
        current=_NOTHING,
        kp=_motor_gain(command.kp),
        kd=_motor_gain(command.kd),
        saturation=np.full(NUM_JOINTS, saturation),
    )


def motors_off() -> MotorCommand:
    """Return the command that keeps the session alive with all motors disabled."""
    nothing = np.zeros(NUM_JOINTS)
    none = np.zeros(NUM_JOINTS, dtype=bool)
    return motor_command(
        JointCommand(position=nothing, kp=0.0, kd=0.0), nothing, enabled=none, compensate_index=none
    )


def joint_position(packet: SensorPacket, offset: Array) -> Array:
    """Return joint angles, (12,) [rad]."""
    return packet.position[MOTOR_OF_JOINT] / _TURNS + offset


def joint_velocity(packet: SensorPacket) -> Array:
    """Return joint velocities, (12,) [rad/s]."""
    return packet.velocity[MOTOR_OF_JOINT] / _TURNS


def joint_torque(packet: SensorPacket) -> Array:
    """Return joint torques from measured currents, (12,) [N m]."""
    return packet.current[MOTOR_OF_JOINT] * _TORQUES


def driver_of_joint(joint: int) -> int:
    """Return the number of the driver board of a joint's motor."""
    return int(DRIVER_OF_JOINT[joint])


def _motor_gain(gain: Array | float) -> Array:
    if isinstance(gain, np.ndarray):
        return np.broadcast_to(gain, NUM_JOINTS)[JOINT_OF_MOTOR] / GAIN_PER_AMPERE
    return np.full(NUM_JOINTS, gain / GAIN_PER_AMPERE)
