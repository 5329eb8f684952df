"""Calibration: joint angles of the encoders' index pulses, measured once per robot.

There is one index pulse per turn of the motor, so one every 40 degrees of the joint (the pitch). At
the start of the search a person has put the joints near zero. This start angle determines which
pulse was found: the one for which the start angle is small. An angle near half the pitch is
ambiguous and is refused.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from deploy.common.robot_error import RobotError
from solo_doi.common.files import write_text
from solo_doi.solo12.constants import JOINT_NAMES, Array, constant
from solo_doi.solo12.limits import GEAR_RATIO

PITCH = math.tau / GEAR_RATIO
"""Joint angle between two index pulses [rad]."""
LARGEST_START = 0.25
"""Largest distance of a joint from the zero pose at the start of the search [rad].

Angles are ambiguous from 0.35 rad on.
"""
LARGEST_AGE = 90
"""Age above which a note is printed [days]."""
SMALLEST_SPREAD = 1e-3
"""Smallest plausible spread of offsets: encoders are mounted at arbitrary angles [rad]."""
CALIBRATE_COMMAND = "solo-deploy calibrate --interface CARD"
"""Command that measures a calibration."""
CALIBRATION_FORMAT = 1
FIELDS = frozenset({"format", "board", "measured", "measured_with", "offset"})


def default_path() -> Path:
    """Return the default path of the calibration of this computer's robot (XDG directory)."""
    folder = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    if not folder.is_absolute():  # XDG ignores relative folders
        folder = Path.home() / ".config"
    return folder / "solo-doi" / "calibration.json"


class CalibrationError(RobotError):
    """Offsets are missing, belong to another robot, or are not plausible."""


@dataclass(frozen=True)
class Calibration:
    """Joint angles of the encoders' index pulses of one robot."""

    offset: Array
    """Index angles within half a pitch of zero, (12,); further indices follow every pitch [rad]."""
    board: str
    """MAC address of the robot's master board."""
    measured: date
    """Date of the measurement."""
    measured_with: str = ""
    """Driver and protocol of the measurement, as text."""

    @classmethod
    def from_zero_pose(
        cls, index_position: Array, board: str, measured: date, measured_with: str = ""
    ) -> Calibration:
        """Return the calibration from positions in the zero pose, counted from the index [rad]."""
        if not np.isfinite(index_position).all():
            raise CalibrationError("A joint has no position: are all index pulses found?")
        return cls(constant(nearest(-index_position)), board, measured, measured_with)

    def resolved(self, start: Array) -> Array:
        """Return the offsets of the indices that were found, (12,) [rad].

        `start` are joint angles at the start of the search, counted from these indices [rad].

        Raises:
            CalibrationError: A joint was not near the zero pose, or its angle is ambiguous.
        """
        angle = nearest(start + self.offset)
        far = ~(np.abs(angle) <= LARGEST_START)  # also true for NaN
        if far.any():
            joints = ", ".join(f"{JOINT_NAMES[j]} at {angle[j]:+.2f}" for j in np.flatnonzero(far))
            raise CalibrationError(
                f"Not near the zero pose when the search began: {joints} rad, allowed is "
                f"{LARGEST_START}. From there the wrong index may be found, and all angles would "
                "be wrong by 40 degrees. Put the joints to zero and start again; if they were, "
                "this calibration is of another robot or the encoder slipped."
            )
        return angle - start

    def check_board(self, address: str) -> None:
        """Refuse a board that the calibration does not belong to."""
        if address != self.board:
            raise CalibrationError(
                f"The calibration of {self.measured} belongs to board {self.board}, "
                f"this is {address}: calibrate it."
            )

    def age_days(self, today: date) -> int:
        """Return the age of the measurement [days]."""
        return (today - self.measured).days

    def check_age(self, today: date) -> str:
        """Return a note if the measurement is old, else an empty text; refuse a future date."""
        age = self.age_days(today)
        if age < 0:
            raise CalibrationError(
                f"The calibration's date {self.measured} is in the future: check the clock of "
                "this computer, or calibrate again."
            )
        if age <= LARGEST_AGE:
            return ""
        return (
            f"the calibration is {age} days old, of {self.measured}: "
            "belts and encoders move, calibrate again"
        )


def nearest(angle: Array) -> Array:
    """Reduce angles by whole pitches to within half a pitch of zero [rad]."""
    return angle - PITCH * np.rint(angle / PITCH)


def to_json(calibration: Calibration) -> dict[str, Any]:
    """Return the calibration as JSON values, with offsets by joint name."""
    return {
        "format": CALIBRATION_FORMAT,
        "board": calibration.board,
        "measured": calibration.measured.isoformat(),
        "measured_with": calibration.measured_with,
        "offset": dict(zip(JOINT_NAMES, map(float, calibration.offset), strict=True)),
    }


def save(calibration: Calibration, path: Path) -> None:
    """Write a calibration atomically."""
    write_text(path, json.dumps(to_json(calibration), indent=2) + "\n")


def from_json(content: Any) -> Calibration:  # noqa: ANN401  # content of any JSON file
    """Return the calibration from JSON values.

    Raises:
        ValueError, KeyError, TypeError: The values are not those of `to_json`.
    """
    offsets = content["offset"]
    if content["format"] != CALIBRATION_FORMAT or set(offsets) != set(JOINT_NAMES):
        raise ValueError(f"format {content['format']}, joints {', '.join(sorted(offsets))}")
    if set(content) != FIELDS:
        raise ValueError(
            f"fields {', '.join(sorted(content))}; expected {', '.join(sorted(FIELDS))}"
        )
    # Exact types: True and False are not numbers here.
    texts_are_valid = type(content["board"]) is type(content["measured_with"]) is str
    if not texts_are_valid or not set(map(type, offsets.values())) <= {int, float}:
        raise ValueError("expected board and measured_with as text, offsets as numbers")
    offset = constant([float(offsets[name]) for name in JOINT_NAMES])
    if not (np.abs(offset) <= PITCH / 2 + 1e-9).all():  # also False for NaN
        raise ValueError(f"an offset beyond half a pitch, {PITCH / 2:.3f} rad")
    if np.ptp(offset) < SMALLEST_SPREAD:
        raise ValueError("twelve equal offsets, which no robot has")
    measured = date.fromisoformat(content["measured"])
    return Calibration(offset, content["board"], measured, content["measured_with"])


def load(path: Path) -> Calibration:
    """Read a calibration.

    Raises:
        CalibrationError: The file is missing or not a valid calibration.
    """
    try:
        return from_json(json.loads(path.read_text()))
    except FileNotFoundError:
        raise CalibrationError(
            f"{path}: this robot was never calibrated. Run: {CALIBRATE_COMMAND}"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise CalibrationError(
            f"{path}: not a calibration ({error}). Run: {CALIBRATE_COMMAND}"
        ) from error
