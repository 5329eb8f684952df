"""A robot process for tests, without physics, clock and socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deploy.common.poses import LYING
from deploy.messages.lcm_link import COMMAND_CHANNEL, OPERATOR_CHANNEL, STATE_CHANNEL, Mode, blank
from deploy.robots.process.gate import Gate
from deploy.robots.process.robot_process import (
    RobotProcess,
)
from deploy.robots.simulated.mock_solo import MockSolo
from tests.deploy.world import MS, World


class FakeLink:
    """Delivers the messages of a test, and keeps those of the robot."""

    malformed = forged = unsent = 0

    def __init__(self) -> None:
        """Start without messages."""
        self.handlers: dict[str, Callable[[Any, bytes], None]] = {}
        self.states: list[Any] = []
        self.looks: list[float] = []
        self.answer: Callable[[], list[Any]] = list

    def subscribe(
        self, channel: str, handler: Callable[[Any, bytes], None], queue: int = 30
    ) -> None:
        """Keep a handler."""
        self.handlers[channel] = handler

    def publish(self, channel: str, message: object) -> bytes:
        """Keep a state."""
        assert channel == STATE_CHANNEL
        self.states.append(message)
        return b""

    def receive(self, timeout: float = 0.0) -> int:
        """Deliver the test's messages."""
        self.looks.append(timeout)
        messages = self.answer()
        for message in messages:
            self.handlers[COMMAND_CHANNEL](message, b"")
        return len(messages)


class Bench:
    """A robot process without physics, a clock and a socket."""

    def __init__(
        self,
        *,
        lockstep: bool = False,
        separate_operator: bool = False,
        until: Callable[[], bool] = lambda: False,
    ) -> None:
        """Start at one second."""
        self.link, self.clock, self.gate = FakeLink(), World(), Gate()
        self.clock.sleep(1.0)
        self.process = RobotProcess(
            MockSolo(epoch=1.0), self.link, self.gate, lockstep=lockstep,
            separate_operator=separate_operator, until=until,  # type: ignore[arg-type]
            clock=self.clock,
        )  # fmt: skip
        self.sequence = 0

    def tick(self, count: int = 1) -> None:
        """Advance the time."""
        for _ in range(count):
            self.process.tick(self.clock.now_ns() * 1e-9)
            self.clock.sleep(0.001)

    def command(self, mode: Mode = Mode.MOVE, **changes: object) -> Any:  # generated classes
        """Return a valid command, with changes."""
        self.sequence += 1
        command, now = blank(COMMAND_CHANNEL), self.clock.now_ns()
        command.sequence, command.session, command.mode, command.skill = self.sequence, 11, mode, -1
        command.robot_session = self.process.session
        command.state_sequence = self.link.states[-1].sequence if self.link.states else 0
        command.observed_ns, command.expires_ns, command.heartbeat_ns = now, now + 20 * MS, now
        command.position, command.kp, command.kd = LYING.tolist(), 3.0, 0.2
        for name, value in changes.items():
            setattr(command, name, value)
        return command

    def send(self, *commands: Any) -> None:
        """Deliver commands within the next tick."""
        queue = [*commands]
        self.link.answer = lambda: [queue.pop(0)] if queue else []
        self.tick()
        while queue:
            self.link.receive()

    def operator(self, request: int, *, age_ms: int = 1, lasts_ms: int = 100) -> None:
        """Deliver an operator's message."""
        message, now = blank(OPERATOR_CHANNEL), self.clock.now_ns()
        message.request, message.time_ns, message.expires_ns = (
            request,
            now - age_ms * MS,
            now + lasts_ms * MS,
        )
        self.link.handlers[OPERATOR_CHANNEL](message, b"")
