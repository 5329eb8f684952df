"""Every index pulse that a joint passes is a second opinion about where the first one was."""

from __future__ import annotations

import numpy as np

from deploy.common.robot_error import RobotError
from deploy.robots.odri.bring_up.calibration import PITCH, nearest
from deploy.robots.odri.drivers.motors import MOTOR_OF_JOINT, joint_position
from deploy.robots.odri.wire.protocol import Flags, SensorPacket
from solo_doi.solo12.constants import JOINT_NAMES, NUM_JOINTS

TOLERANCE = 0.03
"""A joint that folds moves 2 mrad while a packet is on its way [rad]."""


class IndexWatch:
    """Knows by a bit that toggles when a motor passes its index; then its joint must be whole pitches from it."""

    def __init__(self) -> None:
        """Begin with no packet seen."""
        self._toggle: Flags | None = None
        self.passed = np.zeros(NUM_JOINTS, dtype=np.intp)
        """How often each joint has agreed."""

    def check(self, packet: SensorPacket, counting: Flags) -> None:
        """Compare joints that count from their index and have just passed one.

        Raises:
            RobotError: A pulse came where none can be.
        """
        toggle = packet.index_toggle[MOTOR_OF_JOINT]
        changed = (
            counting & (toggle != self._toggle)
            if self._toggle is not None
            else np.zeros(NUM_JOINTS, dtype=bool)
        )
        self._toggle = toggle
        if not changed.any():
            return
        away = nearest(joint_position(packet, np.zeros(NUM_JOINTS)))
        wrong = changed & (np.abs(away) > TOLERANCE)
        if wrong.any():
            joint = int(np.argmax(wrong))
            raise RobotError(
                f"{JOINT_NAMES[joint]} passed an index {abs(away[joint]):.2f} rad from where one must be: they come "
                f"every {PITCH:.3f} rad. A false index was found, or the encoder's disc slips: check it, start again."
            )
        self.passed += changed
