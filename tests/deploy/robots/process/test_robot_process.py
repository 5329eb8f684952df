"""Commands and operator messages of the robot process, and its faults."""

from __future__ import annotations

import numpy as np
import pytest

from deploy.common.faults import Cause
from deploy.common.poses import LYING
from deploy.common.robot_error import RobotError
from deploy.messages.lcm_link import Mode, Request
from solo_doi.solo12.constants import MOTOR_LAG
from solo_doi.solo12.state import JointCommand
from tests.deploy.world import MS

from .bench import Bench


def test_a_sound_command_is_followed() -> None:
    """The following tests each differ from this one in a single property."""
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
def test_old_and_foreign_commands_are_dropped(changes: dict[str, int]) -> None:
    """The robot must not follow old commands; dropping them is not a fault."""
    bench = Bench()
    if "sequence" in changes:
        bench.send(bench.command(Mode.DAMP))
    bench.send(bench.command(**changes))
    assert (bench.gate.powered, bench.gate.fault, bench.process.dropped) == (False, None, 1)


def test_a_second_controller_damps_a_powered_robot() -> None:
    """Alternating commands of two controllers are dangerous."""
    bench = Bench()
    bench.send(bench.command(), bench.command(session=12))
    assert bench.gate.fault is not None
    assert bench.gate.fault.cause is Cause.COMMAND_FOREIGN
    bench.tick()
    assert not bench.gate.powered
    assert bench.link.states[-1].fault == Cause.COMMAND_FOREIGN  # published in the robot's state


def test_another_controller_may_take_over_a_damped_robot() -> None:
    """A restarted controller counts from one."""
    bench = Bench()
    bench.send(*(bench.command(Mode.DAMP) for _ in range(5)))
    bench.send(bench.command(Mode.DAMP, session=12, sequence=1))
    bench.send(bench.command(session=12, sequence=2))
    assert (bench.gate.powered, bench.gate.fault) == (True, None)


@pytest.mark.parametrize(
    ("age_ms", "lasts_ms"), [(-1, 100), (1, 0), (1, -1)], ids=["future", "expires now", "expired"]
)
def test_only_fresh_operator_messages_count(age_ms: int, lasts_ms: int) -> None:
    """Recorded messages can neither damp nor re-arm."""
    bench = Bench()
    bench.send(bench.command())
    for request in (Request.DAMP, Request.REARM):
        bench.operator(request, age_ms=age_ms, lasts_ms=lasts_ms)
    assert (bench.gate.powered, bench.process.dropped) == (True, 2)


def test_the_operator_damps_and_rearms() -> None:
    """Damping holds until the operator re-arms; then only a new command moves the robot."""
    bench = Bench()
    bench.send(bench.command())
    bench.operator(Request.DAMP)
    assert bench.gate.fault is not None
    assert bench.gate.fault.cause is Cause.OPERATOR_STOP
    bench.send(bench.command())
    assert not bench.gate.powered
    bench.operator(Request.WALK)  # the controller handles these
    assert bench.gate.fault is not None
    bench.tick()
    bench.operator(Request.REARM)
    assert (bench.gate.fault, bench.gate.powered) == (None, False)
    bench.send(bench.command(Mode.DAMP))
    bench.send(bench.command())
    assert bench.gate.powered


def walk_on(bench: Bench, seconds: float) -> None:
    """Let a controller send commands with a fresh heartbeat for a while."""
    for _ in range(round(1000 * seconds)):
        bench.send(bench.command())


def test_a_person_has_a_timeout_on_the_robot() -> None:
    """A controller with an invented heartbeat cannot continue to walk.

    Without an operator's message, the robot does not move.
    """
    bench = Bench(separate_operator=True)
    walk_on(bench, 0.002)
    assert bench.gate.fault is not None
    assert bench.gate.fault.cause is Cause.OPERATOR_SILENT
    assert not bench.gate.powered
    bench.tick()
    bench.operator(Request.REARM)
    bench.send(bench.command(Mode.DAMP))
    walk_on(bench, 0.5)
    assert bench.gate.powered
    bench.operator(Request.NOTHING)
    walk_on(bench, 0.5)
    assert bench.gate.powered
    bench.operator(Request.NOTHING, age_ms=-1)  # not fresh: not a heartbeat
    walk_on(bench, 0.11)
    assert bench.gate.fault is not None
    assert bench.gate.fault.cause is Cause.OPERATOR_SILENT


def test_a_script_has_a_timeout_by_the_controller_s_heartbeat() -> None:
    """A script is part of the controller and sends no messages.

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


def test_replayed_rearming_has_no_effect() -> None:
    """A recorded re-arm request cannot undo a stop."""
    bench = Bench()
    bench.operator(Request.REARM)
    bench.operator(Request.DAMP, age_ms=0)
    bench.operator(Request.REARM)  # the same time as the first
    assert bench.gate.fault is not None
    assert bench.process.dropped == 1


def test_the_first_fault_is_kept() -> None:
    """A stop after a fault does not hide the cause of the damping."""
    bench = Bench()
    bench.send(bench.command(kp=99.0))
    bench.process.stop()
    assert bench.gate.fault is not None
    assert bench.gate.fault.cause is Cause.COMMAND_GAINS


def test_the_delay_from_sensor_to_torque_is_measured() -> None:
    """The robot reports the age of the measurement behind the torque.

    It includes the lag of the motors.
    """
    bench = Bench()
    for _ in range(40):
        bench.send(bench.command(Mode.POLICY, skill=2))
    found = bench.process.delay_ms
    assert found is not None
    assert found["max"] == pytest.approx(1000 * MOTOR_LAG, abs=0.01)
    assert bench.link.states[-1].delay_ns == pytest.approx(MOTOR_LAG * 1e9, abs=10_000)


@pytest.mark.parametrize("ahead_ms", [2, 5000])
def test_a_measurement_time_in_the_future_keeps_no_old_target(ahead_ms: int) -> None:
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


def test_no_news_from_the_sensors_is_no_state() -> None:
    """Without a measurement, no state is published.

    Old numbers with a new time would be wrong.
    """
    bench = Bench()
    bench.process.robot.sense = lambda: None  # type: ignore[method-assign,assignment,return-value]
    bench.tick(3)
    assert bench.link.states == []
    assert not np.any(bench.gate.powered)


def broken(*_: object) -> None:
    """Raise an error."""
    raise ZeroDivisionError("a mistake")


@pytest.mark.parametrize("part", ["sense", "decide", "drive"])
def test_a_mistake_in_the_program_damps_and_damping_goes_on(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error may be anywhere in the tick.

    It is latched with its place and reported, and every further tick sends damping.
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


def test_a_lasting_mistake_does_not_end_the_damping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Damping is tried in every tick, even if it fails."""
    bench, tried = Bench(), []
    bench.send(bench.command())
    monkeypatch.setattr(
        bench.process.robot, "drive", lambda command, at: (tried.append(command.kp), broken())
    )
    bench.tick(5)
    assert tried[0] > 0.0
    assert len(tried) >= 6
    assert not any(tried[1:])


def test_an_error_of_the_robot_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error ends the process, for example after a failed bring-up."""
    bench = Bench()

    def gone() -> None:
        raise RobotError("no board")

    monkeypatch.setattr(bench.process.robot, "sense", gone)
    with pytest.raises(RobotError, match="no board"):
        bench.tick()
