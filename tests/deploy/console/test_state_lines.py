"""States of a scripted run as lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deploy.common.faults import Cause
from deploy.common.state_machine import ControllerState
from deploy.console.state_lines import SHOWN_WORDS, StateLines
from deploy.messages.lcm_link import STATUS_CHANNEL, blank


class Link:
    """Delivers messages at once."""

    def subscribe(self, channel: str, handler: Callable[[Any, bytes], None]) -> None:
        """Keep the handler."""
        assert channel == STATUS_CHANNEL
        self.deliver = handler


def test_every_change_is_one_line() -> None:
    link = Link()
    lines: list[str] = []
    StateLines(link, lines.append)  # type: ignore[arg-type]  # only subscribes
    for seconds, state, skill, fault in (
        (5.0, ControllerState.IDLE, 2, Cause.NONE),
        (5.1, ControllerState.IDLE, 2, Cause.NONE),
        (6.0, ControllerState.WALK, 2, Cause.NONE),
        (7.0, ControllerState.WALK, 3, Cause.NONE),
        (7.5, 99, 3, Cause.NONE),
        (8.0, ControllerState.FAULT, 3, Cause.TILT),
    ):
        status = blank(STATUS_CHANNEL)
        status.time_ns = round(seconds * 1e9)
        status.state = state
        status.skill = skill
        status.fault = fault
        link.deliver(status, b"")
    assert lines == [
        "   0.0 s  IDLE   on the ground, motors damped\n",
        "   1.0 s  WALK   walking with skill 2\n",
        "   2.0 s  WALK   walking with skill 3\n",
        "   3.0 s  FAULT  the base is tilted by 0.00 rad\n",
    ]


def test_every_state_has_words() -> None:
    assert {*SHOWN_WORDS, ControllerState.WALK, ControllerState.FAULT} == {*ControllerState}
