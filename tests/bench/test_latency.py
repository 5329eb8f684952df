"""What counts as the answer to a state."""

from __future__ import annotations

import time

from deploy.messages.authentication import Authority
from deploy.messages.lcm_link import COMMAND, STATE, blank

from .latency import TimedLink


def test_the_first_command_of_a_skill_that_names_the_state_is_its_answer() -> None:
    """Not one that holds no skill's targets, nor a second one.

    Nor one to a state that nobody sent.
    """
    link = TimedLink(Authority(bytes(32)), "memq://")
    heard = []
    link.subscribe(COMMAND, lambda message, data: heard.append(message.state_sequence))
    state, command = blank(STATE), blank(COMMAND)
    state.sequence = 7
    link.publish(STATE, state)
    for skill, answers, pause in ((-1, 7, 0.0), (2, 6, 0.0), (2, 7, 0.05), (2, 7, 0.2)):
        command.skill, command.state_sequence = skill, answers
        link.publish(COMMAND, command)
        time.sleep(pause)
        link.listen_until(time.monotonic() + 0.01)
    assert heard == [7, 6, 7, 7]
    assert list(link.answered) == [7]
    assert 0.05 <= link.answered[7] < 0.2
