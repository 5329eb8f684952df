"""The guided script: a real robot moves only after Enter, step by step."""

from __future__ import annotations

import pytest

from deploy.common.state_machine import ControllerState
from deploy.console.guided import GuidedScript
from deploy.messages.lcm_link import Request
from deploy.messages.operator_request import OperatorRequest


class Told:
    """A guided walk on a clock of its own, and what it has written."""

    def __init__(self, terminal: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Plan two seconds with skill 2."""
        self._terminal, self.now, self.shown = terminal, 100.0, [""]
        self.guided = GuidedScript((2,), 2.0, None, self.shown.append)
        monkeypatch.setattr("deploy.console.guided.time.monotonic", lambda: self.now)
        monkeypatch.setattr(self.guided, "_keys", lambda _: self.typed.pop(0) if self.typed else "")
        self.typed: list[str] = []

    def look(
        self, state: ControllerState | None, keys: str = "", seconds: float = 1.0
    ) -> list[OperatorRequest]:
        """What is asked for after some time in a state, with keys typed at its end."""
        self.guided.read(0.0, state)
        self.now += seconds
        self.typed = [keys]
        wishes, present = self.guided.read(0.0, state)
        assert present
        return wishes


@pytest.fixture
def told(terminal: int, monkeypatch: pytest.MonkeyPatch) -> Told:
    """A script for a real robot."""
    return Told(terminal, monkeypatch)


def test_a_real_robot_neither_stands_nor_walks_before_somebody_agrees(told: Told) -> None:
    """However long it takes; each question is asked once and says what will happen."""
    for state, words, wish in (
        (ControllerState.IDLE, "ENTER: the robot will stand up.", OperatorRequest(Request.STAND)),
        (
            ControllerState.READY,
            "the robot will walk 2 s with skill 2, stop, and lie down.",
            OperatorRequest(Request.WALK, 2),
        ),
    ):
        assert [told.look(state, seconds=9.0) for _ in range(3)] == [[], [], []]
        assert words in told.shown[-1]
        assert sum(words in shown for shown in told.shown) == 1
        assert told.look(state, "\n") == [wish]
        told.look(ControllerState.STAND)
    assert told.look(ControllerState.WALK, seconds=2.1) == [OperatorRequest(Request.STOP)]
    assert told.look(ControllerState.READY) == [OperatorRequest(Request.SIT)]
    assert told.look(ControllerState.IDLE, seconds=1.1) == [OperatorRequest(Request.QUIT)]


def test_enter_before_the_question_means_nothing(told: Told) -> None:
    """Nor does one Enter agree to two things, or to a second try."""
    assert told.look(ControllerState.IDLE, "\n\n") == []
    assert told.look(ControllerState.IDLE, "\n") == [OperatorRequest(Request.STAND)]
    assert (
        told.look(ControllerState.IDLE) == []
    )  # it was not granted, as motors are still aligned: asked again
    assert sum("stand up" in shown for shown in told.shown) == 2


def test_space_damps_whatever_was_asked(told: Told) -> None:
    """And q lies down; both win over Enter."""
    told.look(ControllerState.READY)
    assert told.look(ControllerState.READY, " \n") == [OperatorRequest(Request.DAMP)]
    assert told.look(ControllerState.WALK, "q") == [OperatorRequest(Request.QUIT)]


def test_nobody_re_arms_a_script_that_a_fault_broke_off(told: Told) -> None:
    """It ends by itself, and r means nothing, as the console says."""
    assert told.look(ControllerState.FAULT, "r", seconds=0.5) == []
    assert told.look(ControllerState.FAULT, seconds=1.1) == [OperatorRequest(Request.QUIT)]
