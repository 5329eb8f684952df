"""Robot and controller in one process over a bad wire, in simulated, reproducible time."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from deploy.common.clock import Clock
from deploy.common.deploy_config import ControllerConfig, DeployConfig
from deploy.common.robot_constants import LARGEST_GAINS, STOPPED
from deploy.common.sensors import Sensors
from deploy.common.state_machine import ControllerState
from deploy.controller.controller import Controller
from deploy.controller.loop import Loop
from deploy.launch.deployment_report import find_problems
from deploy.messages.authentication import Authority
from deploy.messages.lcm_link import COMMAND_CHANNEL, LcmLink, Mode, Request, decode
from deploy.messages.operator_request import OperatorRequest
from deploy.operators.operators import Operator
from deploy.robots.process.gate import Gate
from deploy.robots.process.robot_process import RobotProcess
from deploy.robots.robot import Robot
from deploy.robots.simulated.bullet_solo import BulletSolo
from deploy.robots.simulated.mock_solo import MockSolo
from solo_doi.policies.bundle.reader import Bundle
from solo_doi.policies.bundle.shipped import SHIPPED
from solo_doi.solo12.state import JointCommand

from .ledger import Ledger

MS = 1_000_000
KEY, WRONG_KEY = bytes(range(32)), bytes(32)
RUN, EARLIER_RUN = b"this run", b"an earlier run"
Meddle = Callable[[str, bytes], list[tuple[int, bytes]]]
"""Effect of a bad wire on a packet: copies with their delays [ns]."""


class Killed(BaseException):  # not an Exception, so that no handler of the program catches it
    """Raised to end the controller process at once, like SIGKILL."""


class World(Clock):
    """Simulated time; sleeping runs all registered ticks."""

    def __init__(self) -> None:
        """Start at zero."""
        self._now = self._next = 0
        self.tick: Callable[[float], None] | None = None

    def now_ns(self) -> int:
        """Return simulated nanoseconds."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Advance the time and the robot."""
        end = self._now + round(seconds * 1e9)
        while self._next <= end:
            self._now, self._next = self._next, self._next + MS
            if self.tick is not None:
                self.tick(self._now * 1e-9)
        self._now = end


class End:
    """One process's connection, with queues like those of LCM: surplus messages are lost."""

    def __init__(self, wire: Wire) -> None:
        """Join the wire."""
        self._wire = wire
        self._handlers: dict[str, Callable[[str, bytes], None]] = {}
        self._queue: list[tuple[int, int, str, bytes]] = []
        self._capacity = 30

    def subscribe(self, channel: str, handler: Callable[[str, bytes], None]) -> End:
        """Add a handler of a channel."""
        self._handlers[channel] = handler
        return self

    def set_queue_capacity(self, capacity: int) -> None:
        """Limit the queue of a channel."""
        self._capacity = capacity

    def publish(self, channel: str, data: bytes) -> None:
        """Send to all other ends."""
        self._wire.send(self, channel, data)

    def take(self, due: int, order: int, channel: str, data: bytes) -> None:
        """Queue a packet that arrives at a time."""
        if (
            channel in self._handlers
            and sum(item[2] == channel for item in self._queue) < self._capacity
        ):
            heapq.heappush(self._queue, (due, order, channel, data))

    def handle_timeout(self, _: int) -> int:
        """Handle one message that has arrived."""
        if not self._queue or self._queue[0][0] > self._wire.clock.now_ns():
            return 0
        _, _, channel, data = heapq.heappop(self._queue)
        self._handlers[channel](channel, data)
        return 1


class Wire:
    """The wire between two processes; `meddle` makes it unreliable."""

    def __init__(self, clock: Clock) -> None:
        """Start as a good wire."""
        self.clock = clock
        self.ends: list[End] = []
        self.meddle: Meddle = lambda _, data: [(0, data)]
        self._sent = 0

    def send(self, sender: End | None, channel: str, data: bytes) -> None:
        """Deliver a packet with the effects of the wire."""
        for delay, packet in self.meddle(channel, data):
            self.inject(sender, channel, packet, delay)

    def inject(self, sender: End | None, channel: str, data: bytes, delay: int = 0) -> None:
        """Deliver a packet unchanged; a packet without a sender is an attacker's."""
        self._sent += 1
        for end in self.ends:
            if end is not sender:
                end.take(self.clock.now_ns() + delay, self._sent, channel, data)


class WireLink(LcmLink):
    """The real link with this wire instead of UDP."""

    def __init__(self, wire: Wire, key: bytes = KEY) -> None:
        """Join the wire."""
        end = End(wire)
        wire.ends.append(end)
        self._lcm, self._loopback = end, None
        self.authority = self._authority = Authority(key, run=RUN)
        self.malformed = self.forged = self.unsent = 0


class Body:
    """A robot with sensors that can be spoiled, and a record of its motion."""

    paces = False
    largest_gains = LARGEST_GAINS

    def __init__(self, robot: Robot, clock: Clock) -> None:
        """Wrap a robot."""
        self.robot, self._clock = robot, clock
        self.spoil: Callable[[Sensors], Sensors] = lambda sensors: sensors
        self.ledger = Ledger()

    def sense(self) -> Sensors | None:
        """Return the measurement, spoiled."""
        sensors = self.robot.sense()
        assert sensors is not None  # simulations always answer
        self._joints = sensors.joint_position, sensors.joint_torque
        if isinstance(self.robot, BulletSolo):  # its sensors have defects
            self._joints = self.robot.motion.joint_position, self.robot.torque
        return self.spoil(sensors)

    def drive(self, command: JointCommand, observed: float) -> float:
        """Drive the robot, and record the motion."""
        now, powered = self._clock.now_ns() * 1e-9, bool(command.kp > 0.0)
        self.ledger.note(now, *self._joints, powered=powered)
        return self.robot.drive(command, observed)

    @property
    def rejected(self) -> Counter[str]:
        """Return the robot's replaced measurements."""
        return self.robot.rejected

    def stop(self, cause: str = STOPPED) -> None:
        """Stop the robot."""
        self.robot.stop(cause)

    def close(self) -> None:
        """Free the robot."""
        self.robot.close()


class Spoilable:
    """A bundle with outputs that can be spoiled or delayed."""

    def __init__(self, bundle: Bundle) -> None:
        """Wrap a bundle."""
        self._bundle = bundle
        self.spoil: Callable[[np.ndarray], np.ndarray] = lambda targets: targets

    def __getattr__(self, name: str) -> Any:
        """Return other attributes of the bundle."""
        return getattr(self._bundle, name)

    def run_one(self, observation: np.ndarray, skill: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the output, spoiled."""
        action, target = self._bundle.run_one(observation, skill)
        return action, self.spoil(target)


@dataclass
class ListRecorder:
    """The loop's side of a recorder, in memory."""

    events: list[tuple[int, str, bytes]] = field(default_factory=list)
    incidents: list[str] = field(default_factory=list)

    def put(self, channel: str, data: bytes) -> None:
        """Keep a message."""
        self.events.append((len(self.events), channel, data))

    def incident(self, what: str) -> None:
        """Keep a fault."""
        self.incidents.append(what)


class Eager:
    """An operator that stands up, walks at once, and sits down on request."""

    done = False

    def __init__(self, *, sits: bool = False, skill: int = 2) -> None:
        """Walk with a skill without end, or only stand up to sit down again."""
        self._sits, self._skill = sits, skill

    def next_request(self, state: ControllerState, now: float) -> OperatorRequest:
        """Return the next request."""
        if state is ControllerState.IDLE and now > 0.05:
            return OperatorRequest(Request.STAND)
        if state is ControllerState.READY:
            return (
                OperatorRequest(Request.SIT)
                if self._sits
                else OperatorRequest(Request.WALK, self._skill)
            )
        return OperatorRequest(Request.NOTHING)


@cache
def shipped() -> Bundle:
    """Return the shipped skills, loaded once."""
    return Bundle(SHIPPED)


class Rig:
    """A complete dry run without processes and sockets."""

    limit = 20.0
    """End of the run in any case [s]."""

    def __init__(self, inject: Callable[[Rig], None] | None = None, *,
    state: ControllerState = ControllerState.WALK, after: float = 0.2,
                 robot: str = "bullet", watch: float = 0.6, operator: Operator | None = None,
                 recorder: ListRecorder | None = None,
                 distance: float | None = None, skill: int = 2,
                 defects: int | None = 0) -> None:  # fmt: skip
        """Call `inject` once, `after` seconds into a state, and record the consequences.

        `defects` is the seed of the sensors' known defects; None for an ideal robot.
        """
        self.defects = defects
        self._inject, self._at, self._after, self._watch = inject, state, after, watch
        self._place(robot)
        self.wire = Wire(self.clock)
        self.links = WireLink(self.wire), WireLink(self.wire)
        self.process = RobotProcess(self.body, self.links[0], Gate(), clock=self.clock)
        self.bundle = Spoilable(shipped())
        config = ControllerConfig(stand_seconds=0.6, sit_seconds=0.6)  # shortens the tests
        self.controller = Controller(self.bundle, skill, config, distance=distance)  # type: ignore[arg-type]  # one in all that is used
        self.recorder = recorder or ListRecorder()
        self._script, self.stopped, self.killed = operator or Eager(skill=skill), False, False
        self.loop = Loop(self.controller, self.links[1], self, self.recorder, self.clock)  # type: ignore[arg-type]
        self.clock.tick = self.tick
        self.injected: float | None = None
        self._reacted: float | None = None
        self.heights: list[float] = []
        self.landed_at: int | None = None
        self._since, self._state = 0.0, ControllerState.IDLE
        self._faulted: int | None = None

    def _place(self, robot: str) -> None:
        """Connect time and the robot."""
        self.clock: World = World()
        self.body: Any = Body(
            BulletSolo(defects=self.defects) if robot == "bullet" else MockSolo(), self.clock
        )
        self.ledger: Ledger = self.body.ledger

    def tick(self, now: float) -> None:
        """Advance the robot by one millisecond."""
        self.process.tick(now)
        self.watch_reaction(now)

    def watch_reaction(self, now: float) -> None:
        """Record the time of the first fault, and the height of the base until the belly lands."""
        if self.injected is None:
            return
        if self._reacted is None and (self.controller.fault or self.process.gate.fault):
            self._reacted = now
        if self.landed_at is None and self.simulated is not None:
            self.heights.append(float(self.simulated.motion.base_position_w[2]))
            if self.simulated.belly_on_ground():
                self.landed_at = len(self.heights)

    @property
    def simulated(self) -> Any:
        """Simulated robot with physics; None if it has none."""
        return self.body.robot if isinstance(self.body.robot, BulletSolo) else None

    @property
    def reacted_after(self) -> float | None:
        """Time from the fault until controller or robot process had latched it [s]."""
        if self._reacted is None or self.injected is None:
            return None
        return round(self._reacted - self.injected, 9)

    @property
    def landing_speed(self) -> float:
        """Mean speed of the base towards the ground in the 5 ms before the belly lands [m/s]."""
        assert self.landed_at is not None
        return (self.heights[-6] - self.heights[-1]) / 0.005

    @property
    def done(self) -> bool:
        """True if the script has ended."""
        return self._script.done

    def next_request(self, state: ControllerState, now: float) -> OperatorRequest | None:
        """Return the operator's request; inject the fault at its time."""
        if state is not self._state:
            self._state, self._since = state, now
        if (
            self._inject
            and self.injected is None
            and state is self._at
            and now - self._since >= self._after
        ):
            self.injected = self.clock.now_ns() * 1e-9
            self._inject(self)
        return self._script.next_request(state, now)

    def run(self, *, readonly: bool = False, afterwards: float = 0.1) -> Rig:
        """Run to the end, and leave the robot alone for a moment."""
        try:
            self.loop.run(self._over, readonly=readonly)
            self.process.stop()  # as the supervisor does
        except Killed:
            self.killed = True
        self.clock.sleep(afterwards)
        self.body.close()
        return self

    def _over(self) -> bool:
        """Return True if the run is over: the operator ended it, or a fault is long past."""
        now = self.clock.now_ns()
        ended = self.controller.state is ControllerState.FAULT and not self.process.gate.powered
        if ended and self._faulted is None:
            self._faulted = now
        ends = [self.limit]
        ends += [] if self._faulted is None else [self._faulted * 1e-9 + 0.1]
        ends += [] if self.injected is None else [self.injected + self._watch]
        return self.stopped or now * 1e-9 > min(ends)

    @property
    def problems(self) -> list[str]:
        """Return the problems that the report would list; empty means exit code 0."""
        report = {} if self.killed else asdict(self.loop.report)
        fault = self.process.gate.fault
        robot = {"fault": None if fault is None else str(fault)}
        return find_problems(report, robot, None, DeployConfig(), 1.0)

    @property
    def damped_after(self) -> float | None:
        """Time from the fault to lasting damping [s]; None if motors were never damped after it."""
        assert self.injected is not None
        when, powered = self.ledger.powered[-1]
        return None if powered else round(when - self.injected, 9)  # clocks count nanoseconds

    @property
    def damp_told_after(self) -> float | None:
        """Time from the fault to the controller's first command to damp [s]."""
        for _, channel, data in self.recorder.events:
            message = decode(channel, data) if channel == COMMAND_CHANNEL else None
            if (
                message is not None
                and message.mode == Mode.DAMP
                and message.time_ns * 1e-9 >= (self.injected or 0.0)
            ):
                return message.time_ns * 1e-9 - (self.injected or 0.0)
        return None


def spoiled(**changes: Callable[[Sensors], Any]) -> Callable[[Sensors], Sensors]:
    """Return a function that spoils single fields of sensors."""
    return lambda sensors: replace(
        sensors, **{name: change(sensors) for name, change in changes.items()}
    )
