"""Same joint torque from a state and a command in every simulator and in the motor model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deploy.robots.odri.drivers import motors
from deploy.robots.odri.wire import codec
from deploy.robots.odri.wire.protocol import CommandPacket
from deploy.robots.virtual_board.body import Wiring
from deploy.robots.virtual_board.motor_drivers import ALIGNMENT_TICKS, MotorDrivers
from solo_doi.sim import Domain
from solo_doi.solo12.constants import NUM_JOINTS, Array
from solo_doi.solo12.limits import TORQUE_PER_AMPERE, TRAINING_LIMITS
from solo_doi.solo12.state import JointCommand

from .simulators import LOCOMOTION, Make, in_the_air

STEP = 1e-5
"""Step that is short enough for a constant state [s]."""
to_motors = Wiring().to_motors
ON = np.ones(NUM_JOINTS, dtype=bool)
SATURATION = TRAINING_LIMITS.torque / TORQUE_PER_AMPERE
"""Current that gives the simulators' torque limit [A]."""


def board_torque(target: Array, position: Array, velocity: Array, protocol: int) -> Array:
    """Return the drivers' joint torques for a command that was sent over the cable."""
    command = motors.motor_command(
        JointCommand(position=target, kp=LOCOMOTION.kp, kd=LOCOMOTION.kd),
        position,  # rotors count from this position, where they are powered up
        enabled=ON,
        compensate_index=~ON,
        saturation=SATURATION,
    )
    packet = codec.decode_command(codec.encode_command(command, 1, 1, protocol))
    assert isinstance(packet, CommandPacket)
    drivers = MotorDrivers(np.full(NUM_JOINTS, 1e6), to_motors(position))
    for _ in range(ALIGNMENT_TICKS + 1):
        drivers.tick(packet)
    current = drivers.currents(to_motors(position), to_motors(velocity))
    return motors.SIGN * current[motors.MOTOR_OF_JOINT] * TORQUE_PER_AMPERE


@pytest.mark.parametrize("protocol", [3, 4])
def test_simulators_and_motors_make_the_same_torque(make: Make, protocol: int) -> None:
    """Fifty states and targets include some at the limit.

    Torques agree within 2 % and a thousandth of the largest torque.
    """
    simulator = make(kp=LOCOMOTION.kp, kd=LOCOMOTION.kd, physics_dt=STEP, decimation=1)
    simulator.set_domain(replace(Domain.nominal(1), motor_lag=np.zeros(1)))
    random, limited = np.random.default_rng(0), 0
    for _ in range(50):
        position = LOCOMOTION.default_pose + random.normal(0, 0.2, NUM_JOINTS)
        velocity = random.normal(0, 3, NUM_JOINTS)
        target = position + random.normal(0, 0.4, NUM_JOINTS)
        target = np.clip(target, -TRAINING_LIMITS.position, TRAINING_LIMITS.position)
        motion = replace(in_the_air(), joint_position=position[None], joint_velocity=velocity[None])
        simulator.reset(motion)
        simulated = simulator.step(target[None]).torque[0]
        expected = board_torque(target, position, velocity, protocol)
        np.testing.assert_allclose(
            simulated, expected, rtol=0.02, atol=0.001 * TRAINING_LIMITS.torque
        )
        limited += int((np.abs(expected) > 0.98 * TRAINING_LIMITS.torque).sum())
    assert limited > 10
