"""Choice of the command that answers a state."""

from __future__ import annotations

import time

import pytest

from deploy.messages.authentication import Authority
from deploy.messages.lcm_link import COMMAND_CHANNEL, STATE_CHANNEL, blank

from .latency import TimedLink


def test_the_first_command_of_a_skill_that_names_the_state_is_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither a command without a skill, nor a second one, nor one to an unsent state counts."""
    now = [7.0]
    monkeypatch.setattr("tests.bench.latency.time.perf_counter", lambda: now[0])
    link = TimedLink(Authority(bytes(32)), "memq://")
    heard: list[int] = []
    link.subscribe(COMMAND_CHANNEL, lambda message, data: heard.append(message.state_sequence))
    state, command = blank(STATE_CHANNEL), blank(COMMAND_CHANNEL)
    state.sequence = 7
    link.publish(STATE_CHANNEL, state)
    for skill, answers, pause in ((-1, 7, 0.0), (2, 6, 0.0), (2, 7, 0.05), (2, 7, 0.2)):
        command.skill, command.state_sequence = skill, answers
        link.publish(COMMAND_CHANNEL, command)
        now[0] += pause
        known = len(heard)
        while len(heard) == known:
            link.listen_until(time.monotonic() + 0.01)
    assert heard == [7, 6, 7, 7]
    assert list(link.answered) == [7]
    assert link.answered[7] == pytest.approx(0.05)
