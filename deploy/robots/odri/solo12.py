"""The real Solo12: a master board, its calibration and its bring-up as one `Robot`."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import cos, sin

import numpy as np

from deploy.robots.robot import TICK, Sensors
from solo_doi.solo12.constants import JOINT_NAMES, NUM_JOINTS, Array
from solo_doi.solo12.state import JointCommand

from . import motors
from .board import Board, BoardError, check_drivers
from .bring_up import BringUp, Stage
from .calibration import Calibration
from .protocol import SensorPacket, error_text

CONNECT_LIMIT = 2500
"""Ticks to wait for a board's acknowledgement, as long as the vendor's library does."""
SENSOR_WAIT = 2 * TICK
"""How long `sense` waits for the board's tick before the caller's clock takes over [s]."""
LAST_COMMANDS = 5
"""Damping commands that `close` sends."""
CLOSING_DAMPING = 0.2
"""[N m s/rad]"""


class Solo12:
    """Sensors and motors of the robot.

    After construction, which is a person's act, each `sense` and `drive` advances bring-up by a tick; until it is
    done `drive` sends what bring-up wants, whatever it is told. Nothing here ever begins a second session.
    """

    name = "solo12"
    paces = True

    def __init__(
        self,
        board: Board,
        calibration: Calibration,
        clock: Callable[[], float] = time.monotonic,
        sensor_wait: float = SENSOR_WAIT,
    ) -> None:
        """Take a board that is not connected yet; `clock` stamps measurements [s].

        A board in lock-step has its own time: wait long for it.
        """
        self._board, self._calibration, self._clock, self._wait = board, calibration, clock, sensor_wait
        self._bring_up: BringUp | None = None
        self._packet: SensorPacket | None = None
        self._asked = 0
        self._commanded = False  # before its first command the board measures, but does not tell

    @property
    def stage(self) -> str:
        """What the robot is doing, for people."""
        return "waiting for the master board" if self._bring_up is None else self._bring_up.stage.value

    @property
    def is_calibrated(self) -> bool:
        """Whether joints follow `drive`."""
        return self._bring_up is not None and self._bring_up.is_done

    def sense(self) -> Sensors | None:
        """Return what was measured in this tick; nothing if no news came in time.

        Raises:
            RobotError: No board answers, a driver is missing, or bring-up failed (the motors are damped by then).
        """
        if self._bring_up is None:
            self._connect()
            return None
        self._packet = self._board.receive(self._wait if self._commanded else 0.0)
        return None if self._packet is None else self._sensors(self._packet, self._bring_up)

    def drive(self, command: JointCommand) -> None:
        """Send what the motors shall do until the next call."""
        bring_up = self._bring_up
        if bring_up is None:
            return
        self._commanded = True
        own = bring_up.step(self._packet)
        if not bring_up.is_done:
            self._board.send(own)
            return
        motors.check_gains(command, self._board.protocol)
        everything = np.ones(NUM_JOINTS, dtype=bool)
        self._board.send(
            motors.motor_command(command, bring_up.offset, enabled=everything, compensate_index=everything)
        )

    def close(self) -> None:
        """Damp the motors and stop talking: the board switches them off 20 ms later."""
        if self.is_calibrated:
            for _ in range(LAST_COMMANDS):
                self.drive(JointCommand(position=np.zeros(NUM_JOINTS), kp=0.0, kd=CLOSING_DAMPING))
        self._board.close()

    def _connect(self) -> None:
        self._asked += 1
        if self._board.connect():
            check_drivers(self._board.drivers)
            self._calibration.check_board(self._board.address)
            self._bring_up = BringUp(self._calibration)
        elif self._asked > CONNECT_LIMIT:
            raise BoardError(
                f"No master board answered {CONNECT_LIMIT} requests in protocols 4 and 3: is it powered, is this its "
                "cable, and does no other program hold a session with it?"
            )

    def _sensors(self, packet: SensorPacket, bring_up: BringUp) -> Sensors:
        unread = packet.error[motors.MOTOR_OF_JOINT // 2] != 0
        ready = packet.ready[motors.MOTOR_OF_JOINT] & ~unread
        return Sensors(
            time=self._clock(),
            joint_position=motors.joint_position(packet, bring_up.offset),
            joint_velocity=motors.joint_velocity(packet),
            joint_torque=motors.joint_torque(packet),
            angular_velocity_b=packet.imu.gyroscope,
            acceleration_b=packet.imu.acceleration,
            quaternion=quaternion(*packet.imu.attitude.tolist()),
            ready=ready & bring_up.is_done,
            voltage=packet.power.voltage,
            command_lag=self._board.command_lag,
            faults=(*self._driver_faults(packet), *((bring_up.cause,) if bring_up.stage is Stage.FAILED else ())),
        )

    def _driver_faults(self, packet: SensorPacket) -> tuple[str, ...]:
        return tuple(
            f"driver {driver} ({_joints_of(driver)}): {error_text(int(code))}"
            for driver, code in enumerate(packet.error)
            if code
        )


def _joints_of(driver: int) -> str:
    return ", ".join(name for name in JOINT_NAMES if motors.MOTORS[name][0] // 2 == driver)


def quaternion(roll: float, pitch: float, yaw: float) -> Array:
    """`rotations.from_rpy` of one robot, written out: 20 times faster, and it runs every millisecond."""
    cr, sr, cp, sp, cy, sy = (f(angle / 2) for angle in (roll, pitch, yaw) for f in (cos, sin))
    return np.array(
        [
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        ]
    )
