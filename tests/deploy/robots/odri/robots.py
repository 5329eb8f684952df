"""Virtual boards in this process, with connected drivers: lock-step, without permissions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from deploy.common.clock import Clock
from deploy.common.robot_constants import TICK
from deploy.common.sensors import Sensors
from deploy.robots.odri.bring_up.calibration import Calibration
from deploy.robots.odri.drivers import motors
from deploy.robots.odri.drivers.native_board import NativeBoard
from deploy.robots.odri.solo12 import Solo12
from deploy.robots.odri.wire.protocol import MotorCommand, SensorPacket
from deploy.robots.virtual_board.body import Body, BodyConfig
from deploy.robots.virtual_board.master_board import MasterBoard
from deploy.robots.virtual_board.memory_link import LockStep, MemoryLink
from deploy.robots.virtual_board.virtual_robot import CALIBRATION
from solo_doi.solo12.constants import NUM_JOINTS, Array
from solo_doi.solo12.state import JointCommand

SESSION = 77
DAMPING = JointCommand(position=np.zeros(NUM_JOINTS), kp=0.0, kd=0.1)


def joint_command(
    position: Array | float = 0.0, kp: float = 0.0, kd: float = 0.0, *, on: bool = True
) -> MotorCommand:
    """Return the same motor command for all joints, relative to power-up."""
    flags = np.full(NUM_JOINTS, on)
    command = JointCommand(position=np.zeros(NUM_JOINTS) + position, kp=kp, kd=kd)
    return motors.motor_command(
        command, np.zeros(NUM_JOINTS), enabled=flags, compensate_index=~flags & flags
    )


@dataclass
class Session:
    """A board and a native driver that has connected to it."""

    protocol: int = 4
    body: BodyConfig = field(default_factory=BodyConfig)

    def __post_init__(self) -> None:
        """Connect."""
        self.lock_step = LockStep(MasterBoard(Body(self.body), self.protocol))
        self.board = self.lock_step.board
        self.driver = NativeBoard(MemoryLink(self.lock_step), SESSION)
        self.tries = 0
        while not self.driver.connect():
            self.tries += 1
            assert self.tries < 1000
        self.last: SensorPacket | None = None

    def run(self, ticks: int, command: MotorCommand) -> SensorPacket | None:
        """Send a command many times.

        Return the last measurements, or None if the last tick had none.
        """
        packet = None
        for _ in range(ticks):
            self.driver.send(command)
            packet = self.driver.receive(0.0)
        return packet

    def idle(self, ticks: int) -> None:
        """Let time pass on the board while the PC is silent.

        Packets of the board are lost meanwhile.
        """
        for _ in range(ticks):
            self.board.tick()


class Simulated(Clock):
    """Time that passes only during a sleep."""

    def __init__(self) -> None:
        """Begin at zero."""
        self._now = 0

    def now_ns(self) -> int:
        """Return simulated nanoseconds."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self._now += round(seconds * 1e9)


class Waiting(NativeBoard):
    """A driver with the clock of a test.

    A wait without a packet takes exactly its time limit.
    """

    silent = False

    def __init__(self, lock_step: LockStep, clock: Clock) -> None:
        """Take a board."""
        super().__init__(MemoryLink(lock_step), SESSION)
        self._clock = clock

    def receive(self, timeout: float) -> SensorPacket | None:
        """Return the measurements after a tick, or None."""
        packet = None if self.silent else super().receive(0.0)
        self._clock.sleep(timeout if packet is None else TICK)
        return packet


class Run:
    """A whole robot on a board, driven tick by tick; records the measurements."""

    def __init__(
        self,
        protocol: int,
        body: BodyConfig,
        calibration: Calibration = CALIBRATION,
        lock_step: LockStep | None = None,
        session: int = SESSION,
    ) -> None:
        """Power up, or connect to a board that was powered up before."""
        self.lock_step = lock_step or LockStep(MasterBoard(Body(body), protocol))
        self.board = self.lock_step.board
        self.robot = Solo12(
            NativeBoard(MemoryLink(self.lock_step), session), calibration, lock_step=True
        )
        self.positions: list[Array] = []
        self.truths: list[Array] = []
        self.stages: list[str] = []
        self.sensors: Sensors | None = None

    @property
    def truth(self) -> Array:
        """Return the true joint angles."""
        return self.board.body.plant.joint_position

    def tick(self, command: JointCommand = DAMPING) -> Sensors | None:
        """Advance by a millisecond."""
        self.sensors = self.robot.sense()
        if self.sensors is not None:
            self.positions.append(self.sensors.joint_position)
            self.truths.append(self.truth)
        self.robot.drive(command, self.robot.time)
        if not self.stages or self.stages[-1] != self.robot.stage:
            self.stages.append(self.robot.stage)
        return self.sensors

    def bring_up(self, limit: int = 10_000) -> Sensors:
        """Advance until calibrated, or until a fault."""
        for _ in range(limit):
            sensors = self.tick()
            if sensors is not None and (self.robot.is_calibrated or sensors.faults):
                return sensors
        raise AssertionError(f"not calibrated after {limit} ticks: {self.robot.stage}")
