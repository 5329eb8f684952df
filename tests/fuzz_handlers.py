"""Well-formed messages with any content, signed with the right key.

Every receiver must handle them.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from deploy.console.console import Console
from deploy.messages.lcm_link import (
    CHANNELS,
    COMMAND_CHANNEL,
    OPERATOR_CHANNEL,
    STATE_CHANNEL,
    STATUS_CHANNEL,
    WALK_END_CHANNEL,
    Message,
    blank,
    decode,
)
from deploy.operators.operators import Remote
from deploy.robots.process.gate import Gate
from deploy.robots.process.robot_process import RobotProcess
from deploy.robots.simulated.mock_solo import MockSolo
from solo_doi.solo12.limits import SAFETY_LIMITS

from .deploy.stage import MS, Stage
from .spoiling import mutated

NUMBERS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    1e-300,
    1e300,
    -1e300,
    5.0,
    float("nan"),
    float("inf"),
    float("-inf"),
)


class Ears:
    """A link that passes messages to its subscribers."""

    malformed = forged = unsent = 0

    def __init__(self) -> None:
        """Start without subscribers."""
        self._handlers: list[tuple[str, Callable[[Message, bytes], None]]] = []

    def subscribe(
        self, channel: str, handler: Callable[[Message, bytes], None], queue: int = 30
    ) -> None:
        """Add a subscriber."""
        self._handlers.append((channel, handler))

    def publish(self, channel: str, message: Message) -> bytes:
        """Discard the message."""
        return b""

    def receive(self, timeout: float = 0.0) -> int:
        """Return 0, because no messages are queued."""
        return 0

    def say(self, channel: str, message: Message) -> None:
        """Pass a message to the subscribers."""
        for wanted, handler in self._handlers:
            if wanted == channel:
                handler(message, message.encode())


class Clock:
    """A clock that stays at a given time."""

    now = 0

    def now_ns(self) -> int:
        """Return the time [ns]."""
        return self.now


def handlers_hold(count: int, seed: int) -> int:
    """Feed any messages to controller, robot, operator and console.

    Returns the number of ticks that ended safely.
    """
    rng, good, clock, ears, screen = random.Random(seed), 0, Clock(), Ears(), Ears()
    remote = Remote(ears, clock)  # type: ignore[arg-type]  # it is all that is used of a link and a clock
    robot = RobotProcess(MockSolo(), ears, Gate(), clock=clock)  # type: ignore[arg-type]
    stage = Stage()
    channels = (STATE_CHANNEL, COMMAND_CHANNEL, OPERATOR_CHANNEL, STATUS_CHANNEL, WALK_END_CHANNEL)
    for number in range(count):
        if number % 500 == 0:
            stage, robot.gate = Stage(), Gate()
            stage.walking()
            screen = Ears()  # time starts again, and the old console would ignore earlier messages
            Console(screen, lambda text: None, clock)  # type: ignore[arg-type]
        channel = channels[number % len(channels)]
        message = _anything(channel, rng, stage, robot)
        clock.now = stage.now_ns
        ears.say(channel, message)
        screen.say(channel, message)
        if channel == STATE_CHANNEL:
            stage.controller.on_robot_state(message)
        one = remote.next_request(stage.state, 0.0)
        if one is not None:
            stage.controller.on_operator_request(one.request, stage.now_ns, one.skill, one.velocity)
        command, driven = stage.tick(), robot.gate.decide(robot.robot.sense(), stage.now_ns * 1e-9)
        good += _safe(command) and _safe(driven)
    return good


def _safe(command: Any) -> bool:  # a message, or the command to the motors
    position = np.array(command.position)
    bounded = command.kp == 0.0 or bool((np.abs(position) <= SAFETY_LIMITS.position).all())
    return (
        bool(np.isfinite(position).all())
        and bounded
        and 0.0 <= command.kp <= 10.0
        and 0.0 <= command.kd <= 0.6
    )


def _anything(channel: str, rng: random.Random, stage: Stage, robot: RobotProcess) -> Message:
    """Return a message with random fields, or with fields valid enough to be accepted."""
    if rng.random() < 0.3:
        data = blank(channel).encode()
        spoilt = decode(
            channel, data[:8] + mutated(data[8:], rng).ljust(len(data), b"\0")[: len(data) - 8]
        )
        assert spoilt is not None
        return spoilt
    message = stage.message() if channel == STATE_CHANNEL else blank(channel)
    for name, kind, dimensions in zip(
        message.__slots__,
        CHANNELS[channel].__typenames__,
        CHANNELS[channel].__dimensions__,
        strict=True,
    ):
        if kind == "double" and rng.random() < 0.2:
            number = rng.choice((*NUMBERS, struct.unpack(">d", rng.randbytes(8))[0]))
            setattr(message, name, [number] * dimensions[0] if dimensions else number)
        elif kind in ("int8_t", "int16_t") and rng.random() < 0.5:
            setattr(message, name, rng.randrange(-128, 128))
    message.sequence = rng.choice((message.sequence, 2**62, rng.randrange(2**63)))
    message.time_ns = rng.choice((stage.now_ns, stage.now_ns - MS, rng.randrange(2**63)))
    message.session = rng.choice((stage.session, message.session, rng.randrange(2**63)))
    if channel == COMMAND_CHANNEL:
        message.robot_session = rng.choice((robot.session, 0))
    if channel in (COMMAND_CHANNEL, OPERATOR_CHANNEL):
        message.expires_ns = rng.choice((stage.now_ns + 20 * MS, rng.randrange(2**63)))
    return message
