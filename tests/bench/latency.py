"""Latency from a robot's state to the joint command that answers it.

The real controller runs over LCM; this process plays its robot.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from deploy.common.deploy_config import CONFIG_FILE, KEY_FILE, ControllerConfig, DeployConfig
from deploy.common.realtime import prepare
from deploy.common.robot_constants import TICK
from deploy.common.safety_config import SafetyConfig
from deploy.messages.authentication import read_key, write_key
from deploy.messages.lcm_link import COMMAND_CHANNEL, STATE_CHANNEL, LcmLink
from deploy.robots.process.gate import Gate
from deploy.robots.process.robot_process import ROBOT_PRIORITY, RobotProcess
from deploy.robots.simulated.mock_solo import MockSolo
from solo_doi.common import settings

from .deploy import URL
from .harness import Pairs, benchmark

PARTS, TICKS = 5, 1000
START = 60.0
"""Time limit for the controller to start walking [s]."""
PATIENT = ControllerConfig(
    safety=SafetyConfig(state_age=0.5, frozen=0.5, bad_share=500, gap_share=100)
)
"""Limits that let a 10 ms stall of the machine appear in the p99 without ending the walk."""
ANSWERED = 0.5
"""Share of states that must have an answer.

Two states between two ticks often share one answer, when the phases of both clocks are close.
"""


@benchmark(unit="us")
def command_latency() -> Pairs:
    """Median time from a published state to its joint command, while the controller walks.

    The reference is the p99 of the same times.
    """
    program = "import json; from tests.bench import latency; print(json.dumps(latency.latencies()))"
    ran = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, check=True
    )  # real-time scheduling ends with the process
    return [(value, reference) for value, reference in json.loads(ran.stdout.splitlines()[-1])]


def latencies() -> list[tuple[float, float]]:
    """p50 and p99 of five parts of a walk [us]."""
    with tempfile.TemporaryDirectory() as name:
        folder, url = Path(name), URL.format(port=os.getpid() % 900 + 100)
        config = DeployConfig(
            robot="mock", skill=2, seconds=10 * START, url=url, controller=PATIENT
        )
        (folder / CONFIG_FILE).write_text(settings.to_yaml(config))
        write_key(folder / KEY_FILE)
        controller = subprocess.Popen(
            [sys.executable, "-m", "deploy.controller.controller_process", str(folder)]
        )
        try:
            prepare(ROBOT_PRIORITY)  # the controller has a lower priority and has started by now
            return _Robot(TimedLink(read_key(folder / KEY_FILE), url)).parts()
        finally:
            controller.terminate()
            controller.wait()


class TimedLink(LcmLink):
    """Records when states left, and the delay of their first answers while a skill walks."""

    def __init__(self, *how: Any) -> None:
        """Connect."""
        super().__init__(*how)
        self._left: dict[int, float] = {}
        self.answered: dict[int, float] = {}
        """Number of a state, and the delay until its command arrived [s]."""

    def publish(self, channel: str, message: Any) -> bytes:  # generated classes have no types
        """Send a message."""
        if channel == STATE_CHANNEL:
            self._left[message.sequence] = time.perf_counter()
        return super().publish(channel, message)

    def subscribe(
        self, channel: str, handler: Callable[[Any, bytes], None], queue: int = 30
    ) -> None:
        """Call `handler` with every genuine message."""

        def timed(message: Any, data: bytes) -> None:
            if (
                channel == COMMAND_CHANNEL
                and message.skill >= 0
                and message.state_sequence in self._left
            ):
                self.answered[message.state_sequence] = time.perf_counter() - self._left.pop(
                    message.state_sequence
                )
            handler(message, data)

        super().subscribe(channel, timed, queue)

    def listen_until(self, deadline: float) -> None:
        """Handle messages as soon as they arrive."""
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self._lcm], [], [], left)[0]:
                self.receive()


class _Robot:
    """A simulated robot at 1 kHz on the wall clock that catches up after a delay."""

    def __init__(self, link: TimedLink) -> None:
        """Power up."""
        self._link, self._deadline = link, time.monotonic()
        self._robot = MockSolo(epoch=self._deadline)
        self._process = RobotProcess(self._robot, link, Gate())

    def parts(self) -> list[tuple[float, float]]:
        """Measure with states that are each a fifth of a tick later than the one before.

        Both processes use one clock, and their phase is random.
        """
        patience = time.monotonic() + START
        while not self._link.answered and time.monotonic() < patience:
            self._tick()
        return [self._part() for _ in range(PARTS)]

    def _part(self) -> tuple[float, float]:
        self._link.answered.clear()
        for _ in range(TICKS):
            self._tick()
        found = [*self._link.answered.values()]
        if len(found) < ANSWERED * TICKS:
            raise RuntimeError(
                f"{len(found)} of {TICKS} states were answered; the robot says "
                f"{self._process.gate.fault}"
            )
        self._deadline += TICK / PARTS
        self._robot.epoch += TICK / PARTS
        middle, most = 1e6 * np.percentile(found, [50, 99])
        return float(middle), float(most)

    def _tick(self) -> None:
        self._process.tick()
        self._deadline += TICK
        self._link.listen_until(self._deadline)
