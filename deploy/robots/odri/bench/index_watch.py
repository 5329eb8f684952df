"""Check of further index pulses: each must lie whole pitches from the first one."""

from __future__ import annotations

import numpy as np

from deploy.common.robot_error import RobotError
from deploy.robots.odri.bring_up.calibration import PITCH, nearest
from deploy.robots.odri.drivers.motors import MOTOR_OF_JOINT, joint_position
from deploy.robots.odri.wire.protocol import Flags, SensorPacket
from solo_doi.solo12.constants import JOINT_NAMES, NUM_JOINTS

TOLERANCE = 0.03
"""Largest error of an index; a folding joint moves 2 mrad during the delay of a packet [rad]."""


class IndexWatch:
    """Detects passed index pulses by a bit that toggles, and checks the joint angle there."""

    def __init__(self) -> None:
        """Start without a packet."""
        self._toggle: Flags | None = None
        self.passed = np.zeros(NUM_JOINTS, dtype=np.intp)
        """Number of consistent index pulses of each joint."""

    def check(self, packet: SensorPacket, counting: Flags) -> None:
        """Check joints that count from their index and have just passed another one.

        Raises:
            RobotError: A pulse came at an angle without an index.
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
        wrong = changed & (np.abs(away) > TOLERANCE)
        if wrong.any():
            joint = int(np.argmax(wrong))
            raise RobotError(
                f"{JOINT_NAMES[joint]} passed an index {abs(away[joint]):.2f} rad from where one "
                f"must be: they come every {PITCH:.3f} rad. A false index was found, or the "
                "encoder's disc slips: check it, start again."
            )
        self.passed += changed
