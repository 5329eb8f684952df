"""Checks by hand: a person turns each joint and lifts the nose; the sensors must show it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from solo_doi.solo12.constants import JOINT_NAMES, NUM_JOINTS

from .check_row import CheckRow, Verdict, judged_row

NOSE_PITCH = 0.1
"""Smallest magnitude of the pitch of a lifted nose [rad]."""
HAND_CHECKS = ("joint order", "joint signs", "IMU nose up")
REPEAT_ADVICE = (
    "Repeat the check; if the named joint was turned, a motor is plugged in at the wrong place: "
    "check drivers and cables"
)


def judge_hands(hands: dict[str, Any] | None) -> Iterator[CheckRow]:
    """Judge the answers of a hand test; None if there was none."""
    if hands is None:
        for name in HAND_CHECKS:
            yield CheckRow(name, "", "", Verdict.NOT_CHECKED, "skipped by --yes")
        return
    yield from _judge_joints(hands["answers"])
    yield _judge_nose(hands["nose"])


def _judge_joints(answers: list[tuple[int, int | None, float]]) -> Iterator[CheckRow]:
    """Judge answers: requested joint, joint that moved, and its angle [rad]."""
    swapped = []
    flipped = []
    for requested, moved, angle in answers:
        if moved != requested:
            name = "nothing" if moved is None else JOINT_NAMES[moved]
            swapped.append(f"{JOINT_NAMES[requested]} was requested, {name} moved")
        if moved is None or angle < 0:
            flipped.append(JOINT_NAMES[requested])
    in_order = len(answers) - len(swapped)
    yield judged_row(
        "joint order",
        f"{in_order} of {NUM_JOINTS} as named",
        f"{NUM_JOINTS}",
        f"{'; '.join(swapped)}. {REPEAT_ADVICE}.",
        good=in_order == NUM_JOINTS,
    )
    with_sign = len(answers) - len(flipped)
    yield judged_row(
        "joint signs",
        f"{with_sign} of {NUM_JOINTS} as requested",
        f"{NUM_JOINTS}",
        f"{', '.join(flipped) or 'Some'} turned the other way or not at all. {REPEAT_ADVICE}, and "
        "the motor's phases.",
        good=with_sign == NUM_JOINTS,
    )


def _judge_nose(nose: dict[str, float] | None) -> CheckRow:
    name = "IMU nose up"
    limit = f"<= -{NOSE_PITCH} rad"
    if nose is None:
        advice = "The nose was not lifted in time: repeat the check."
        return judged_row(name, "not lifted", limit, advice, good=False)
    return judged_row(
        name,
        f"pitch {nose['accelerometer']:+.2f}, filter {nose['filter']:+.2f} rad",
        f"{limit}, both",
        "The tail was lifted, or the IMU is turned about the vertical: its x axis must point to "
        "the front.",
        good=max(nose.values()) <= -NOSE_PITCH,
    )
