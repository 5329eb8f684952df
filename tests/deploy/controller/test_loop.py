"""The controller's loop: in simulated time, in lock-step, read-only, and without a robot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from deploy.common.faults import Cause, Fault
from deploy.common.state_machine import ControllerState
from deploy.controller import loop as module
from deploy.controller.loop import STATUS_TICKS, Loop
from deploy.messages.conversions import state_message
from deploy.messages.lcm_link import COMMAND_CHANNEL, STATE_CHANNEL, STATUS_CHANNEL, Request
from deploy.messages.operator_request import OperatorRequest
from deploy.robots.simulated.mock_solo import MockSolo
from tests.deploy.world import MS, ListRecorder, Rig, World, shipped


class Talk:
    """A link to a scripted robot: one state per poll."""

    malformed, forged, unsent = 3, 4, 5

    def __init__(self) -> None:
        """Start without messages."""
        self.sent: dict[str, list[Any]] = {COMMAND_CHANNEL: [], STATUS_CHANNEL: []}
        self.states: list[Any] = []
        self.looks = 0

    def subscribe(
        self, channel: str, handler: Callable[[Any, bytes], None], queue: int = 30
    ) -> None:
        """Keep the handler of states."""
        assert channel == STATE_CHANNEL
        self._handler = handler

    def publish(self, channel: str, message: object) -> bytes:
        """Keep the message."""
        self.sent[channel].append(message)
        return b"bytes"

    def receive(self, timeout: float = 0.0) -> int:
        """Deliver the next state, if there is one."""
        self.looks += 1
        if not self.states:
            return 0
        message = self.states.pop(0)
        if message is not None:
            self._handler(message, b"state")
        return int(message is not None)


class Patient:
    """An operator without requests that is done when a test sets it."""

    done = False

    def next_request(self, state: ControllerState, now: float) -> OperatorRequest | None:
        """Return a heartbeat."""
        return OperatorRequest(Request.NOTHING)


def states(count: int, start: float = 0.0) -> list[Any]:
    """Return states of a lying robot."""
    robot, messages = MockSolo(epoch=start), []
    for number in range(count):
        message = state_message(robot.sense())
        message.sequence, message.session, message.time_ns = (
            number + 1,
            5,
            round(start * 1e9) + number * MS,
        )
        messages.append(message)
    return messages


def make(talk: Talk, **changes: Any) -> tuple[Loop, ListRecorder]:
    """Return a loop with a real controller."""
    from deploy.controller.controller import Controller

    recorder = ListRecorder()
    operator = changes.pop("operator", Patient())
    return Loop(Controller(shipped(), 2), talk, operator, recorder, **changes), recorder  # type: ignore[arg-type]


def test_lock_step_answers_every_state_once() -> None:
    """Commands start at time zero; old and repeated states are not used."""
    talk = Talk()
    told = states(4)
    talk.states = [told[0], told[0], told[2], told[1], None, told[3]]
    loop, recorder = make(talk)
    report = loop.run(lambda: not talk.states, lockstep=True)
    assert [command.state_sequence for command in talk.sent[COMMAND_CHANNEL]] == [1, 3, 4]
    assert [command.time_ns for command in talk.sent[COMMAND_CHANNEL]] == [0, 2 * MS, 3 * MS]
    assert (report.ended, report.ticks) == ("stopped", 3)
    assert (report.malformed, report.forged, report.unsent) == (3, 4, 5)
    assert [channel for _, channel, _ in recorder.events].count(
        STATE_CHANNEL
    ) == 3  # the log has the states that it acted on


def test_a_robot_that_never_comes_is_reported() -> None:
    """The limit is a number of polls, so a stalled machine does not time out."""
    talk = Talk()
    loop, _ = make(talk)
    assert loop.run(lambda: False, lockstep=True).ended == "no state of the robot arrived"
    assert talk.looks == pytest.approx(
        module.FIRST_STATE_SECONDS / module.LOCKSTEP_POLL_SECONDS, abs=2
    )


def test_a_robot_that_leaves_is_reported() -> None:
    """The robot was present before, so the message differs."""
    talk = Talk()
    talk.states = states(5)
    loop, _ = make(talk)
    report = loop.run(lambda: False, lockstep=True)
    assert (report.ended, report.ticks) == ("no state from the robot process for 10 s", 5)
    assert talk.looks == pytest.approx(
        5 + module.LOST_STATE_SECONDS / module.LOCKSTEP_POLL_SECONDS, abs=2
    )


@pytest.mark.parametrize("heard", [0, 3])
def test_a_stop_while_waiting_is_a_stop(heard: int) -> None:
    """Ctrl-C while the robot is silent must not be reported as its loss."""
    talk = Talk()
    talk.states = states(heard)
    loop, _ = make(talk)
    assert loop.run(lambda: talk.looks > heard + 4, lockstep=True).ended == "stopped"


def test_a_missing_robot_is_reported_in_real_time_too() -> None:
    """This is the same without lock-step, in simulated time."""
    loop, _ = make(Talk(), clock=World())
    report = loop.run(lambda: False)
    assert (report.ended, report.ticks) == ("no state of the robot arrived", 0)
    assert len(report.lateness) == pytest.approx(module.FIRST_STATE_SECONDS * 1000, abs=2)


def test_read_only_publishes_no_command() -> None:
    """Only the status is published, even in lock-step."""
    talk = Talk()
    talk.states = states(2 * STATUS_TICKS)
    loop, recorder = make(talk)
    report = loop.run(lambda: not talk.states, lockstep=True, readonly=True)
    assert report.ticks == 2 * STATUS_TICKS
    assert talk.sent[COMMAND_CHANNEL] == []
    assert len(talk.sent[STATUS_CHANNEL]) == 2
    assert {channel for _, channel, _ in recorder.events} == {STATE_CHANNEL}


def test_read_only_ignores_requests() -> None:
    """Requests of the operator are ignored; the controller stays idle."""

    class Keen(Patient):
        """An operator that requests standing up."""

        def next_request(self, state: ControllerState, now: float) -> OperatorRequest:
            """Return the request."""
            return OperatorRequest(Request.STAND)

    talk = Talk()
    talk.states = states(50)
    loop, _ = make(talk, operator=Keen())
    report = loop.run(lambda: not talk.states, lockstep=True, readonly=True)
    assert [entry["state"] for entry in report.history] == ["IDLE"]


def test_late_ticks_become_a_fault() -> None:
    """A loop that is late too often makes a standing robot lie down; the stalls are injected."""

    def stall(rig: Rig) -> None:
        original = rig.loop._tick

        def slow(now_ns: int) -> None:
            original(now_ns)
            rig.clock.sleep(0.0025)

        rig.loop._tick = slow  # type: ignore[method-assign]

    rig = Rig(stall, robot="mock", state=ControllerState.READY, after=0.0, watch=0.1).run()
    assert rig.controller.fault is not None
    assert rig.controller.fault.cause is Cause.OVERRUN
    assert rig.controller.state is ControllerState.SIT
    assert rig.loop.report.overruns > 20
    assert rig.loop.report.skipped > 20


def test_stalls_count_with_every_tick_they_leave_out() -> None:
    """Three stalls of 9 ms within a tenth of a second give three late ticks and 27 skipped ones."""

    def stall(rig: Rig) -> None:
        original, begun = rig.loop._tick, rig.loop.report.ticks

        def slow(now_ns: int) -> None:
            original(now_ns)
            if (rig.loop.report.ticks - begun) % 20 == 0:
                rig.clock.sleep(0.0095)

        rig.loop._tick = slow  # type: ignore[method-assign]

    rig = Rig(stall, robot="mock", state=ControllerState.READY, after=0.0, watch=0.3).run()
    assert rig.controller.fault == Fault(Cause.OVERRUN, 24)


@pytest.mark.parametrize("seconds", [0.005, 0.015])
def test_one_stall_is_tolerated(seconds: float) -> None:
    """A single stall is not a fault."""
    rig = Rig(
        lambda rig: rig.clock.sleep(seconds),
        robot="mock",
        state=ControllerState.READY,
        after=0.0,
        watch=0.3,
    ).run()
    assert rig.problems == ["stopped before the script was done"]
    assert rig.loop.report.overruns == 1


@pytest.mark.parametrize("lockstep", [False, True])
def test_a_mistake_in_the_program_is_named_with_its_place(
    lockstep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report and an incident contain it; the exception still ends the program."""
    talk = Talk()
    talk.states = states(5)
    loop, recorder = make(talk, **({} if lockstep else {"clock": World()}))

    def divide(now_ns: int) -> None:
        raise ZeroDivisionError("float division by zero")

    monkeypatch.setattr(loop._controller, "tick", divide)
    with pytest.raises(ZeroDivisionError):
        loop.run(lambda: False, lockstep=lockstep)
    words = "the controller's program failed: ZeroDivisionError in test_loop.py:"
    assert loop.report.ended.startswith(words)
    assert loop.report.ended.endswith(": float division by zero")
    assert recorder.incidents == [loop.report.ended]
    assert (loop.report.malformed, loop.report.forged) == (3, 4)
    assert loop.report.walk


def test_history_has_all_changes_of_state() -> None:
    """It contains every change of state once, the skill, the fault as text, and one incident."""

    def fail(rig: Rig) -> None:
        rig.clock.sleep(0.1)

    rig = Rig(fail, robot="mock", after=0.02).run()
    history = rig.loop.report.history
    assert [entry["state"] for entry in history] == ["IDLE", "STAND", "READY", "WALK", "SIT"]
    assert history[3]["skill"] == 2
    times = [entry["time"] for entry in history]
    assert times == sorted(times)
    assert rig.loop.report.faults == rig.recorder.incidents == [str(rig.controller.fault)]


def test_work_is_all_of_a_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work includes reading messages, with estimates and checks."""
    rig, spent = (
        Rig(robot="mock", state=ControllerState.IDLE, after=0.0, watch=0.01, inject=lambda _: None),
        [0.0],
    )
    receive = rig.links[1].receive

    def slow(*arguments: float) -> int:
        spent[0] += 5.0
        return receive(*arguments)

    monkeypatch.setattr(rig.links[1], "receive", slow)
    monkeypatch.setattr("deploy.controller.loop.time.perf_counter", lambda: spent[0])
    rig.run()
    assert set(rig.loop.report.work.tolist()) == {5.0}
