"""The rig of `world` with the real driver and a virtual master board, in simulated time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from math import inf
from typing import Any

import numpy as np

from deploy.common.clock import Clock
from deploy.common.faults import Cause
from deploy.common.robot_constants import TICK, damping_command
from deploy.common.state_machine import ControllerState
from deploy.messages.lcm_link import OPERATOR_CHANNEL, Request
from deploy.messages.operator_request import OperatorRequest, operator_message
from deploy.robots.odri.bring_up.bring_up_stage import Stage
from deploy.robots.odri.drivers.native_board import NativeBoard
from deploy.robots.odri.solo12 import Solo12
from deploy.robots.odri.wire.ethernet import Frame
from deploy.robots.odri.wire.protocol import CommandPacket
from deploy.robots.virtual_board.body import Body, BodyConfig
from deploy.robots.virtual_board.master_board import MasterBoard
from deploy.robots.virtual_board.memory_link import BOARD_MAC, LockStep
from deploy.robots.virtual_board.plant import Plant
from deploy.robots.virtual_board.virtual_robot import CALIBRATION
from solo_doi.solo12.constants import NUM_JOINTS
from solo_doi.solo12.limits import TORQUE_PER_AMPERE, TRAINING_LIMITS
from solo_doi.solo12.state import Motion

from .fault_rows import named
from .ledger import Ledger
from .world import MS, Rig, World

SESSION = 77
AGAIN = 1.0
"""Time for a re-armed robot to come to rest and stand up [s]."""
LYING = "lying"
MOMENT = 20 * MS
STAGES = [stage for stage in Stage if stage not in (Stage.DONE, Stage.FAILED)]
SATURATION_STEP = 0.125
"""Resolution of the saturation current in packets [A]."""
SOFT_STOP = 0.2
"""Overshoot of a leg into its stop in MuJoCo, when the robot falls with motors off [rad]."""
START = np.random.default_rng(3).uniform(-0.2, 0.2, NUM_JOINTS)


class WatchedBody(Body):
    """Record the drivers' true state in a ledger, independent of the PC."""

    def __init__(self, config: BodyConfig, clock: Clock) -> None:
        """Power up."""
        super().__init__(config)
        self._clock = clock
        self._last: CommandPacket | None = None
        self.ledger = Ledger(
            TRAINING_LIMITS.torque + SATURATION_STEP * TORQUE_PER_AMPERE, SOFT_STOP
        )

    def tick(self, command: CommandPacket | None) -> None:
        """Advance, and record whether a motor holds a position."""
        super().tick(command)
        self._last = command or self._last
        drivers = self.drivers.reading()
        holds = self._last is not None and bool(
            (drivers["enabled"] & (self._last.motors.kp > 0)).any()
        )
        torque = (drivers["current"] - self.drivers.current_offset) * TORQUE_PER_AMPERE
        self.ledger.note(
            self._clock.now_ns() * 1e-9, self.plant.joint_position, torque, powered=holds
        )


class Cable:
    """A `BoardLink` between a PC and a board with its own clock, like a real cable."""

    malformed = 0

    def __init__(self, lock_step: LockStep) -> None:
        """Connect; `lock_step` has the board and a cable that may be bad."""
        self.lock_step = lock_step
        self._arrived: deque[bytes] = deque()

    def tick(self) -> None:
        """Advance the board by one millisecond."""
        self._carry(self.lock_step.board.tick())

    def send(self, payload: bytes) -> None:
        """Send a payload to the board."""
        for arrived in self.lock_step.to_board.pass_on(payload):
            self._carry(self.lock_step.board.receive(arrived))

    def receive(self, timeout: float) -> Frame | None:  # simulated time does not pass during a wait
        """Return the oldest frame that arrived, or None, at once."""
        return Frame(BOARD_MAC, self._arrived.popleft()) if self._arrived else None

    def close(self) -> None:
        """Disconnect."""

    def _carry(self, payload: bytes | None) -> None:
        if payload is not None:
            self._arrived.extend(self.lock_step.to_pc.pass_on(payload))


@cache
def brought_up(protocol: int, defects: int | None = 0) -> dict[str, tuple[World, Cable, Solo12]]:
    """Return a robot in every stage of bring-up, and a calibrated one; callers must copy them."""
    clock, found = World(), {}
    body = WatchedBody(BodyConfig(start_pose=START, lower_after=0.1, defects=defects), clock)
    cable = Cable(LockStep(MasterBoard(body, protocol)))
    robot = Solo12(NativeBoard(cable, SESSION), CALIBRATION, clock=clock)
    clock.tick = lambda _: cable.tick()
    stage, entered = "", 0
    while not (robot.is_calibrated and body.plant.crane.released):
        assert clock.now_ns() < 20e9, robot.stage
        if robot.stage != stage:
            stage, entered = robot.stage, clock.now_ns()
        if stage not in found and clock.now_ns() > entered + MOMENT:
            found[stage] = deepcopy((clock, cable, robot))
        robot.sense()
        robot.drive(damping_command(), robot.time)
        clock.sleep(TICK)
    return found | {LYING: (clock, cable, robot)}


class BoardMotion:
    """True motion of a plant, as `BulletSolo` gives it."""

    def __init__(self, plant: Plant) -> None:
        """Read a plant."""
        self._plant = plant

    @property
    def motion(self) -> Motion:
        """True motion."""
        return self._plant.motion()

    def belly_on_ground(self) -> bool:
        """Return True if a part other than the feet touches the ground."""
        return self._plant.belly_on_ground()


class BoardRig(Rig):
    """A complete real robot except for hardware, processes and sockets."""

    def __init__(
        self, inject: Callable[[Any], None] | None = None, *, protocol: int = 4, **options: Any
    ) -> None:
        """Call `inject` once, some time into a state; further options as in `Rig`."""
        self._protocol = protocol
        self.alive, self._stalled_until = True, 0.0
        self._plans: list[tuple[float, Callable[[], None]]] = []
        self._rearmed: float | None = None
        self._found: set[Cause] | None = None
        super().__init__(inject, **options)

    def _place(self, robot: str) -> None:
        self.clock, self.cable, self.body = deepcopy(
            brought_up(self._protocol, self.defects)[LYING]
        )
        self.lock_step, self.board = self.cable.lock_step, self.cable.lock_step.board
        watched = self.board.body
        assert isinstance(watched, WatchedBody)
        self.ledger = watched.ledger

    def tick(self, now: float) -> None:
        """Advance the board by one millisecond, and the robot process if it runs."""
        for due, act in [plan for plan in self._plans if plan[0] <= now]:
            self._plans.remove((due, act))
            act()
        self.cable.tick()
        if self.alive and now >= self._stalled_until:
            self.process.tick(now)
        self.watch_reaction(now)

    @property
    def simulated(self) -> Any:
        """Simulated robot behind the board."""
        return BoardMotion(self.board.body.plant)

    @property
    def causes(self) -> set[Cause]:
        """Causes that controller and robot reported before re-arming."""
        return named(self) if self._found is None else self._found

    @property
    def damped_after(self) -> float | None:
        """Time from the fault until no driver held a position; None if never [s]."""
        assert self.injected is not None
        when, powered = [
            change for change in self.ledger.powered if change[0] < (self._rearmed or inf)
        ][-1]
        return None if powered else round(when - self.injected, 9)  # clocks count nanoseconds

    @property
    def moves_again(self) -> bool:
        """True if a driver held a position after re-arming and a request to stand up."""
        assert self._rearmed is not None
        return any(powered for when, powered in self.ledger.powered if when >= self._rearmed)

    @property
    def switched_off(self) -> bool:
        """True if motors are off, not damped: board or drivers switched them off."""
        return not self.board.body.drivers.any_enabled

    def _over(self) -> bool:
        """True if the run is over; a robot with a fault is re-armed first."""
        now = self.clock.now_ns() * 1e-9
        if self._rearmed is not None:
            return self.moves_again or now > self._rearmed + AGAIN
        if not super()._over():
            return False
        if self.controller.state is not ControllerState.FAULT:
            return True
        self._rearmed, self._found = now, named(self)
        message = operator_message(OperatorRequest(Request.REARM), 1, self.clock.now_ns())
        self.wire.inject(None, OPERATOR_CHANNEL, self.links[1].authority.sign(message.encode()))
        self.controller.on_operator_request(Request.REARM, self.clock.now_ns())
        return False

    def later(self, seconds: float, act: Callable[[], None]) -> None:
        """Call a function at a later time."""
        self._plans.append((self.clock.now_ns() * 1e-9 + seconds, act))

    def stall(self, seconds: float) -> None:
        """Stall the robot process for a while."""
        self._stalled_until = self.clock.now_ns() * 1e-9 + seconds
