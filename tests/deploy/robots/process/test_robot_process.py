"""The robot process: whom it listens to, whom not, and for how long it waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from deploy.common.faults import Cause
from deploy.common.poses import LYING
from deploy.common.robot_error import RobotError
from deploy.messages.lcm_link import COMMAND, OPERATOR, STATE, Mode, Request, blank
from deploy.robots.process.gate import Gate
from deploy.robots.process.robot_process import (
    ANSWER_SECONDS,
    FIRST_ANSWER_SECONDS,
    POLL_SECONDS,
    RobotProcess,
)
from deploy.robots.simulated.mock_solo import MockSolo
from solo_doi.solo12.constants import MOTOR_LAG
from solo_doi.solo12.state import JointCommand
from tests.deploy.world import MS, World


class FakeLink:
    """Hands over what a test puts in, and keeps what the robot says."""

    malformed = forged = unsent = 0

    def __init__(self) -> None:
        """Nothing was said."""
        self.handlers: dict[str, Callable[[Any, bytes], None]] = {}
        self.states: list[Any] = []
        self.looks: list[float] = []
        self.answer: Callable[[], list[Any]] = list

    def subscribe(self, channel: str, handler: Callable[[Any, bytes], None]) -> None:
        """Keep a listener."""
        self.handlers[channel] = handler

    def publish(self, channel: str, message: object) -> bytes:
        """Keep a state."""
        assert channel == STATE
        self.states.append(message)
        return b""

    def receive(self, timeout: float = 0.0) -> int:
        """Hand over what the test answers."""
        self.looks.append(timeout)
        messages = self.answer()
        for message in messages:
            self.handlers[COMMAND](message, b"")
        return len(messages)


class Bench:
    """A robot process without physics, a clock and a socket."""

    def __init__(
        self,
        *,
        lockstep: bool = False,
        person: bool = False,
        until: Callable[[], bool] = lambda: False,
    ) -> None:
        """Begin at one second."""
        self.link, self.clock, self.gate = FakeLink(), World(), Gate()
        self.clock.sleep(1.0)
        self.process = RobotProcess(
            MockSolo(epoch=1.0), self.link, self.gate, lockstep=lockstep, person=person,
            until=until,  # type: ignore[arg-type]
            clock=self.clock,
        )  # fmt: skip
        self.sequence = 0

    def tick(self, count: int = 1) -> None:
        """Let time pass."""
        for _ in range(count):
            self.process.tick(self.clock.now_ns() * 1e-9)
            self.clock.sleep(0.001)

    def command(self, mode: Mode = Mode.MOVE, **changes: object) -> Any:  # generated classes
        """A command that the process follows, but for changes."""
        self.sequence += 1
        command, now = blank(COMMAND), self.clock.now_ns()
        command.sequence, command.session, command.mode, command.skill = self.sequence, 11, mode, -1
        command.robot_session = self.process.session
        command.state_sequence = self.link.states[-1].sequence if self.link.states else 0
        command.observed_ns, command.expires_ns, command.heartbeat_ns = now, now + 20 * MS, now
        command.position, command.kp, command.kd = LYING.tolist(), 3.0, 0.2
        for name, value in changes.items():
            setattr(command, name, value)
        return command

    def send(self, *commands: Any) -> None:
        """Have commands arrive before the next tick ends."""
        queue = [*commands]
        self.link.answer = lambda: [queue.pop(0)] if queue else []
        self.tick()
        while queue:
            self.link.receive()

    def operator(self, request: int, *, age_ms: int = 1, lasts_ms: int = 100) -> None:
        """Have an operator's message arrive."""
        message, now = blank(OPERATOR), self.clock.now_ns()
        message.request, message.time_ns, message.expires_ns = (
            request,
            now - age_ms * MS,
            now + lasts_ms * MS,
        )
        self.link.handlers[OPERATOR](message, b"")


def test_a_sound_command_is_followed() -> None:
    """The bench is worth its name: what follows differs from this in one thing each."""
    bench = Bench()
    bench.send(bench.command())
    assert (bench.gate.powered, bench.gate.fault, bench.process.dropped) == (True, None, 0)


@pytest.mark.parametrize(
    "changes",
    [
        {"robot_session": 5},
        {"expires_ns": 0},
        {"expires_ns": 1_000_000_000},
        {"sequence": 1},
        {"sequence": 0},
    ],
    ids=["another robot", "expired long ago", "expires now", "repeated", "reordered"],
)
def test_what_is_not_meant_for_now_is_dropped(changes: dict[str, int]) -> None:
    """A robot that follows such a command moves by somebody's past; dropping it is no fault."""
    bench = Bench()
    if "sequence" in changes:
        bench.send(bench.command(Mode.DAMP))
    bench.send(bench.command(**changes))
    assert (bench.gate.powered, bench.gate.fault, bench.process.dropped) == (False, None, 1)


def test_a_second_controller_damps_a_powered_robot() -> None:
    """Two who command in turn are worse than none."""
    bench = Bench()
    bench.send(bench.command(), bench.command(session=12))
    assert bench.gate.fault is not None
    assert bench.gate.fault.cause is Cause.COMMAND_FOREIGN
    bench.tick()
    assert not bench.gate.powered
    assert bench.link.states[-1].fault == Cause.COMMAND_FOREIGN  # told to whoever listens


def test_another_controller_may_take_over_a_damped_robot() -> None:
    """A controller that is started anew begins to count at one."""
    bench = Bench()
    bench.send(*(bench.command(Mode.DAMP) for _ in range(5)))
    bench.send(bench.command(Mode.DAMP, session=12, sequence=1))
    bench.send(bench.command(session=12, sequence=2))
    assert (bench.gate.powered, bench.gate.fault) == (True, None)


@pytest.mark.parametrize(
    ("age_ms", "lasts_ms"), [(-1, 100), (1, 0), (1, -1)], ids=["future", "expires now", "expired"]
)
def test_an_operator_is_heard_only_when_fresh(age_ms: int, lasts_ms: int) -> None:
    """Neither damping nor re-arming by messages that somebody kept."""
    bench = Bench()
    bench.send(bench.command())
    for request in (Request.DAMP, Request.REARM):
        bench.operator(request, age_ms=age_ms, lasts_ms=lasts_ms)
    assert (bench.gate.powered, bench.process.dropped) == (True, 2)


def test_the_operator_damps_and_rearms() -> None:
    """Damping holds until a person re-arms; then only a new command moves the robot."""
    bench = Bench()
    bench.send(bench.command())
    bench.operator(Request.DAMP)
    assert bench.gate.fault is not None
    assert bench.gate.fault.cause is Cause.OPERATOR_STOP
    bench.send(bench.command())
    assert not bench.gate.powered
    bench.operator(Request.WALK)  # the controller's business
    assert bench.gate.fault is not None
    bench.tick()
    bench.operator(Request.REARM)
    assert (bench.gate.fault, bench.gate.powered) == (None, False)
    bench.send(bench.command())
    assert bench.gate.powered


def walk_on(bench: Bench, seconds: float) -> None:
    """Have a controller that claims to hear the operator command for a while."""
    for _ in range(round(1000 * seconds)):
        bench.send(bench.command())


def test_a_person_is_timed_by_the_robot_itself() -> None:
    """A controller that invents the operator's signs of life cannot walk on.

    Who was never heard moves nothing.
    """
    bench = Bench(person=True)
    walk_on(bench, 0.002)
    assert bench.gate.fault is not None
    assert bench.gate.fault.cause is Cause.OPERATOR_SILENT
    bench.tick()
    bench.operator(Request.REARM)
    walk_on(bench, 0.5)
    assert bench.gate.powered
    bench.operator(Request.NOTHING)
    walk_on(bench, 0.5)
    assert bench.gate.powered
    bench.operator(Request.NOTHING, age_ms=-1)  # not fresh: no sign of life
    walk_on(bench, 0.11)
    assert bench.gate.fault is not None
    assert bench.gate.fault.cause is Cause.OPERATOR_SILENT


def test_a_script_is_timed_by_the_controller_s_word() -> None:
    """It is part of the controller, and sends nothing by itself.

    An operator's message does not change that.
    """
    bench = Bench()
    bench.operator(Request.NOTHING)
    walk_on(bench, 0.7)
    assert bench.gate.powered
    bench.send(bench.command(heartbeat_ns=bench.clock.now_ns() - 700 * MS))
    bench.tick()
    assert bench.gate.fault is not None
    assert bench.gate.fault.cause is Cause.OPERATOR_SILENT


def test_replayed_rearming_does_nothing() -> None:
    """Who recorded a re-arming cannot undo a stop with it."""
    bench = Bench()
    bench.operator(Request.REARM)
    bench.operator(Request.DAMP, age_ms=0)
    bench.operator(Request.REARM)  # the same time as the first
    assert bench.gate.fault is not None
    assert bench.process.dropped == 1


def test_the_first_fault_is_kept() -> None:
    """A stop after a fault does not hide why the robot was damped."""
    bench = Bench()
    bench.send(bench.command(kp=99.0))
    bench.process.stop()
    assert bench.gate.fault is not None
    assert bench.gate.fault.cause is Cause.COMMAND_GAINS


def test_the_delay_from_sensor_to_torque_is_measured() -> None:
    """What the robot reports is the age of the measurement behind the torque.

    Lag of the motors included.
    """
    bench = Bench()
    for _ in range(40):
        bench.send(bench.command(Mode.POLICY, skill=2))
    found = bench.process.delay_ms
    assert found is not None
    assert found["max"] == pytest.approx(1000 * MOTOR_LAG, abs=0.01)
    assert bench.link.states[-1].delay_ns == pytest.approx(MOTOR_LAG * 1e9, abs=10_000)


@pytest.mark.parametrize("ahead_ms", [2, 5000])
def test_no_target_is_kept_for_the_sake_of_a_time_to_come(ahead_ms: int) -> None:
    """A wrong measurement time must not let the motors follow an old target."""
    bench = Bench()
    for _ in range(30):
        bench.send(bench.command())
    bench.send(bench.command(observed_ns=bench.clock.now_ns() + ahead_ms * MS))
    assert bench.gate.fault is not None
    assert bench.gate.fault.cause is Cause.COMMAND_OBSERVED
    before = bench.process.robot.sense().joint_position
    bench.send(bench.command(position=(LYING + 0.1).tolist()))
    bench.tick(20)
    np.testing.assert_array_equal(bench.process.robot.sense().joint_position, before)


def test_no_skill_no_delay() -> None:
    """A robot that never walked has no delay to report."""
    bench = Bench()
    bench.send(bench.command())
    assert bench.process.delay_ms is None


def test_lock_step_waits_for_the_answer_to_the_newest_state() -> None:
    """An answer to an older state is none.

    Looks are counted, so that a machine that stalls decides nothing.
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
    assert bench.link.looks == [0.0, POLL_SECONDS, POLL_SECONDS, POLL_SECONDS]
    assert [state.sequence for state in bench.link.states] == [
        1,
        1,
    ]  # told again to whoever came late


def test_lock_step_loses_patience_once() -> None:
    """Long for a controller that starts, less for one that is gone, and then not at all.

    Damping must go on.
    """
    bench = Bench(lockstep=True)
    bench.tick()
    assert len(bench.link.looks) - 1 == FIRST_ANSWER_SECONDS / POLL_SECONDS
    bench.link.looks.clear()
    bench.tick(5)
    assert bench.link.looks == [0.0] * 5
    bench.link.answer = lambda: [bench.command(Mode.DAMP)]
    bench.tick()
    bench.link.answer = list
    bench.link.looks.clear()
    bench.tick()
    assert len(bench.link.looks) - 1 == pytest.approx(ANSWER_SECONDS / POLL_SECONDS, abs=1)


def test_lock_step_ends_when_asked_to() -> None:
    """Ctrl-C does not wait for a controller that never comes."""
    bench = Bench(lockstep=True, until=lambda: True)
    bench.tick()
    assert len(bench.link.looks) == 1


def test_no_news_from_the_sensors_is_no_state() -> None:
    """A robot that measured nothing publishes nothing.

    Old numbers with a new time would be a lie.
    """
    bench = Bench()
    bench.process.robot.sense = lambda: None  # type: ignore[method-assign,assignment,return-value]
    bench.tick(3)
    assert bench.link.states == []
    assert not np.any(bench.gate.powered)


def broken(*_: object) -> None:
    """A mistake in the program."""
    raise ZeroDivisionError("a mistake")


@pytest.mark.parametrize("part", ["sense", "decide", "drive"])
def test_a_mistake_in_the_program_damps_and_damping_goes_on(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever in the tick it is.

    Latched with its place, told, and every further tick sends damping.
    """
    bench, sent = Bench(), []
    bench.send(bench.command())
    robot = bench.process.robot
    drive = robot.drive

    def watched(command: JointCommand, observed: float) -> float:
        if part == "drive" and command.kp:
            broken()
        sent.append(command.kp)
        return drive(command, observed)

    monkeypatch.setattr(robot, "drive", watched)
    with monkeypatch.context() as patch:
        if part != "drive":
            patch.setattr(robot if part == "sense" else bench.gate, part, broken)
        bench.send(bench.command())
    bench.tick(3)
    assert sent == [0.0] * 4
    assert str(bench.gate.fault).startswith(
        "the robot's own program failed: ZeroDivisionError in test_robot_process.py:"
    )
    assert bench.link.states[-1].fault == Cause.ROBOT_PROGRAM


def test_a_mistake_that_stays_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Damping is tried in every tick, also where even that fails."""
    bench, tried = Bench(), []
    bench.send(bench.command())
    monkeypatch.setattr(
        bench.process.robot, "drive", lambda command, at: (tried.append(command.kp), broken())
    )
    bench.tick(5)
    assert tried[0] > 0.0
    assert len(tried) >= 6
    assert not any(tried[1:])


def test_a_robot_that_gives_up_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bring-up that failed, a board that is gone: who waits for the robot must know."""
    bench = Bench()

    def gone() -> None:
        raise RobotError("no board")

    monkeypatch.setattr(bench.process.robot, "sense", gone)
    with pytest.raises(RobotError, match="no board"):
        bench.tick()
