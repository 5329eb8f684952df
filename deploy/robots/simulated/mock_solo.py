"""Robot without physics, to test processes and messages: joints follow commands, the base rests."""

from __future__ import annotations

from collections import Counter

import numpy as np

from deploy.common.latency_padding import LatencyPadding
from deploy.common.poses import LYING
from deploy.common.robot_constants import LARGEST_GAINS, STOPPED, TICK, damping_command
from deploy.common.sensors import Sensors
from solo_doi.solo12.constants import GRAVITY, MOTOR_LAG, NUM_JOINTS
from solo_doi.solo12.rotations import IDENTITY
from solo_doi.solo12.state import JointCommand

UP = np.array([0.0, 0.0, GRAVITY])
FOLLOWING = 0.05
"""Fraction of the distance to its target that a joint moves in one tick."""


class MockSolo:
    """Twelve joints that follow their targets, and an IMU at rest with noise."""

    paces = False
    largest_gains = LARGEST_GAINS

    def __init__(self, *, epoch: float = 0.0, seed: int = 0) -> None:
        """Start lying; the clock starts at `epoch` [s]."""
        self.epoch = epoch
        self._ticks = 0
        self._rng = np.random.default_rng(seed)
        self._position = LYING.copy()
        self._velocity = np.zeros(NUM_JOINTS)
        self._lag = LatencyPadding(MOTOR_LAG, damping_command())

    @property
    def rejected(self) -> Counter[str]:
        """Nothing: there is no driver that replaces measurements."""
        return Counter()

    @property
    def time(self) -> float:
        """Time on the simulated clock [s]."""
        return self.epoch + self._ticks * TICK

    def start_clock(self, first_tick: float) -> None:
        """Set the simulated clock to the host's time of the first tick [s]."""
        self.epoch = first_tick

    def sense(self) -> Sensors:
        """Return the joint states and an IMU at rest."""
        noise = 0.01 * self._rng.standard_normal(6)
        return Sensors(
            time=self.time,
            joint_position=self._position,
            joint_velocity=self._velocity,
            joint_torque=np.zeros(NUM_JOINTS),
            angular_velocity_b=noise[:3],
            acceleration_b=noise[3:] + UP,
            quaternion=IDENTITY,
            ready=np.ones(NUM_JOINTS, dtype=bool),
        )

    def drive(self, command: JointCommand, observed: float) -> float:
        """Move the joints a fraction of the distance to their targets."""
        acting, observed = self._lag.push(command, observed, self.time)
        share = FOLLOWING if acting.kp else 0.0
        step = share * (acting.position - self._position)
        self._position = self._position + step
        self._velocity = step / TICK
        self._ticks += 1
        return observed

    def stop(self, cause: str = STOPPED) -> None:
        """Do nothing: the robot starts no motion by itself."""

    def close(self) -> None:
        """Do nothing: no resources are held."""
