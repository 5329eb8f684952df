"""Clock, signals and real-time settings: deadlines, stop requests, refused permissions."""

from __future__ import annotations

import ctypes
import gc
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from deploy.common.clock import Clock, Ticker
from deploy.common.realtime import prepare, prepare_aloud
from deploy.common.signals import (
    ENDINGS,
    PARENT,
    STOPS,
    Interrupts,
    StopRequest,
    ask_to_end,
    naming_parent,
)

MS = 1_000_000


class Stalling(Clock):
    """Simulated time that advances by sleeping and by injected stalls (tick number to ns)."""

    def __init__(self, stalls: dict[int, int] | None = None, start: int = 7) -> None:
        """Start at an arbitrary time."""
        self.now, self._stalls, self.sleeps = start, stalls or {}, 0

    def now_ns(self) -> int:
        """Return the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Sleep for the requested time, and longer at an injected stall."""
        self.now += round(seconds * 1e9) + self._stalls.get(self.sleeps, 0)
        self.sleeps += 1


def test_ticks_keep_their_deadlines() -> None:
    """Work and small lateness do not add up; the thousandth tick is on time."""
    clock = Stalling(dict.fromkeys(range(0, 1000, 3), 50_000))
    ticker = Ticker(0.001, clock=clock)
    for _ in range(1000):
        ticker.wait()
        clock.now += 200_000  # work
    assert clock.now - 200_000 - ticker.start_ns == pytest.approx(1000 * MS, abs=50_001)
    assert (ticker.ticks, ticker.skipped) == (1000, 0)
    assert np.round(ticker.lateness()[:4] * 1e6).tolist() == [50.0, 0.0, 0.0, 50.0]


def test_a_controller_skips_missed_ticks() -> None:
    """After a stall, ticks continue at the present time and old phase.

    The missed ticks are counted.
    """
    clock = Stalling({4: int(7.5 * MS)})
    ticker = Ticker(0.001, clock=clock)
    late = [ticker.wait() for _ in range(8)]
    assert late == [0, 0, 0, 0, 7_500_000, 0, 0, 0]
    assert ticker.skipped == 7
    assert (clock.now - ticker.start_ns) == (8 + 7) * MS


def test_a_stall_within_a_tick_counts_in_that_tick() -> None:
    """The missed ticks are skipped once, and the next tick keeps the phase."""
    clock = Stalling()
    ticker = Ticker(0.001, clock=clock)
    ticker.wait()
    clock.now += 4_300_000
    assert ticker.stalled(clock.now) == 4_300_000
    assert ticker.skipped == 4
    assert ticker.stalled(clock.now) == 4_300_000
    assert ticker.skipped == 4
    assert ticker.wait() == 0
    assert clock.now - ticker.start_ns == 6 * MS
    assert ticker.stalled(clock.now + MS) == MS
    assert ticker.skipped == 4


def test_a_simulated_robot_catches_up() -> None:
    """Every tick is made, as fast as possible, because its time must not stand still."""
    clock = Stalling({4: int(7.5 * MS)})
    ticker = Ticker(0.001, catch_up=True, clock=clock)
    late = [ticker.wait() for _ in range(14)]
    assert late[4:13] == [7_500_000 - number * MS for number in range(8)] + [0]
    assert ticker.skipped == 0
    assert clock.sleeps == 14 - 7


def test_lateness_of_the_last_ticks_is_kept() -> None:
    """The record covers the last ticks only, so its size does not grow."""
    clock = Stalling({number: 1000 * number for number in range(25)})
    ticker = Ticker(0.001, most=10, clock=clock)
    for _ in range(25):
        ticker.wait()
    assert sorted(np.round(ticker.lateness() * 1e6).tolist()) == [
        float(number) for number in range(15, 25)
    ]


def test_the_clock_is_the_monotonic_one() -> None:
    """A change of the date must not move a deadline."""
    before = Clock().now_ns()
    Clock().sleep(0.0)
    assert before <= Clock().now_ns()


@pytest.fixture
def collected_again() -> Iterator[None]:
    """Undo the real-time settings of garbage collection."""
    yield
    gc.unfreeze()
    gc.enable()


class Locker:
    """A C library that locks memory, or refuses to."""

    def __init__(self, answer: int) -> None:
        """Set the return value of every call."""
        self._answer, self.asked = answer, list[int]()

    def mlockall(self, flags: int) -> int:
        """Record the flags."""
        self.asked.append(flags)
        return self._answer


@pytest.mark.usefixtures("collected_again")
def test_refusals_are_described(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text names the refused permission, its consequence and the remedy."""

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Locker(-1))
    monkeypatch.setattr(ctypes, "get_errno", lambda: 12)
    scheduling, memory = prepare(40)
    assert scheduling.startswith(
        "real-time scheduling refused ([Errno 1] Operation not permitted): ticks may be late;"
    )
    assert memory.startswith(
        "memory lock refused (Cannot allocate memory): page faults may make ticks late;"
    )
    assert "setcap" in scheduling
    assert not gc.isenabled()


def test_refusals_are_printed_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The note appears before the robot moves and names the process."""
    monkeypatch.setattr("deploy.common.realtime.prepare", lambda _: ["memory lock refused"])
    assert prepare_aloud(40, "controller") == ["memory lock refused"]
    assert capsys.readouterr().err == "note: controller: memory lock refused\n"


@pytest.mark.usefixtures("collected_again")
def test_permitted_settings_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler is FIFO at the requested priority; all present and future memory is locked.

    Present pages are loaded, later ones when they are used.
    """
    asked: list[tuple[object, ...]] = []
    locker = Locker(0)
    monkeypatch.setattr(os, "sched_setscheduler", lambda *arguments: asked.append(arguments))
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: locker)
    assert prepare(40) == []
    assert [(who, policy, given.sched_priority) for who, policy, given in asked] == [
        (0, os.SCHED_FIFO, 40)
    ]  # type: ignore[attr-defined]
    assert locker.asked == [1, 2 | 4]


def test_locked_memory_is_not_loaded_before_its_use() -> None:
    """A large allocation, as for a forged message size, does not stop a locked process."""
    script = (
        "import mmap, resource; from deploy.common.realtime import prepare; refused = prepare(1)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "block = mmap.mmap(-1, 256_000_000)\n"
        "grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before\n"
        "print(len(refused), grown)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    refused, grown_kb = map(int, run.stdout.split())
    if refused:
        pytest.skip("this user may not lock memory")
    assert grown_kb < 25_000


@pytest.fixture
def signals_again() -> Iterator[None]:
    """Restore the signals of pytest."""
    kept = {number: signal.getsignal(number) for number in ENDINGS}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("signals_again")
@pytest.mark.parametrize("number", ENDINGS)
def test_signals_request_a_stop(number: signal.Signals) -> None:
    """Ctrl-C, Ctrl-Z and SIGTERM set a flag and raise no exception in the middle of a tick."""
    stop = StopRequest()
    assert not stop()
    signal.raise_signal(number)
    assert stop()
    assert stop()


@pytest.mark.usefixtures("signals_again")
@pytest.mark.parametrize("number", ENDINGS)
def test_a_command_is_interrupted_once(number: signal.Signals) -> None:
    """Any signal interrupts; later ones are ignored, and the old handlers are restored."""
    before = signal.getsignal(number)
    with Interrupts():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        signal.raise_signal(number)
    assert signal.getsignal(number) is before


BACKGROUND = """
import os, pty, signal, sys, termios
{take}
child, terminal = pty.fork()
if child:
    os.waitpid(child, 0)
    sys.exit()
if os.fork():
    os.wait()
    os._exit(0)
os.setpgid(0, 0)  # the terminal now belongs to others
before = termios.tcgetattr(0)
signal.alarm(20)
{use}
termios.tcsetattr(0, termios.TCSADRAIN, before)
os.write({end}, b"given back")
"""


@pytest.mark.parametrize(
    ("take", "use"),
    [
        ("from deploy.common.signals import Interrupts; Interrupts().__enter__()",
         "try: os.read(0, 1)\nexcept KeyboardInterrupt: pass"),
        ("from deploy.common.signals import StopRequest; stop = StopRequest()",
         "try: termios.tcsetattr(0, termios.TCSADRAIN, before)\nexcept termios.error: assert "
         "stop()"),
    ],
    ids=["command", "process"],
)  # fmt: skip
def test_a_background_process_restores_the_terminal(take: str, use: str) -> None:
    """The first use of the terminal requests the end; the shut-down may use it once more."""
    heard, told = os.pipe()
    program = BACKGROUND.format(take=take, use=use, end=told)
    subprocess.run(
        [sys.executable, "-c", program],
        pass_fds=[told],
        check=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    os.close(told)
    with os.fdopen(heard, "rb") as pipe:
        assert pipe.read() == b"given back"


@pytest.mark.parametrize("number", [signal.SIGTERM, *STOPS])
def test_a_stopped_process_can_be_ended(number: signal.Signals) -> None:
    """Ctrl-Z can stop a process at its start, before it has a handler."""
    process = subprocess.Popen(["sleep", "600"])
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    ask_to_end(process, number)
    assert process.wait(60) == -signal.SIGTERM


@pytest.mark.usefixtures("signals_again")
def test_a_run_under_nohup_ignores_sighup() -> None:
    """A run under nohup survives its terminal."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop = StopRequest()
    signal.raise_signal(signal.SIGHUP)
    assert not stop()


@pytest.mark.usefixtures("signals_again")
def test_an_orphan_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """A robot process must end when its supervisor was killed."""
    stop = StopRequest()
    monkeypatch.setattr(os, "getppid", lambda: 1)
    assert stop()


def test_a_real_orphan_stops() -> None:
    """The child of a killed parent process ends by itself."""
    child = (
        "import time; from deploy.common.signals import StopRequest; s = StopRequest(); "
        "print('up', flush=True)\n"
    )
    child += "while not s(): time.sleep(0.01)\nprint('stopped', flush=True)"
    parent = (
        f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {child!r}]); "
        f"time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    process.kill()
    assert process.stdout.readline() == "stopped\n"
    process.stdout.close()
    process.wait()


@pytest.mark.usefixtures("signals_again")
@pytest.mark.parametrize(
    ("parent", "gone"), [(os.getppid(), False), (1 << 22, True)], ids=["here", "gone"]
)
def test_a_parent_that_was_killed_while_its_child_started(
    parent: int, gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its first check the child already has a new parent; it must still stop."""
    monkeypatch.setenv(PARENT, str(parent))
    assert StopRequest()() == gone
    assert PARENT not in os.environ  # not for the child's own children


def test_a_shell_may_stand_between_parent_and_child() -> None:
    """An example is `virtual_board -- sh -c ...`."""
    child = [
        sys.executable,
        "-c",
        "from deploy.common.signals import StopRequest; print(StopRequest()())",
    ]
    told = subprocess.run(
        ["sh", "-c", f"{shlex.join(child)}; true"],
        env=naming_parent(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "False\n"
