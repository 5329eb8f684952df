"""Lock-step: the robot process waits for the answer to its newest state."""

from __future__ import annotations

import pytest

from deploy.messages.lcm_link import Mode
from deploy.robots.process.robot_process import (
    FIRST_COMMAND_SECONDS,
    LOCKSTEP_POLL_SECONDS,
    NEXT_COMMAND_SECONDS,
)

from .bench import Bench


def test_lock_step_waits_for_the_answer_to_the_newest_state() -> None:
    """An answer to an older state does not count.

    Polls are counted instead of seconds, so a stalled host does not time out.
    """
    bench = Bench(lockstep=True)
    answers = [
        [],
        [bench.command(Mode.DAMP, state_sequence=0)],
        [],
        [bench.command(Mode.DAMP, state_sequence=1)],
    ]
    bench.link.answer = lambda: answers.pop(0)
    bench.tick()
    assert answers == []
    assert bench.link.looks == [
        0.0,
        LOCKSTEP_POLL_SECONDS,
        LOCKSTEP_POLL_SECONDS,
        LOCKSTEP_POLL_SECONDS,
    ]
    # The state is repeated for a controller that subscribes late.
    assert [state.sequence for state in bench.link.states] == [1, 1]


def test_lock_step_loses_patience_once() -> None:
    """The first command has a long timeout, later commands a shorter one.

    After a timeout, ticks do not wait, since damping must continue.
    """
    bench = Bench(lockstep=True)
    bench.tick()
    assert len(bench.link.looks) - 1 == FIRST_COMMAND_SECONDS / LOCKSTEP_POLL_SECONDS
    bench.link.looks.clear()
    bench.tick(5)
    assert bench.link.looks == [0.0] * 5
    bench.link.answer = lambda: [bench.command(Mode.DAMP)]
    bench.tick()
    bench.link.answer = list
    bench.link.looks.clear()
    bench.tick()
    assert len(bench.link.looks) - 1 == pytest.approx(
        NEXT_COMMAND_SECONDS / LOCKSTEP_POLL_SECONDS, abs=1
    )


def test_lock_step_ends_when_asked_to() -> None:
    """Ctrl-C does not wait for a controller that never comes."""
    bench = Bench(lockstep=True, until=lambda: True)
    bench.tick()
    assert len(bench.link.looks) == 1
