"""Bench process and its session: no blocking, no lost result, and a safe end."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from argparse import Namespace
from typing import Any

import pytest

from deploy.common.deploy_config import DeployConfig
from deploy.service import bench_process
from deploy.service.bench_process import BENCH_STATUS_TICKS, Pipe, run, work
from deploy.service.bench_session import BenchError, command_of, follow
from deploy.service.live_tables import Screen, joints_of_calibration, sensors
from solo_doi.common.errors import SoloError


class Ends:
    """Both ends of a bench process's pipe."""

    def __init__(self) -> None:
        """Open both ends."""
        source, self.say = os.pipe()
        self.read, sink = os.pipe()
        self.pipe = Pipe(source, sink)

    def lines(self) -> list[dict[str, Any]]:
        """Return all lines of the output."""
        return [json.loads(line) for line in os.read(self.read, 1 << 20).splitlines()]


class Counting:
    """Job of a number of ticks that counts its calls."""

    failure = ""

    def __init__(self, ticks: int) -> None:
        """Set the number of ticks."""
        self.left, self.confirmed, self.stopped = ticks, 0, 0

    @property
    def is_over(self) -> bool:
        """True at zero, or after a stop."""
        return self.left == 0 or self.stopped > 0

    def step(self) -> None:
        """Count a tick."""
        self.left -= 1

    def confirm(self) -> None:
        """Record the confirmation."""
        self.confirmed += 1

    def stop(self) -> None:
        """Record the stop."""
        self.stopped += 1

    def status(self) -> dict[str, Any]:
        """Return the number of ticks left."""
        return {"left": self.left}


def test_a_status_is_written_ten_times_a_second_and_at_the_end() -> None:
    """Status lines come every 100 ticks, and once at the end."""
    ends, job = Ends(), Counting(2 * BENCH_STATUS_TICKS + 1)
    run(job, ends.pipe, lambda: False)
    assert [line["left"] for line in ends.lines()] == [BENCH_STATUS_TICKS + 1, 1, 0]


def test_a_line_confirms_and_the_end_of_the_input_stops() -> None:
    """After the end of the input the operator cannot act, so the job stops."""
    ends, job = Ends(), Counting(1000)
    os.write(ends.say, b"\n")
    os.close(ends.say)
    run(job, ends.pipe, lambda: False)
    assert (job.confirmed, job.stopped, job.left) == (1, 1, 998)


def test_a_signal_stops() -> None:
    """A signal has the same effect as the end of the input."""
    ends, job = Ends(), Counting(1000)
    run(job, ends.pipe, lambda: True)
    assert job.stopped == 1


class Failing(Counting):
    """A job with an error, which needs some ticks to damp the motors."""

    @property
    def is_over(self) -> bool:
        """True if the motors are damped."""
        return self.stopped > 0 and self.left <= 0

    def step(self) -> None:
        """Count, and raise an error once."""
        super().step()
        if self.left == 5:
            raise RuntimeError("a mistake")


def test_an_exception_leaves_after_damping() -> None:
    """The job is stopped and continues until its safe end."""
    ends, job = Ends(), Failing(10)
    with pytest.raises(RuntimeError, match="a mistake"):
        run(job, ends.pipe, lambda: False)
    assert (job.stopped, job.left) == (1, 0)


def test_a_hanging_reader_does_not_block() -> None:
    """Complete lines are dropped, except for the last one."""
    ends = Ends()
    for _ in range(200):
        ends.pipe.write({"words": "x" * 1000})
    lines = ends.lines()
    assert 0 < len(lines) < 200
    ends.pipe.write_last({"result": 1})
    assert ends.lines() == [{"result": 1}]


class Talking(Counting):
    """Job with long statuses, its own clock, and a reader that may hang."""

    def __init__(self, ticks: int, ends: Ends, *, read: bool) -> None:
        """Set the number of ticks."""
        super().__init__(ticks)
        self.now, self._ends, self._read = 100.0, ends, read

    def step(self) -> None:
        """Advance by one millisecond."""
        super().step()
        self.now += 0.001
        if self._read and self.left % (9 * BENCH_STATUS_TICKS) == 0:
            self._ends.lines()

    def status(self) -> dict[str, Any]:
        """Return a long status."""
        return {"words": "x" * 1000}


@pytest.mark.parametrize("read", [False, True])
def test_an_output_that_is_not_read_for_a_second_stops(
    read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hanging session cannot stop the robot; a slow one is tolerated."""
    ends = Ends()
    job = Talking(5000, ends, read=read)
    monkeypatch.setattr("deploy.service.bench_process.time.monotonic", lambda: job.now)
    run(job, ends.pipe, lambda: False)
    assert job.stopped == (not read)
    assert read or 1.0 < job.now - 100.0 < 2.0


@pytest.mark.parametrize("job", ["watch", "check", "calibrate"])
@pytest.mark.parametrize("lock_step", [False, True])
def test_refused_rights_are_printed_before_a_board_is_opened(
    job: str, lock_step: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every job prints them, because a calibration moves motors; lock-step needs none."""
    printed: list[str] = []

    def opened(*_: object, **__: object) -> None:
        printed.append(capsys.readouterr().err)
        raise SoloError("no board")

    monkeypatch.setattr("deploy.common.realtime.prepare", lambda priority: ["memory lock refused"])
    monkeypatch.setattr(bench_process, "open_board", opened)
    with pytest.raises(SoloError, match="no board"):
        work(
            Namespace(job=job, lock_step=lock_step, interface="e0", driver="native"),
            Ends().pipe,
            lambda: False,
        )
    assert printed == ["" if lock_step else "note: bench process: memory lock refused\n"]


def program(text: str) -> list[str]:
    """Return the command that runs a program."""
    return [sys.executable, "-c", textwrap.dedent(text)]


def test_the_result_is_the_last_line() -> None:
    """Statuses are shown, other output is ignored."""
    shown: list[dict[str, Any]] = []
    speaks = program("""
        print("Virtual master board on esolo1, protocol 4")
        print('{"phase": "one", "question": ""}')
        print('{"result": {"answer": 42}}')
    """)
    assert follow(speaks, shown.append) == {"answer": 42}
    assert shown == [{"phase": "one", "question": ""}]


def test_notes_reach_the_person(capfd: pytest.CaptureFixture[str]) -> None:
    """The error output of the bench process is that of this program."""
    follow(
        program("""import sys; sys.stderr.write("note: refused\\n"); print('{"result": 1}')"""),
        lambda status: None,
    )
    assert capfd.readouterr().err == "note: refused\n"


def test_an_error_comes_in_its_own_words() -> None:
    """A bench process that dies without a message is an error, too."""
    with pytest.raises(BenchError, match="no such card"):
        follow(program("""print('{"error": "no such card"}')"""), lambda status: None)
    with pytest.raises(BenchError, match="code 7: see above"):
        follow(program("raise SystemExit(7)"), lambda status: None)


def test_ctrl_c_ends_the_bench_process_first() -> None:
    """Its input ends, it damps and writes a last status; then this program stops."""
    waits = program("""
        import sys
        print('{"phase": "moving", "question": ""}', flush=True)
        sys.stdin.read()
        print('{"phase": "damped", "question": ""}')
    """)
    shown: list[str] = []

    def show(status: dict[str, Any]) -> None:
        shown.append(status["phase"])
        if status["phase"] == "moving":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        follow(waits, show)
    assert shown == ["moving", "damped"]


@pytest.mark.parametrize("error", [False, True])
def test_a_closed_terminal_ends_the_bench_process(
    error: bool, terminal: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The effect is that of Ctrl-C, for an end of input and for an error."""
    waits = program("""
        import select, sys
        print('{"phase": "moving", "question": ""}', flush=True)
        ended = select.select([sys.stdin], [], [], 10)[0]
        print('{"phase": "damped", "question": ""}' if ended else '{"result": 1}')
    """)
    shown: list[str] = []

    def show(status: dict[str, Any]) -> None:
        shown.append(status["phase"])
        os.write(terminal, b"\x04" if status["phase"] == "moving" and not error else b"\n")

    read = os.read

    def broken(descriptor: int, size: int) -> bytes:
        if error and descriptor == sys.stdin.fileno():
            raise OSError(5, "Input/output error")
        return read(descriptor, size)

    monkeypatch.setattr("deploy.service.bench_session.os.read", broken)
    with pytest.raises(KeyboardInterrupt):
        follow(waits, show)
    assert shown == ["moving", "damped"]


def test_the_real_robot_gets_the_card_and_the_virtual_one_a_board() -> None:
    """Both use the same bench process."""
    real = command_of("check", DeployConfig(robot="real", interface="e7"), seconds=5.0, yes=True)
    assert real[3:] == ["deploy.service.bench_process", "check", "--interface", "e7", "--driver",
    "native",
                        "--seconds", "5.0", "--yes"]  # fmt: skip
    virtual = command_of(
        "calibrate", DeployConfig(robot="virtual", fast=True), seconds=0.0, yes=False
    )
    place = virtual.index("--")
    assert {"--put-back", "lock-step"} <= set(virtual[:place])
    assert virtual[place + 1 :][3:6] == [
        "deploy.service.bench_process",
        "calibrate",
        "--interface",
    ]
    assert "--lock-step" in virtual[place:]


def test_tables_are_drawn_before_the_first_measurement(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal each phase and each question is printed once."""
    nothing = {"phase": "waiting", "question": "Put it to zero."}
    for draw in (joints_of_calibration, sensors):
        draw(nothing)
        with Screen(draw) as screen:
            screen.show(nothing)
            screen.show(nothing)
        assert capsys.readouterr().out == "waiting\nPut it to zero.\n"
