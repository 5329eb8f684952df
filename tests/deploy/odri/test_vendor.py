"""The vendor's library takes the virtual board for a real one: it initialises, calibrates and holds a pose."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from deploy.robots.odri.motors import MOTORS
from deploy.robots.virtual_board.body import INDEX_ANGLES
from deploy.robots.virtual_board.veth import PC_END
from solo_doi.solo12.constants import JOINT_NAMES
from solo_doi.solo12.limits import DRIVER, GEAR_RATIO, MOTOR_CONSTANT
from tests.contract.board_runs import beside_board, need_sdk

STAND = np.array([0.0, 0.7, -1.4] * 2 + [0.0, -0.7, 1.4] * 2)
"""The pose of the vendor's demo."""


def vendor_config() -> str:
    """Return the vendor's driver file for the simulated robot, from our own constants."""
    numbers, signs = zip(*(MOTORS[name] for name in JOINT_NAMES), strict=True)
    robot = {
        "interface": PC_END,
        "joint_modules": {
            "motor_numbers": list(numbers),
            "motor_constants": MOTOR_CONSTANT,
            "gear_ratios": GEAR_RATIO,
            "max_currents": DRIVER.current,
            "reverse_polarities": [sign < 0 for sign in signs],
            "lower_joint_limits": (-DRIVER.position).tolist(),
            "upper_joint_limits": DRIVER.position.tolist(),
            "max_joint_velocities": DRIVER.velocity,
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


def test_the_vendors_bring_up_runs_against_the_virtual_board(tmp_path: Path) -> None:
    """Calibrated by the vendor's calibrator, its angles are within 2 mrad of the simulated truth."""
    config, result, report = (tmp_path / name for name in ("solo12.yaml", "result.json", "report.json"))
    config.write_text(vendor_config())
    python = need_sdk()
    options = ("--report", str(report), "--spread", "0.05")
    command = (python, "-m", "tests.deploy.odri.vendor_client", str(config), str(result))
    beside_board(*command, protocol=3, options=options)
    measured, truth = json.loads(result.read_text()), json.loads(report.read_text())
    true_angles = np.array([truth["joint_position"][name] for name in JOINT_NAMES])
    np.testing.assert_allclose(measured["positions"], true_angles, atol=0.002)
    np.testing.assert_allclose(true_angles, STAND, atol=0.1)
    assert not measured["has_error"]
    assert (measured["sensors_lost"], measured["commands_lost"]) == (0, 0)
    assert measured["different_bytes"] == 0
