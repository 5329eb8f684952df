"""The calibration of the simulated robot: known, since its index pulses were put where they are."""

from __future__ import annotations

from datetime import date

import numpy as np

from deploy.robots.odri.calibration import Calibration, nearest
from deploy.robots.odri.ethernet import mac_text

from .body import INDEX_ANGLES
from .memory import BOARD_MAC

CALIBRATION = Calibration(nearest(np.array(INDEX_ANGLES)), mac_text(BOARD_MAC), date(2026, 1, 1), "native, protocol 4")
