"""The vendor's driver file for the simulated robot, from our own constants."""

from __future__ import annotations

import json

import numpy as np

from deploy.robots.odri.drivers.motors import MOTORS
from deploy.robots.virtual_board.veth import PC_END
from deploy.robots.virtual_board.virtual_robot import INDEX_ANGLES
from solo_doi.solo12.constants import JOINT_NAMES
from solo_doi.solo12.limits import DRIVER_LIMITS, GEAR_RATIO, MOTOR_CONSTANT

STAND = np.array([0.0, 0.7, -1.4] * 2 + [0.0, -0.7, 1.4] * 2)
"""The pose of the vendor's demo."""


def vendor_config() -> str:
    """Return the text of the file."""
    numbers, signs = zip(*(MOTORS[name] for name in JOINT_NAMES), strict=True)
    robot = {
        "interface": PC_END,
        "joint_modules": {
            "motor_numbers": list(numbers),
            "motor_constants": MOTOR_CONSTANT,
            "gear_ratios": GEAR_RATIO,
            "max_currents": DRIVER_LIMITS.current,
            "reverse_polarities": [sign < 0 for sign in signs],
            "lower_joint_limits": (-DRIVER_LIMITS.position).tolist(),
            "upper_joint_limits": DRIVER_LIMITS.position.tolist(),
            "max_joint_velocities": DRIVER_LIMITS.velocity,
            "safety_damping": 0.2,
        },
        "imu": {"rotate_vector": [1, 2, 3], "orientation_vector": [1, 2, 3, 4]},
    }
    calibrator = {
        "search_methods": ["POS", "POS", "POS", "NEG", "POS", "POS"] * 2,
        "position_offsets": list(INDEX_ANGLES),
        "calib_order": [1, 0, 0] * 4,
        "calib_pos": [0.0, 1.2, -2.4] * 2 + [0.0, -1.2, 2.4] * 2,
        "Kp": 5.0,
        "Kd": 0.05,
        "T": 1.0,
        "dt": 0.001,
    }
    return json.dumps({"robot": robot, "joint_calibrator": calibrator})  # JSON is YAML
