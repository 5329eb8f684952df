"""The control loop: inference, work of a tick, punctuality, latency over LCM, endurance."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from deploy.common.clock import Ticker
from deploy.common.realtime import prepare
from deploy.common.robot_constants import TICK
from deploy.common.state_machine import ControllerState
from deploy.controller.controller import Controller
from deploy.launch.deployment_report import SUMMARY_FILE
from deploy.messages.authentication import Authority
from deploy.messages.lcm_link import (
    COMMAND_CHANNEL,
    OBSERVATION_CHANNEL,
    STATE_CHANNEL,
    LcmLink,
    Request,
    blank,
    decode,
)
from deploy.recorder.recorder import LOG_FILE, Ring, read_log
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.shipped import SHIPPED
from tests.command import SOLO_DEPLOY

from .harness import Pairs, benchmark, interleaved

CALLS, TICKS = 2000, 5000
URL = "udpm://239.255.76.67:7{port}?ttl=0"
PRIORITY = 50


@benchmark(unit="us", at_most=1.0)
def policy_inference() -> Pairs:
    """p99 of one inference by a bundle, in one thread, with real-time scheduling, against 50 us."""
    return [(value, 50.0) for value in _in_child("_inference_p99s()")]


@benchmark(unit="us")
def policy_overhead() -> Pairs:
    """Median time of one inference by a bundle, checks included.

    The reference is a plain call of onnxruntime on the same graph.
    """
    return interleaved(*_inference(50))


@benchmark(unit="us", at_most=1.0)
def tick_work() -> Pairs:
    """p99 of a tick's work while walking, against 300 us.

    It includes code, decoding, estimator, checks, policy, encoding, signature and log. Reading and
    sending by LCM, which `lcm_latency` measures, and the operator's messages are left out.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        _walked("--headless", "--fast", "--seconds", "4", "--skill", "2", "--out", str(out))
        return [(value, 300.0) for value in _in_child(f"_work_p99s({str(out / LOG_FILE)!r})")]


@benchmark(unit="us", at_most=1.5)
def tick_lateness() -> Pairs:
    """p99 of a tick's lateness at 1 kHz against a loop of clock_nanosleep in C.

    Both run as ordinary processes.
    """
    return interleaved(_python_lateness, _c_lateness)


@benchmark(unit="us", at_most=1.5)
def tick_lateness_fifo() -> Pairs:
    """p99 of a tick's lateness at 1 kHz with real-time scheduling, against the C loop."""
    pairs = _in_child("_fifo_pairs()")
    return [(float(value), float(reference)) for value, reference in pairs]


@benchmark(unit="us")
def lcm_latency() -> Pairs:
    """Median round trip over LCM of a state and an echoed command, without a controller.

    The reference is the p99 of the same round trips.
    """
    return [tuple(np.percentile(_latencies(), [50, 99]).tolist()) for _ in range(5)]


@benchmark(unit="us", at_most=1.0)
def recorder_put() -> Pairs:
    """p99 of keeping a message in the recorder's ring against 10 us."""
    ring = Ring()
    data = bytes(439)
    pairs = [
        (_p99(_timed(lambda: ring.put(STATE_CHANNEL, data), 20 * CALLS)), 10.0) for _ in range(5)
    ]
    ring.close(unlink=True)
    return pairs


@benchmark(unit="us", at_most=0.1)
def authentication() -> Pairs:
    """Signing and checking a joint command, against the median round trip over LCM."""
    authority, data = Authority(bytes(32)), bytes(234)
    trip = float(np.median(_latencies()))
    return [
        (float(np.median(_timed(lambda: authority.genuine(authority.sign(data)), CALLS))), trip)
        for _ in range(5)
    ]


@benchmark(unit="MB", at_most=1.05)
def soak() -> Pairs:
    """Memory after ten minutes of walking in lock-step with five skills, without a fault.

    The reference is the memory after the first minute.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "soak"
        words = [
            "--headless",
            "--fast",
            "--seconds",
            "120",
            "--skill",
            "0",
            "--then",
            "1",
            "2",
            "3",
            "4",
        ]
        _walked(*words, "--out", str(out))
        summary = json.loads((out / SUMMARY_FILE).read_text())
    if summary["problems"]:
        raise RuntimeError(f"ten minutes of walking ended with {summary['problems']}")
    first, last = summary["memory"]["first"], summary["memory"]["last"]
    return [(last, first)] * 5


def _inference(percentile: float = 99) -> tuple[Callable[[], float], Callable[[], float]]:
    bundle = Bundle(SHIPPED)
    observation, skill = np.zeros((1, bundle.observation_size), np.float32), np.array([2])
    feed = {"observation": observation, "skill": skill}

    def ours() -> float:
        return float(
            np.percentile(_timed(lambda: bundle.run_one(observation[0], 2), CALLS), percentile)
        )

    def plain() -> float:
        return float(
            np.percentile(_timed(lambda: bundle._session.run(None, feed), CALLS), percentile)
        )

    return ours, plain


def _inference_p99s() -> list[float]:
    _be_punctual()
    ours, _ = _inference()
    return [ours() for _ in range(5)]


def _work_p99s(log: str) -> list[float]:
    _be_punctual()
    states = [data for _, channel, data in read_log(Path(log)) if channel == STATE_CHANNEL]
    return [_p99(_work(states)) for _ in range(5)]


def _work(states: list[bytes]) -> np.ndarray:
    """Return the durations of a walking controller's ticks on recorded robot states [us]."""
    controller, authority, ring = Controller(Bundle(SHIPPED), 2), Authority(bytes(32)), Ring()
    requests = {900: Request.STAND, 3100: Request.WALK}  # as in the log: first it must lie at rest
    durations = []
    for number, data in enumerate([authority.sign(data) for data in states[:6000]]):
        begun = time.perf_counter()
        if not authority.genuine(data):
            raise RuntimeError("a state that was just signed is not genuine")
        message = decode(STATE_CHANNEL, data)
        controller.on_robot_state(message)
        ring.put(STATE_CHANNEL, data)
        controller.on_operator_request(requests.get(number, Request.NOTHING), message.time_ns, 2)
        command = authority.sign(controller.tick(message.time_ns).encode())
        seen = controller.observation_message(message.time_ns)
        if seen is not None:
            ring.put(OBSERVATION_CHANNEL, seen.encode())
        ring.put(COMMAND_CHANNEL, command)
        durations.append(time.perf_counter() - begun)
    ring.close(unlink=True)
    if controller.state is not ControllerState.WALK:
        raise RuntimeError(
            f"nothing was measured: the controller ended in {controller.state.name}, "
            f"{controller.fault}"
        )
    return 1e6 * np.array(durations[3200:])


def _python_lateness() -> float:
    ticker = Ticker(TICK)
    for _ in range(TICKS):
        ticker.wait()
    return _p99(1e6 * ticker.lateness())


def _c_lateness() -> float:
    return _p99(1e6 * c_lateness(TICKS))


def c_lateness(ticks: int) -> np.ndarray:
    """Lateness of every tick of a bare loop in C [s]."""
    late = np.zeros(ticks, dtype=np.int64)
    run_c_loop(late, ctypes.c_int(0))
    return 1e-9 * late


def run_c_loop(late: np.ndarray, stop: ctypes.c_int) -> int:
    """Record the lateness of each tick [ns] until the array is full or `stop` is set.

    Returns the number of ticks.
    """
    place = late.ctypes.data_as(ctypes.POINTER(ctypes.c_int64))
    return c_loop()(ctypes.c_int64(round(TICK * 1e9)), len(late), place, ctypes.byref(stop))


@cache
def c_loop() -> Callable[..., int]:
    """Compile the bare loop."""
    source = Path(__file__).with_name("nanosleep_loop.c")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "loop.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
        return ctypes.CDLL(str(library)).nanosleep_loop


def _be_punctual() -> None:
    """Set the real-time scheduling of the control loop, or raise an error."""
    refused = prepare(PRIORITY)
    if refused:
        raise RuntimeError(refused[0])


def _fifo_pairs() -> list[tuple[float, float]]:
    _be_punctual()
    return interleaved(_python_lateness, _c_lateness)


def _latencies(count: int = CALLS) -> np.ndarray:
    """Round trips of state and command between two processes [us]."""
    url = URL.format(port=os.getpid() % 900 + 100)
    echo = subprocess.Popen(
        [sys.executable, "-c", f"from tests.bench.deploy import _echo; _echo({url!r})"]
    )
    link = LcmLink(Authority(bytes(32)), url)
    arrived: list[int] = []
    link.subscribe(COMMAND_CHANNEL, lambda message, data: arrived.append(message.state_sequence))
    state, trips = blank(STATE_CHANNEL), []
    try:
        while len(trips) < count + 100:
            state.sequence += 1
            begun = time.perf_counter()
            link.publish(STATE_CHANNEL, state)
            while not arrived or arrived[-1] != state.sequence:
                if not link.receive(0.2) and time.perf_counter() - begun > 0.5:
                    break  # the other process has not started yet
            else:
                trips.append(time.perf_counter() - begun)
            time.sleep(0.0005)
    finally:
        echo.kill()
        echo.wait()
    return 1e6 * np.array(trips[100:])


def _echo(url: str) -> None:
    """Answer every state with a command."""
    link, command = LcmLink(Authority(bytes(32)), url), blank(COMMAND_CHANNEL)

    def answer(message: object, data: bytes) -> None:
        command.state_sequence = message.sequence  # type: ignore[attr-defined]
        link.publish(COMMAND_CHANNEL, command)

    link.subscribe(STATE_CHANNEL, answer)
    while True:
        link.receive(1.0)


def _in_child(call: str) -> list[Any]:
    """Call a function of this module in a process of its own.

    Its real-time scheduling ends with the process.
    """
    program = f"import json; from tests.bench import deploy; print(json.dumps(deploy.{call}))"
    ran = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True)
    return json.loads(ran.stdout.splitlines()[-1])  # PyBullet prints a greeting first


def solo_deploy(*words: str) -> subprocess.Popen[bytes]:
    """Start `solo-deploy` in a process of its own."""
    return subprocess.Popen([*SOLO_DEPLOY, *words], stdout=subprocess.DEVNULL)


def _walked(*words: str) -> None:
    """Run `solo-deploy` and check that its robot walked."""
    process = solo_deploy(*words)
    if process.wait() != 0:
        raise subprocess.CalledProcessError(process.returncode, process.args)


def _timed(work: Callable[[], object], count: int) -> np.ndarray:
    """Return the durations of calls [us]."""
    durations = np.zeros(count)
    for number in range(count):
        begun = time.perf_counter()
        work()
        durations[number] = time.perf_counter() - begun
    return 1e6 * durations


def _p99(values: np.ndarray) -> float:
    return float(np.percentile(values, 99))
