"""A robot and its controller in one process, tick by tick, without LCM and waiting."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from deploy.common.deploy_config import ControllerConfig
from deploy.common.poses import LYING
from deploy.common.robot_constants import TICK
from deploy.common.sensors import Sensors
from deploy.common.state_machine import ControllerState
from deploy.controller.controller import Controller
from deploy.messages.conversions import state_message
from deploy.messages.lcm_link import COMMAND_CHANNEL, STATE_CHANNEL, Message, Request
from deploy.robots.process.gate import Gate
from deploy.robots.process.robot_process import RobotProcess
from deploy.robots.robot import Robot
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.shipped import SHIPPED
from solo_doi.solo12.constants import GRAVITY, NUM_JOINTS, Array
from solo_doi.solo12.rotations import IDENTITY

MS = 1_000_000
"""Nanoseconds in a tick."""
QUICK = ControllerConfig(power_seconds=0.1, stand_seconds=0.2, sit_seconds=0.2)
"""A controller that stands up quickly, to shorten tests."""


@cache
def shipped() -> Bundle:
    """Return the five skills of the package; loaded once."""
    return Bundle(SHIPPED)


def sensors(time: float = 1.0, **changes: Any) -> Sensors:  # any field
    """Return sensors of a level robot at rest, with changes; values differ between times."""
    wobble = 1e-4 * np.sin(
        1e4 * time + np.arange(NUM_JOINTS)
    )  # real sensors never repeat a value exactly
    values: dict[str, Any] = {
        "joint_position": LYING.copy(), "joint_velocity": wobble,
        "joint_torque": np.zeros(NUM_JOINTS),
        "angular_velocity_b": wobble[:3], "acceleration_b": np.array([0.0, 0.0,
        GRAVITY]) + wobble[3:6],
        "quaternion": IDENTITY.copy(), "ready": np.ones(NUM_JOINTS, dtype=bool),
    }  # fmt: skip
    return Sensors(time=time, **(values | changes))


def with_joint(values: Array, joint: int, value: float) -> Array:
    """Return the values with one joint changed."""
    changed = np.array(values, dtype=np.float64)
    changed[joint] = value
    return changed


class Stage:
    """Feeds a controller with states of a robot in any pose."""

    def __init__(
        self,
        bundle: Bundle | None = None,
        *,
        skill: int = 0,
        config: ControllerConfig | None = None,
        distance: float | None = None,
    ) -> None:
        """Start with a lying robot, at a time that is not zero."""
        self.controller = Controller(bundle or shipped(), skill, config or QUICK, distance=distance)
        self.sequence, self.session, self.now_ns = 0, 7, 1000 * MS
        self.position: Array = LYING.copy()
        self.fault = self.delay_ns = 0
        self.commands: list[Any] = []

    @property
    def state(self) -> ControllerState:
        """State of the controller."""
        return self.controller.state

    def message(self, **changes: Any) -> Message:  # any field
        """Return the next state message, with other measurements."""
        self.sequence += 1
        message = state_message(
            sensors(self.now_ns * 1e-9, **({"joint_position": self.position} | changes))
        )
        message.time_ns = self.now_ns
        message.sequence, message.session = self.sequence, self.session
        message.fault, message.delay_ns = self.fault, self.delay_ns
        return message

    def tick(self, request: Request | None = Request.NOTHING, *, skill: int = -1,
    velocity: Array | None = None,
             heard: bool = True, follow: bool = True, **changes: Any) -> Any:  # fmt: skip
        """Run a tick; `request` None means silence, `follow` moves joints to their targets."""
        self.now_ns += MS
        if heard:
            self.controller.on_robot_state(self.message(**changes))
        if request is not None:
            self.controller.on_operator_request(request, self.now_ns, skill, velocity)
        command = self.controller.tick(self.now_ns)
        if follow and command.kp > 0.0:
            self.position = self.position + 0.2 * (np.array(command.position) - self.position)
        self.commands.append(command)
        return command

    def run(self, ticks: int) -> None:
        """Run ticks without a request."""
        for _ in range(ticks):
            self.tick()

    def until(
        self, state: ControllerState, request: Request = Request.NOTHING, *, most: int = 5000
    ) -> None:
        """Send a request once and run ticks until the controller is in a state."""
        self.tick(request)
        for _ in range(most):
            if self.state is state:
                return
            self.tick()
        raise AssertionError(
            f"{self.state.name} and {self.controller.fault} after {most} ticks, not {state.name}"
        )

    def ready(self) -> None:
        """Stand up."""
        self.tick()
        self.until(ControllerState.READY, Request.STAND)

    def walking(self) -> None:
        """Stand up and walk."""
        self.ready()
        self.until(ControllerState.WALK, Request.WALK)


class Counting:
    """A bundle that counts its inferences."""

    def __init__(self, bundle: Bundle) -> None:
        """Wrap another bundle."""
        self._bundle = bundle
        self.observations: list[np.ndarray] = []

    def __getattr__(self, name: str) -> Any:  # any attribute of a bundle
        """Return the attribute of the wrapped bundle."""
        return getattr(self._bundle, name)

    def run_one(self, observation: np.ndarray, skill: int) -> tuple[np.ndarray, np.ndarray]:
        """Record the observation and run the wrapped bundle."""
        self.observations.append(observation)
        return self._bundle.run_one(observation, skill)


class Wire:
    """A link without LCM: published messages arrive at once."""

    malformed = 0

    def __init__(self) -> None:
        """Start without handlers."""
        self._handlers: dict[str, list[Callable[[Message, bytes], None]]] = {}

    def subscribe(
        self, channel: str, handler: Callable[[Message, bytes], None], queue: int = 30
    ) -> None:
        """Add a handler."""
        self._handlers.setdefault(channel, []).append(handler)

    def publish(self, channel: str, message: Message) -> bytes:
        """Deliver a message to all handlers."""
        for handler in self._handlers.get(channel, []):
            handler(message, b"")
        return b""

    def receive(self, timeout: float = 0.0) -> int:
        """Return 0, because no messages are queued."""
        return 0


class Rig:
    """A robot process in lock-step with a controller that follows a plan of requests by tick."""

    def __init__(
        self,
        robot: Robot,
        controller: Controller,
        plan: dict[int, tuple[Request, int]] | None = None,
    ) -> None:
        """Connect both; `plan` maps ticks to requests and skills."""
        self.robot, self.controller, self.plan = robot, controller, plan or {}
        self._wire = Wire()
        self._wire.subscribe(STATE_CHANNEL, self._answer)
        self.process = RobotProcess(robot, self._wire, Gate(), lockstep=True)  # type: ignore[arg-type]
        self.ticks = 0
        self.states: list[tuple[int, ControllerState]] = []
        self.delay_ns: list[int] = []
        self.before_tick: Callable[[], None] | None = None

    def _answer(self, message: Message, data: bytes) -> None:
        controller = self.controller
        controller.on_robot_state(message)
        if self.before_tick is not None:
            self.before_tick()
        request, skill = self.plan.get(self.ticks, (Request.NOTHING, -1))
        controller.on_operator_request(request, message.time_ns, skill)
        self.delay_ns.append(message.delay_ns)
        self._wire.publish(COMMAND_CHANNEL, controller.tick(message.time_ns))
        if not self.states or self.states[-1][1] is not controller.state:
            self.states.append((self.ticks, controller.state))

    def tick(self) -> None:
        """Advance by a tick."""
        self.process.tick(self.ticks * TICK)
        self.ticks += 1
