"""Constants of the simulated robot, for processes that do not load a simulator."""

from __future__ import annotations

from datetime import date

import numpy as np

from deploy.robots.odri.bring_up.calibration import Calibration, nearest
from deploy.robots.odri.wire.ethernet import mac_text

# Joint angles of the encoders' index pulses: those of the robot in the vendor's driver file [ODRI].
INDEX_ANGLES = (
    0.179,
    0.497,
    0.360,
    -0.594,
    0.219,
    0.602,
    0.543,
    0.539,
    0.436,
    -0.241,
    0.440,
    0.210,
)
BOARD_MAC = bytes.fromhex("023012000001")
"""Address of the virtual board, locally administered."""
CALIBRATION = Calibration(
    nearest(np.array(INDEX_ANGLES)), mac_text(BOARD_MAC), date(2026, 1, 1), "native, protocol 4"
)
