"""Check of further index pulses: each must be a whole number of pitches from the first."""

from __future__ import annotations

import numpy as np

from deploy.common.robot_error import RobotError
from deploy.robots.odri.bring_up.calibration import PITCH, nearest
from deploy.robots.odri.drivers.motors import MOTOR_OF_JOINT, joint_position
from deploy.robots.odri.wire.protocol import Flags, SensorPacket
from solo_doi.solo12.constants import JOINT_NAMES, NUM_JOINTS

INDEX_TOLERANCE = 0.03
"""Largest position error of an index; a folding joint moves 2 mrad per packet delay [rad]."""


class IndexWatch:
    """Detects index pulses by the toggle bit of the encoder, and checks the joint angles there."""

    def __init__(self) -> None:
        """Start without a packet."""
        self._toggle: Flags | None = None
        self.passed = np.zeros(NUM_JOINTS, dtype=np.intp)
        """Number of index pulses of each joint at their expected angle, (12,)."""

    def check(self, packet: SensorPacket, counting: Flags) -> None:
        """Check the joints that have just passed an index pulse.

        `counting` marks the joints whose position counts from their first index, (12,).

        Raises:
            RobotError: A pulse came more than `INDEX_TOLERANCE` from an expected angle.
        """
        toggle = packet.index_toggle[MOTOR_OF_JOINT]
        before = self._toggle
        self._toggle = toggle
        if before is None:
            return
        changed = counting & (toggle != before)
        if not changed.any():
            return
        away = nearest(joint_position(packet, np.zeros(NUM_JOINTS)))
        wrong = changed & (np.abs(away) > INDEX_TOLERANCE)
        if wrong.any():
            joint = int(np.argmax(wrong))
            raise RobotError(
                f"{JOINT_NAMES[joint]} passed an index {abs(away[joint]):.2f} rad from where one "
                f"must be: they come every {PITCH:.3f} rad. A false index was found, or the "
                "encoder's disc slips: check it, start again."
            )
        self.passed += changed
