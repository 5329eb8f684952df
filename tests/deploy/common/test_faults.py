"""Fault causes: each has a text, a fixed number, and the name of its joint."""

from __future__ import annotations

import pytest

from deploy.common.faults import WORDS, Cause, Fault
from solo_doi.solo12.constants import JOINT_NAMES


@pytest.mark.parametrize("cause", [cause for cause in Cause if cause is not Cause.NONE])
def test_every_cause_has_words(cause: Cause) -> None:
    """The text is one line, complete for any joint and number."""
    words = str(Fault(cause, 12.5, 4))
    assert words
    assert "{" not in words
    assert "\n" not in words
    assert ("FR_HFE" in words) == ("{joint}" in WORDS[cause])


def test_no_words_are_left_over() -> None:
    """Each text belongs to one cause, and all texts differ."""
    assert set(WORDS) == set(Cause)
    assert len(set(WORDS.values())) == len(WORDS)


def test_causes_fit_into_their_message() -> None:
    """The field is a signed 16-bit number; 0 means no cause."""
    assert Cause.NONE == 0
    assert all(0 < cause < 2**15 for cause in Cause if cause is not Cause.NONE)


def test_numbers_of_causes_stay() -> None:
    """Other versions read the logs by these numbers; new causes may be added."""
    known = {
        1: "JOINT_POSITION", 5: "TILT", 7: "STATE_STALE", 11: "ROBOT_FAULT",
        20: "POLICY_NOT_FINITE",
        26: "OPERATOR_STOP", 40: "COMMAND_NOT_FINITE", 45: "COMMAND_STALE", 60: "MOTOR_NOT_READY",
        65: "VOLTAGE",
    }  # fmt: skip
    assert {number: Cause(number).name for number in known} == known
    assert Cause.of(67) is Cause.UNKNOWN  # a number that is no longer used


@pytest.mark.parametrize("joint", [-1, 12, 99])
def test_a_joint_that_does_not_exist_is_a_joint(joint: int) -> None:
    """Texts are also made from corrupt messages."""
    assert (
        str(Fault(Cause.JOINT_POSITION, 1.0, joint))
        == "a joint at 1.00 rad is beyond its safety limit"
    )


def test_words_hold_joint_and_number() -> None:
    """Numbers are rounded for reading."""
    assert (
        str(Fault(Cause.JOINT_POSITION, -2.7182, 2))
        == "FL_KFE at -2.72 rad is beyond its safety limit"
    )
    assert str(Fault(Cause.STATE_STALE, 12.6)) == "the robot's newest state is 13 ms old"
    assert (
        str(Fault(Cause.MOTOR_NOT_READY, joint=11))
        == f"the motor of {JOINT_NAMES[11]} does not follow"
    )


def test_the_robot_s_own_fault_has_its_cause() -> None:
    """The text of the robot's own fault has its cause, joint and number."""
    fault = Fault(Cause.ROBOT_FAULT, 21.4, behind=Cause.COMMAND_STALE)
    assert str(fault) == "the robot damps by itself: no fresh command for 21 ms"
    fault = Fault(Cause.ROBOT_FAULT, joint=4, behind=Cause.MOTOR_NOT_READY)
    assert str(fault) == "the robot damps by itself: the motor of FR_HFE does not follow"


@pytest.mark.parametrize("number", [-1, 13, 99, 2**15 - 1])
def test_a_number_of_no_cause_is_an_unknown_one(number: int) -> None:
    """Messages of another version, and corrupt ones, raise no exception."""
    assert Cause.of(number) is Cause.UNKNOWN
    assert str(Fault(Cause.ROBOT_FAULT, behind=Cause.of(number))).endswith(
        "a cause that this version does not know"
    )
    assert Cause.of(45) is Cause.COMMAND_STALE
