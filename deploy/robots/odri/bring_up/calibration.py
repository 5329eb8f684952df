"""Where each encoder's index pulse lies: measured once per robot, stored with date and board, never guessed.

An index comes every turn of the motor, every 40 degrees of the joint. Which one was found follows from where the
joint was when the search began: people put the robot into the zero pose, so it must be the one that makes the
starting angle small. An angle near half the pitch could be either, and is refused.
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
"""Joint angle from one index to the next [rad]."""
LARGEST_START = 0.25
"""Farthest from the zero pose that a joint may be when the search begins: a tenth of a radian short of ambiguous."""
LARGEST_AGE = 90
"""From then on people are told [days]."""
SMALLEST_SPREAD = 1e-3
"""Offsets that differ by less were made up: encoders are glued on at any angle [rad]."""
COMMAND = "solo-deploy calibrate --interface CARD"
"""What makes a calibration."""
FORMAT = 1
FIELDS = frozenset({"format", "board", "measured", "measured_with", "offset"})


def default_path() -> Path:
    """Where the calibration of this computer's robot is kept, by the XDG rules: a relative folder counts as none."""
    folder = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    return (
        (folder if folder.is_absolute() else Path.home() / ".config")
        / "solo-doi"
        / "calibration.json"
    )


class CalibrationError(RobotError):
    """Offsets that are missing, of another robot, or not believable."""


@dataclass(frozen=True)
class Calibration:
    """Joint angles of the encoders' index pulses of one robot."""

    offset: Array
    """(12,) each within half a pitch of zero; any whole number of pitches away there is another index [rad]."""
    board: str
    """Address of the master board it was measured with."""
    measured: date
    measured_with: str = ""
    """Driver and protocol, for people."""

    @classmethod
    def from_zero_pose(
        cls, index_position: Array, board: str, measured: date, measured_with: str = ""
    ) -> Calibration:
        """Return offsets from joint positions, counted from their index, while the robot is in the zero pose."""
        if not np.isfinite(index_position).all():
            raise CalibrationError("A joint has no position: are all index pulses found?")
        return cls(constant(nearest(-index_position)), board, measured, measured_with)

    def resolved(self, start: Array) -> Array:
        """Offsets (12,) of the indices that were found, from joint angles at the start counted from them.

        Raises:
            CalibrationError: A joint cannot have been near the zero pose, or could have been at either of two places.
        """
        angle = nearest(start + self.offset)
        far = ~(np.abs(angle) <= LARGEST_START)  # also true for NaN
        if far.any():
            joints = ", ".join(f"{JOINT_NAMES[j]} at {angle[j]:+.2f}" for j in np.flatnonzero(far))
            raise CalibrationError(
                f"Not near the zero pose when the search began: {joints} rad, allowed is {LARGEST_START}. From there "
                "the wrong index may be found, and all angles would be wrong by 40 degrees. Put the joints to zero "
                "and start again; if they were, this calibration is of another robot or the encoder slipped."
            )
        return angle - start

    def check_board(self, address: str) -> None:
        """Refuse to drive another robot than the one that was measured."""
        if address != self.board:
            raise CalibrationError(
                f"The calibration of {self.measured} belongs to board {self.board}, this is {address}: calibrate it."
            )

    def age_days(self, today: date) -> int:
        """How old the measurement is."""
        return (today - self.measured).days

    def check_age(self, today: date) -> str:
        """Return a note about an old measurement, nothing about a young one; refuse one that is yet to come."""
        age = self.age_days(today)
        if age < 0:
            raise CalibrationError(
                f"The calibration was measured on {self.measured}, which lies ahead: check the date."
            )
        if age <= LARGEST_AGE:
            return ""
        return f"the calibration is {age} days old, of {self.measured}: belts and encoders move, calibrate again"


def nearest(angle: Array) -> Array:
    """Return the equivalent angles, whole pitches away, that are nearest to zero."""
    return angle - PITCH * np.rint(angle / PITCH)


def to_json(calibration: Calibration) -> dict[str, Any]:
    """Return plain values, offsets by joint name."""
    return {
        "format": FORMAT,
        "board": calibration.board,
        "measured": calibration.measured.isoformat(),
        "measured_with": calibration.measured_with,
        "offset": dict(zip(JOINT_NAMES, map(float, calibration.offset), strict=True)),
    }


def save(calibration: Calibration, path: Path) -> None:
    """Write a calibration: completely, or not at all."""
    write_text(path, json.dumps(to_json(calibration), indent=2) + "\n")


def from_json(content: Any) -> Calibration:  # noqa: ANN401  # whatever a file holds
    """Return the calibration that plain values describe.

    Raises:
        ValueError, KeyError, TypeError: They are not what `to_json` makes.
    """
    offsets = content["offset"]
    if content["format"] != FORMAT or set(offsets) != set(JOINT_NAMES):
        raise ValueError(f"format {content['format']}, joints {', '.join(sorted(offsets))}")
    if set(content) != FIELDS:
        raise ValueError(
            f"fields {', '.join(sorted(content))}; expected {', '.join(sorted(FIELDS))}"
        )
    texts, numbers = (content["board"], content["measured_with"]), offsets.values()
    if {type(text) for text in texts} != {str} or not {type(number) for number in numbers} <= {
        int,
        float,
    }:
        raise ValueError("a board that is no text, or an offset that is no number")
    offset = constant([float(offsets[name]) for name in JOINT_NAMES])
    if not (np.abs(offset) <= PITCH / 2 + 1e-9).all():  # also false for NaN
        raise ValueError(f"an offset beyond half a pitch, {PITCH / 2:.3f} rad")
    if np.ptp(offset) < SMALLEST_SPREAD:
        raise ValueError("twelve equal offsets, which no robot has")
    measured = date.fromisoformat(content["measured"])
    return Calibration(offset, content["board"], measured, content["measured_with"])


def load(path: Path) -> Calibration:
    """Read a calibration.

    Raises:
        CalibrationError: There is none, or the file is not what `save` writes.
    """
    try:
        return from_json(json.loads(path.read_text()))
    except FileNotFoundError:
        raise CalibrationError(f"{path}: this robot was never calibrated. Run: {COMMAND}") from None
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise CalibrationError(f"{path}: not a calibration ({error}). Run: {COMMAND}") from error
