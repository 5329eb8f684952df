"""Defects that real master boards and motor drivers are known to have, for simulated robots.

`deploy/docs/virtual_board.md` has the table of defects with their reports.
"""

from __future__ import annotations

import math

import numpy as np

from deploy.common.robot_constants import TICK
from solo_doi.solo12.constants import NUM_JOINTS, Array
from solo_doi.solo12.limits import GEAR_RATIO

ENCODER_STEP = math.tau / 5000
"""Resolution of an encoder at its motor: 5000 counts per turn [rad]."""
VELOCITY_STEP = (1000 * math.tau / 60) / 2**11
"""Resolution of a velocity at its motor, as packets carry it [rad/s]."""
SMALLEST_SPIKE = 2.0
"""Smallest spike of a velocity, at the joint [rad/s]."""
LARGEST_SPIKE = 120.0
"""Largest spike of a velocity, at the joint [rad/s]."""
LONGEST_SPIKE = 3
"""Largest number of samples of a spike."""
ZERO_FRAMES_PER_SECOND = 1.0
"""Mean number of frames of zeros in a second, for positions and for the IMU."""
CURRENT_OFFSET = 0.3
"""Largest offset of a current sensor [A]."""


def drawn_seed() -> int:
    """Return a random seed that is short enough to be typed."""
    return int(np.random.default_rng().integers(1_000_000))


class KnownDefects:
    """Defects of the sensors of twelve motors and one IMU; angles are those of rotors."""

    def __init__(self, seed: int) -> None:
        """Draw the offsets of the current sensors."""
        self._random = np.random.default_rng(seed)
        self.current_offset: Array = self._random.uniform(
            -CURRENT_OFFSET, CURRENT_OFFSET, NUM_JOINTS
        )
        """Offset of each current sensor, (12,) [A]."""
        self._turns: Array | None = None
        self._spike = np.zeros(NUM_JOINTS)
        self._remaining = np.zeros(NUM_JOINTS, dtype=np.intp)  # samples of each spike

    def position(self, angle: Array) -> Array:
        """Return angles in steps of the encoders [rad]."""
        counts: Array = np.floor(angle / ENCODER_STEP)
        return counts * ENCODER_STEP

    def velocity(self, angle: Array, velocity: Array) -> Array:
        """Return velocities with spikes and with a lowest bit that is always set [rad/s].

        `angle` is counted from the zero of each motor [rad]. Call once per tick.
        """
        turns = np.floor(angle / math.tau)
        if self._turns is not None:
            passed = turns != self._turns
            if passed.any():
                self._begin(passed)
        self._turns = turns
        if self._remaining.any():
            velocity = velocity + np.where(self._remaining > 0, self._spike, 0.0)
            self._remaining = np.maximum(self._remaining - 1, 0)
        pairs: Array = np.floor(velocity / (2 * VELOCITY_STEP))
        return (2 * pairs + 1) * VELOCITY_STEP

    def zero_frame(self) -> bool:
        """Return True if a frame has only zeros; call once per tick and kind of frame."""
        return bool(self._random.random() < ZERO_FRAMES_PER_SECOND * TICK)

    def _begin(self, passed: np.ndarray) -> None:
        """Draw size, sign and length of a new spike of motors that pass their zero."""
        random = self._random
        size = np.exp(random.uniform(math.log(SMALLEST_SPIKE), math.log(LARGEST_SPIKE), NUM_JOINTS))
        signs = random.choice((-1.0, 1.0), NUM_JOINTS)
        lengths = random.integers(1, LONGEST_SPIKE + 1, NUM_JOINTS)
        self._spike = np.where(passed, GEAR_RATIO * signs * size, self._spike)
        self._remaining = np.where(passed, lengths, self._remaining)
