"""The robot process beside a virtual board on a cable.

Measures the age of sensor data, punctuality, and speed in lock-step.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from deploy.common.clock import Ticker, percentiles
from deploy.common.realtime import prepare
from deploy.common.robot_constants import LARGEST_GAINS, STOPPED, TICK
from deploy.common.sensors import Sensors
from deploy.messages.authentication import Authority
from deploy.messages.lcm_link import LcmLink
from deploy.robots.odri.drivers.board_sensors import sensors_of
from deploy.robots.odri.drivers.board_session import BoardSession
from deploy.robots.odri.drivers.motors import motors_off
from deploy.robots.odri.drivers.native_board import NativeBoard
from deploy.robots.odri.wire.ethernet_link import EthernetLink
from deploy.robots.odri.wire.protocol import CommandPacket, MotorCommand, SensorPacket
from deploy.robots.odri.wire.wire_recorder import replay
from deploy.robots.process.gate import Gate
from deploy.robots.process.robot_process import ROBOT_PRIORITY, RobotProcess
from deploy.robots.virtual_board.veth import PC_END
from solo_doi.solo12.constants import NUM_JOINTS
from solo_doi.solo12.state import JointCommand
from tests.command import SOLO_DEPLOY

from .deploy import c_lateness
from .harness import Pairs, benchmark

CYCLES, EXCHANGES = 2000, 500
LOOPBACK = "ip link set lo up && ip route add 224.0.0.0/4 dev lo"


@benchmark(unit="us", at_most=1.0)
def board_sensor_age() -> Pairs:
    """Median age of measurements when a command leaves, by the kernel's time stamps.

    A loop that is paced by the sensors is compared with one that is paced by the clock.
    """
    return [(value, reference) for value, reference in _figures("ages()")]


@benchmark(unit="us")
def board_cycle() -> Pairs:
    """p99 of a robot process's wake-up after its packet against a C loop's after its deadline.

    Prints percentiles.
    """
    return [(value, reference) for value, reference in _figures("cycles()")]


@benchmark(unit="x real time", at_least=1.0)
def board_lock_step() -> Pairs:
    """Simulated time per time of board and driver in lock-step, over a cable.

    The reference is the wall clock.
    """
    return [(value, 1.0) for value in _figures("speeds()")]


def ages() -> list[tuple[float, float]]:
    """Median ages with both ways to keep time, alternately [us]."""
    prepare(ROBOT_PRIORITY)
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder) / "wire.pcap"
        with _board("wall"), _recorder(recording):
            board = _connected()
            first = [board.sent]
            for paced_by_sensor in [True, False] * 5:
                _exchange(board, paced_by_sensor=paced_by_sensor)
                first.append(board.sent)
        age = _ages(recording)
    parts = [age[start:end] for start, end in pairwise(first)]
    for name, chosen in (("sensor-paced", parts[::2]), ("clock-paced", parts[1::2])):
        _tell(f"age, {name}", np.concatenate(chosen))
    medians = [1e6 * float(np.nanmedian(part)) for part in parts]
    return list(zip(medians[::2], medians[1::2], strict=True))


def cycles() -> list[tuple[float, float]]:
    """p99 of lateness of the robot process and of a C loop beside it, five times [us]."""
    prepare(ROBOT_PRIORITY)
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder) / "wire.pcap"
        with _board("wall"), _recorder(recording), ThreadPoolExecutor() as beside:
            robot = _MotorsOff(_connected())
            process = RobotProcess(robot, LcmLink(Authority(bytes(32))), Gate())
            seen, works, bare = [], [], []
            for _ in range(5):
                robot.board.seen.clear()
                loop = beside.submit(c_lateness, CYCLES)  # the C loop does not hold Python's lock
                for _ in range(CYCLES):
                    process.tick()
                    works.append(1e-9 * (time.time_ns() - robot.board.newest))
                seen.append([*robot.board.seen])
                bare.append(loop.result())
        sent = {
            one.packet.index: one.time_ns
            for one in replay(recording)
            if isinstance(one.packet, SensorPacket)
        }
    late = [
        np.array([1e-9 * (when - sent[index]) for index, when in part if index in sent])
        for part in seen
    ]
    _tell("cycle lateness", np.concatenate(late))
    _tell("cycle work", np.array(works))
    _tell("bare C loop, lateness", np.concatenate(bare))
    return [(_p99(ours), _p99(theirs)) for ours, theirs in zip(late, bare, strict=True)]


def speeds() -> list[float]:
    """Simulated seconds per second, five times."""
    found = []
    with _board("lock-step"):
        board = _connected()
        for _ in range(5):
            begun = time.perf_counter()
            for _ in range(EXCHANGES):
                board.send(motors_off())
                while board.receive(1.0) is None:
                    pass  # discard acknowledgements that are still unread
            found.append(EXCHANGES * TICK / (time.perf_counter() - begun))
    return found


class _Stamping(NativeBoard):
    """Remembers when this process got which measurements, and how many commands it sent."""

    def __init__(self, link: EthernetLink) -> None:
        """Take a link."""
        super().__init__(link)
        self.seen: list[tuple[int, int]] = []
        self.newest = time.time_ns()
        self.sent = 0

    def receive(self, timeout: float) -> SensorPacket | None:
        """Return measurements as they come."""
        packet = super().receive(timeout)
        if packet is not None:
            self.newest = time.time_ns()
            self.seen.append((packet.index, self.newest))
        return packet

    def send(self, command: MotorCommand) -> None:
        """Send a command."""
        super().send(command)
        self.sent += 1


class _MotorsOff:
    """A robot with its motors off.

    A moving robot would trip on a stall of this machine.
    """

    name, paces, largest_gains = "motors off", True, LARGEST_GAINS

    def __init__(self, board: _Stamping) -> None:
        """Take a board that is connected."""
        self.board = board
        self._session = BoardSession(board)

    @property
    def time(self) -> float:
        """Return the robot's clock [s]."""
        return self._session.now

    def sense(self) -> Sensors | None:
        """Return the newest measurements."""
        packet = self._session.receive()
        return (
            None
            if packet is None
            else sensors_of(packet, self._session, offset=np.zeros(NUM_JOINTS), follows=False)
        )

    def drive(self, command: JointCommand, observed: float) -> float:
        """Send a command that costs as much as a real one."""
        self._session.send(motors_off())
        return observed

    def stop(self, cause: str = STOPPED) -> None:
        """Do nothing, because the motors are off."""

    def close(self) -> None:
        """Do nothing, because no resource is open."""


def _connected() -> _Stamping:
    board = _Stamping(EthernetLink(PC_END))
    while not board.connect():
        time.sleep(TICK)
    board.send(motors_off())
    return board


def _exchange(board: NativeBoard, *, paced_by_sensor: bool) -> None:
    ticker = Ticker(TICK)
    for _ in range(CYCLES):
        if not paced_by_sensor:
            ticker.wait()
        board.receive(2 * TICK if paced_by_sensor else 0.0)
        board.send(motors_off())


def _ages(recording: Path) -> np.ndarray:
    """Age of the newest measurements at every command of a recording [s].

    NaN where a command is missing.
    """
    found: dict[int, float] = {}
    newest = 0
    for record in replay(recording):
        if isinstance(record.packet, SensorPacket):
            newest = record.time_ns
        elif isinstance(record.packet, CommandPacket) and newest:
            found[record.packet.index] = 1e-9 * (record.time_ns - newest)
    return np.array([found.get(index, np.nan) for index in range(10 * CYCLES + 1)])


@contextmanager
def _board(clock: str) -> Iterator[None]:
    """Run a board on a cable of its own."""
    words = ["-m", "deploy.robots.virtual_board", "--veth", "--clock", clock]
    with _interrupted(
        subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True)
    ) as board:
        assert board.stdout is not None
        board.stdout.readline()  # the board now has the cable
        yield


@contextmanager
def _recorder(path: Path) -> Iterator[None]:
    """Listen to the cable from a process of its own."""
    words = [*SOLO_DEPLOY, "record-wire", PC_END, str(path)]
    with _interrupted(subprocess.Popen(words, stderr=subprocess.DEVNULL)):
        while not path.exists():
            time.sleep(0.05)
        time.sleep(0.3)
        yield
        time.sleep(0.3)


@contextmanager
def _interrupted(process: subprocess.Popen[Any]) -> Iterator[subprocess.Popen[Any]]:
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def _tell(name: str, seconds: np.ndarray) -> None:
    found = percentiles(seconds[~np.isnan(seconds)])
    text = ", ".join(f"{key.removesuffix('_us')} {value:.0f}" for key, value in found.items())
    sys.stderr.write(f"{name}, us: {text}\n")


def _p99(seconds: np.ndarray) -> float:
    return 1e6 * float(np.percentile(seconds, 99))


def in_network(*command: str) -> str:
    """Run a command in a network namespace of its own and return its output.

    Root keeps the right to real-time scheduling.
    """
    unshare = ["unshare", "-n" if os.geteuid() == 0 else "-Urn"]
    script = f'{LOOPBACK} && exec "$0" "$@"'
    ran = subprocess.run(
        [*unshare, "sh", "-c", script, *command], stdout=subprocess.PIPE, text=True, check=False
    )
    return ran.stdout


def _figures(call: str) -> list[Any]:
    """Call a function of this module in a network of its own."""
    program = (
        f"import json; from tests.bench import board_wall; print(json.dumps(board_wall.{call}))"
    )
    # Last line: libraries print first.
    return json.loads(in_network(sys.executable, "-c", program).splitlines()[-1])
