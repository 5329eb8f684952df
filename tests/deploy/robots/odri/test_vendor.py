"""The vendor's library with the virtual board.

It initialises, calibrates and holds a pose.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from solo_doi.solo12.constants import JOINT_NAMES
from tests.contract.board_runs import beside_board, need_sdk

from .vendor_file import STAND, vendor_config


def test_the_vendors_bring_up_runs_against_the_virtual_board(tmp_path: Path) -> None:
    """The vendor's calibrator calibrates the robot.

    Its angles are within 2 mrad of the simulated truth.
    """
    config, result, report = (
        tmp_path / name for name in ("solo12.yaml", "result.json", "report.json")
    )
    config.write_text(vendor_config())
    python = need_sdk()
    options = ("--report", str(report), "--spread", "0.05", "--ideal")  # it rejects no outlier
    command = (python, "-m", "tests.deploy.robots.odri.vendor_client", str(config), str(result))
    beside_board(*command, protocol=3, options=options)
    measured, truth = json.loads(result.read_text()), json.loads(report.read_text())
    true_angles = np.array([truth["joint_position"][name] for name in JOINT_NAMES])
    np.testing.assert_allclose(measured["positions"], true_angles, atol=0.002)
    np.testing.assert_allclose(true_angles, STAND, atol=0.1)
    assert not measured["has_error"]
    # The library counts packets that a board in lock-step repeats for a late PC as 65535 lost ones.
    assert (measured["sensors_lost"] % 65535, measured["commands_lost"]) == (0, 0)
    assert measured["different_bytes"] == 0
