"""The guided script: a real robot moves only after Enter, step by step."""

from __future__ import annotations

import pytest

from deploy.common.state_machine import ControllerState
from deploy.console.guided import GuidedScript
from deploy.messages.lcm_link import Request
from deploy.messages.operator_request import OperatorRequest


class GuidedRun:
    """A guided script with a simulated clock, and its output."""

    def __init__(
        self, terminal: int, monkeypatch: pytest.MonkeyPatch, distance: float | None = None
    ) -> None:
        """Plan two seconds with skill 2."""
        self._terminal, self.now, self.shown = terminal, 100.0, [""]
        self.guided = GuidedScript((2,), 2.0, None, self.shown.append, distance)
        monkeypatch.setattr("deploy.console.guided.time.monotonic", lambda: self.now)
        monkeypatch.setattr(self.guided, "_keys", lambda _: self.typed.pop(0) if self.typed else "")
        self.typed: list[str] = []

    def read_after(
        self, state: ControllerState | None, keys: str = "", seconds: float = 1.0
    ) -> list[OperatorRequest]:
        """Return the requests after some time in a state, with keys typed at its end."""
        self.guided.read(0.0, state)
        self.now += seconds
        self.typed = [keys]
        requests, present = self.guided.read(0.0, state)
        assert present
        return requests


@pytest.fixture
def run(terminal: int, monkeypatch: pytest.MonkeyPatch) -> GuidedRun:
    """A script for a real robot."""
    return GuidedRun(terminal, monkeypatch)


def test_a_real_robot_neither_stands_nor_walks_before_the_operator_agrees(run: GuidedRun) -> None:
    """Waiting time has no effect; each question is asked once and describes the motion."""
    for state, words, request in (
        (ControllerState.IDLE, "ENTER: the robot will stand up.", OperatorRequest(Request.STAND)),
        (
            ControllerState.READY,
            "the robot will walk 2 s with skill 2, stop, and lie down.",
            OperatorRequest(Request.WALK, 2),
        ),
    ):
        assert [run.read_after(state, seconds=9.0) for _ in range(3)] == [[], [], []]
        assert words in run.shown[-1]
        assert sum(words in shown for shown in run.shown) == 1
        assert run.read_after(state, "\n") == [request]
        run.read_after(ControllerState.STAND)
    assert run.read_after(ControllerState.WALK, seconds=2.1) == [OperatorRequest(Request.STOP)]
    assert run.read_after(ControllerState.READY) == [OperatorRequest(Request.SIT)]
    assert run.read_after(ControllerState.IDLE, seconds=1.1) == [OperatorRequest(Request.QUIT)]


def test_the_operator_agrees_to_a_walk_with_its_bound(
    terminal: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question says that the robot rests beyond the bound; the script ends after the walk."""
    run = GuidedRun(terminal, monkeypatch, distance=2.5)
    run.read_after(ControllerState.READY)
    words = (
        "the robot will walk 2 s with skill 2, stop at the latest when it estimates 2.5 m from "
        "here (it comes to rest up to about 1 m beyond, and the estimate may err), and lie down."
    )
    assert words in run.shown[-1]
    assert run.read_after(ControllerState.READY, "\n") == [OperatorRequest(Request.WALK, 2)]
    assert run.read_after(ControllerState.WALK) == []
    assert run.read_after(ControllerState.STAND) == []
    assert run.read_after(ControllerState.READY) == [OperatorRequest(Request.SIT)]


def test_enter_before_the_question_means_nothing(run: GuidedRun) -> None:
    """Each question needs its own Enter, and so does a repeated request."""
    assert run.read_after(ControllerState.IDLE, "\n\n") == []
    assert run.read_after(ControllerState.IDLE, "\n") == [OperatorRequest(Request.STAND)]
    assert (
        run.read_after(ControllerState.IDLE) == []
    )  # the request was not granted, as motors still align: the question is repeated
    assert sum("stand up" in shown for shown in run.shown) == 2


def test_space_damps_after_any_question(run: GuidedRun) -> None:
    """Space damps and q lies down, even if Enter is pressed too."""
    run.read_after(ControllerState.READY)
    assert run.read_after(ControllerState.READY, " \n") == [OperatorRequest(Request.DAMP)]
    assert run.read_after(ControllerState.WALK, "q") == [OperatorRequest(Request.QUIT)]


def test_a_script_ends_after_a_fault_without_re_arming(run: GuidedRun) -> None:
    """It ends by itself, and the key r has no effect."""
    assert run.read_after(ControllerState.FAULT, "r", seconds=0.5) == []
    assert run.read_after(ControllerState.FAULT, seconds=1.1) == [OperatorRequest(Request.QUIT)]
