"""Offsets: their robot, their age and their plausibility."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from deploy.robots.odri.bring_up.calibration import (
    LARGEST_START,
    PITCH,
    Calibration,
    CalibrationError,
    load,
    nearest,
    save,
)

OFFSET = nearest(np.random.default_rng(0).uniform(-1, 1, 12))
CALIBRATION = Calibration(OFFSET, "02:00:00:00:00:01", date(2026, 2, 3))


def test_the_pitch_is_forty_degrees() -> None:
    """One turn of the motor is 1/9 turn of the joint."""
    assert np.degrees(PITCH) == pytest.approx(40)


def test_any_index_leads_to_the_true_angle() -> None:
    """For any index found, the initial angle follows if the joint was near zero."""
    random = np.random.default_rng(1)
    for _ in range(100):
        start = random.uniform(-LARGEST_START, LARGEST_START, 12)
        index = OFFSET + PITCH * random.integers(-2, 3, 12)  # true angle of the index
        resolved = CALIBRATION.resolved(start - index)
        np.testing.assert_allclose(resolved, index, atol=1e-12)


def test_a_joint_that_may_be_at_either_of_two_places_is_refused() -> None:
    """Half a pitch from zero both neighbours are equally near; the error could be 40 degrees."""
    start = np.zeros(12)
    start[4] = 0.3
    with pytest.raises(CalibrationError, match=r"FR_HFE at \+0.30"):
        CALIBRATION.resolved(start - OFFSET)


def test_a_joint_without_position_is_refused() -> None:
    """A comparison with NaN must not pass for a small angle."""
    start = np.zeros(12)
    start[4] = np.nan
    with pytest.raises(CalibrationError, match="FR_HFE"):
        CALIBRATION.resolved(start - OFFSET)


def test_the_offsets_of_another_robot_are_detected() -> None:
    """Robots share only the pitch, so a match of all twelve joints by chance is rare."""
    random = np.random.default_rng(2)
    noticed = 0
    for _ in range(500):
        try:
            CALIBRATION.resolved(-nearest(random.uniform(-1, 1, 12)))
        except CalibrationError:
            noticed += 1
    assert noticed > 475


def test_offsets_are_measured_in_the_zero_pose() -> None:
    """A joint at zero that counts -0.2 from its index has the index at +0.2."""
    counted = np.linspace(-3, 3, 12)
    measured = Calibration.from_zero_pose(counted, "x", date(2026, 1, 1))
    np.testing.assert_allclose(nearest(counted + measured.offset), 0, atol=1e-12)
    np.testing.assert_allclose(measured.resolved(counted) + counted, 0, atol=1e-12)
    with pytest.raises(CalibrationError, match="index"):
        Calibration.from_zero_pose(np.full(12, np.nan), "x", date(2026, 1, 1))


def test_a_saved_calibration_is_loaded(tmp_path: Path) -> None:
    """The file has offsets by joint name, board and date."""
    save(CALIBRATION, tmp_path / "robot.json")
    back = load(tmp_path / "robot.json")
    np.testing.assert_array_equal(back.offset, OFFSET)
    assert (back.board, back.measured) == (CALIBRATION.board, CALIBRATION.measured)
    assert back.age_days(date(2026, 2, 13)) == 10


def test_another_board_is_refused() -> None:
    """Offsets belong to one robot."""
    CALIBRATION.check_board("02:00:00:00:00:01")
    with pytest.raises(CalibrationError, match="02:00:00:00:00:02"):
        CALIBRATION.check_board("02:00:00:00:00:02")


def test_a_missing_calibration_is_refused(tmp_path: Path) -> None:
    """There is no default calibration."""
    with pytest.raises(CalibrationError, match="never calibrated"):
        load(tmp_path / "none.json")


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"offset": {"FL_HAA": 0.1}},
        {"offset": None},
        {"measured": "yesterday"},
        {"offset": "FL_HAA:nan"},
        {"offset": "FL_HAA:1.0"},
    ],
)
def test_broken_files_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    """The format is unknown, joints are missing, or dates and numbers are invalid."""
    path = tmp_path / "robot.json"
    save(CALIBRATION, path)
    content = json.loads(path.read_text())
    value = change.get("offset")
    if isinstance(value, str):
        joint, number = value.split(":")
        content["offset"][joint] = float(number)
    else:
        content.update(change)
    path.write_text(json.dumps(content))
    with pytest.raises(CalibrationError, match="not a calibration"):
        load(path)
    path.write_text("rubbish")
    with pytest.raises(CalibrationError, match="not a calibration"):
        load(path)
