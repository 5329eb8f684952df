"""From a robot's state to the joint command that answers it.

The real controller over LCM, its robot played here.
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
from deploy.messages.lcm_link import COMMAND, STATE, LcmLink
from deploy.robots.process.gate import Gate
from deploy.robots.process.robot_process import PRIORITY, RobotProcess
from deploy.robots.simulated.mock_solo import MockSolo
from solo_doi.common import settings

from .deploy import URL
from .harness import Pairs, benchmark

PARTS, TICKS = 5, 1000
START = 60.0
"""How long the controller has until it walks [s]."""
PATIENT = ControllerConfig(
    safety=SafetyConfig(state_age=0.5, frozen=0.5, bad_share=500, gap_share=100)
)
"""A machine that stands still for 10 ms shall be seen in the p99, not end the walk."""
ANSWERED = 0.5
"""Share of states that must have an answer.

Where both clocks meet, two states between two ticks often have one.
"""


@benchmark(unit="us")
def command_latency() -> Pairs:
    """Median from a state published to its joint command received, the controller walking.

    Its p99 is the reference.
    """
    program = "import json; from tests.bench import latency; print(json.dumps(latency.latencies()))"
    ran = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, check=True
    )  # urgency ends with it
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
            prepare(PRIORITY)  # the controller, which is less urgent, has started by then
            return _Robot(TimedLink(read_key(folder / KEY_FILE), url)).parts()
        finally:
            controller.terminate()
            controller.wait()


class TimedLink(LcmLink):
    """Remembers when states left, and how long their first answers took, if a skill walks."""

    def __init__(self, *how: Any) -> None:
        """Connect."""
        super().__init__(*how)
        self._left: dict[int, float] = {}
        self.answered: dict[int, float] = {}
        """Number of a state, and the time until its command came [s]."""

    def publish(self, channel: str, message: Any) -> bytes:  # generated classes have no types
        """Send a message."""
        if channel == STATE:
            self._left[message.sequence] = time.perf_counter()
        return super().publish(channel, message)

    def subscribe(
        self, channel: str, handler: Callable[[Any, bytes], None], queue: int = 30
    ) -> None:
        """Call `handler` with every genuine message."""

        def timed(message: Any, data: bytes) -> None:
            if channel == COMMAND and message.skill >= 0 and message.state_sequence in self._left:
                self.answered[message.state_sequence] = time.perf_counter() - self._left.pop(
                    message.state_sequence
                )
            handler(message, data)

        super().subscribe(channel, timed, queue)

    def listen_until(self, deadline: float) -> None:
        """Handle messages in the moment in which they come."""
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self._lcm], [], [], left)[0]:
                self.receive()


class _Robot:
    """A mock at 1 kHz on the wall clock that catches up when it was late."""

    def __init__(self, link: TimedLink) -> None:
        """Power up."""
        self._link, self._deadline = link, time.monotonic()
        self._robot = MockSolo(epoch=self._deadline)
        self._process = RobotProcess(self._robot, link, Gate())

    def parts(self) -> list[tuple[float, float]]:
        """Measure with states a fifth of a tick later each time.

        Both keep one clock, and how they meet is luck.
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
