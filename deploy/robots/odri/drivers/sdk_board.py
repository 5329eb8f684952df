"""The vendor's own library for the board (wheel `master-board`, protocol 3), through calls that return at once.

Guards against what it does by itself, each seen in a run: it replaces Ctrl-C by an exit without damping; it crashes
on interfaces it does not know; it floods the screen without CAP_NET_RAW; it waits in silence for a board of another
protocol; it sends NaN as an extreme position, and clamps gains; it goes on when the board has switched the motors
off (see `command_lag`, and the ready bits); it shows rubbish before the first packet.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from deploy.robots.odri.wire import codec
from deploy.robots.odri.wire.ethernet import mac_text
from deploy.robots.odri.wire.ethernet_link import EthernetLink
from deploy.robots.odri.wire.protocol import (
    DRIVER_TIMEOUT_MS,
    NUM_DRIVERS,
    NUM_MOTORS,
    ImuReading,
    Malformed,
    MotorCommand,
    Power,
    SensorPacket,
)
from solo_doi.common.errors import MissingPackageError

from .board import WORD, BoardError, lag

POLL = 50e-6
"""How often a new packet is looked for [s]; the library receives in a thread of its own."""
LATE, PATIENCE = 0.02, 2.0
"""Silence after which the library would soon close the connection, and how long a repetition is waited for [s]."""
_SETTERS = {
    "position": "SetPositionReference",
    "velocity": "SetVelocityReference",
    "current": "SetCurrentReference",
    "kp": "SetKp",
    "kd": "SetKd",
    "saturation": "SetSaturationCurrent",
}


class SdkBoard:
    """A session through the vendor's library. One per process: it cannot be closed completely."""

    driver = "sdk"
    rejected = None
    """The library drops such frames without a word."""

    def __init__(self, interface: str, *, lock_step: bool = False) -> None:
        """Open an interface; a board in lock-step repeats its measurements while it waits.

        Raises:
            RobotError: As `EthernetLink`, which is opened first to listen: it checks name and rights.
        """
        self._ear = EthernetLink(interface)
        try:
            import libmaster_board_sdk_pywrap as vendor
        except ImportError as error:
            self._ear.close()
            remedy = "Make an environment that has it: solo-deploy install-robot"
            raise MissingPackageError("master-board", "The driver 'sdk'", remedy) from error
        self._interface = vendor.MasterBoardInterface(interface)
        handler = signal.getsignal(signal.SIGINT)
        self._interface.Init()
        signal.signal(
            signal.SIGINT, handler
        )  # the library has put its own there, which exits without damping
        self.protocol, self.drivers, self.address = int(self._interface.GetProtocolVersion()), 0, ""
        self._motors = [self._interface.GetMotor(motor) for motor in range(NUM_MOTORS)]
        self._drivers = [self._interface.GetDriver(driver) for driver in range(NUM_DRIVERS)]
        for driver in self._drivers:
            driver.EnablePositionRolloverError()
            driver.SetTimeout(DRIVER_TIMEOUT_MS)
            driver.Enable()
        self._seen = 0
        self._lock_step, self._heard = (
            lock_step,
            math.inf,
        )  # the library's clock begins with the first command

    def connect(self) -> bool:
        """Ask for a session once, and return whether the board has acknowledged it. Call once per tick."""
        if self.drivers:
            return True
        board = self._interface
        if not board.IsAckMsgReceived():
            board.SendInit()
        self._listen()
        if board.IsTimeout():
            raise BoardError(
                f"No board of protocol {self.protocol} answered; the driver 'native' also knows others."
            )
        if not board.IsAckMsgReceived() or not self.address:
            return False
        self.drivers = sum(1 << n for n, driver in enumerate(self._drivers) if driver.IsConnected())
        self._ear.close()
        return True

    def receive(self, timeout: float) -> SensorPacket | None:
        """Return the newest measurements that were not returned before, waiting for them at most so long [s]."""
        deadline = time.monotonic() + timeout
        while (count := int(self._interface.GetSensorsSent())) == self._seen:
            if self._interface.IsTimeout():
                raise BoardError(
                    "The vendor's library closed the connection: no measurements for 50 ms. Start again."
                )
            if time.monotonic() >= deadline:
                return None
            time.sleep(POLL)
        self._seen, self._heard = count, time.monotonic()
        self._interface.ParseSensorData()
        return self._packet()

    def send(self, command: MotorCommand) -> None:
        """Send a command, or refuse it if the wire cannot carry it."""
        codec.check_command(command, self.protocol)
        for number, motor in enumerate(self._motors):
            for name, setter in _SETTERS.items():
                getattr(motor, setter)(float(getattr(command, name)[number]))
            motor.enable = bool(command.enabled[number])
            motor.enable_index_offset_compensation = bool(command.compensate_index[number])
        if self._lock_step and time.monotonic() - self._heard > LATE:
            await_repetition(self._interface)
        self._interface.SendCommand()

    @property
    def lost(self) -> int:
        """How many sensor packets were sent but did not come."""
        # A packet that comes twice, as from a board in lock-step, counts there as a whole round of indices less one.
        return int(self._interface.GetSensorsLost()) % (WORD - 1)

    @property
    def command_lag(self) -> int:
        """How many commands were sent after the last one the board has confirmed: above 10 it ignores us."""
        board = self._interface
        return lag(int(board.GetCmdPacketIndex()) - 1, int(board.GetLastRecvCmdIndex()))

    def close(self) -> None:
        """Stop talking; the board switches the motors off 20 ms later."""
        self._ear.close()
        self._interface.Stop()

    def _listen(self) -> None:
        """Hear what the library drops: acknowledgements of another protocol, and the board's address."""
        while (frame := self._ear.receive(0.0)) is not None:
            ack = codec.decode_ack(frame.payload)
            if isinstance(ack, Malformed) or ack.session != int(self._interface.GetSessionId()):
                continue
            if ack.protocol != self.protocol:
                raise BoardError(
                    f"The master board's firmware speaks protocol {ack.protocol}, the vendor's library "
                    f"{self.protocol}: use the driver 'native'."
                )
            self.address = mac_text(frame.source)

    def _packet(self) -> SensorPacket:
        board, motors = self._interface, self._motors
        return SensorPacket(
            session=int(board.GetSessionId()),
            index=self._seen % WORD,
            commands_lost=int(board.GetCmdLost()) % WORD,
            last_command=int(board.GetLastRecvCmdIndex()),
            system_on=np.array([driver.IsEnabled() for driver in self._drivers]),
            error=np.array([driver.GetErrorCode() for driver in self._drivers], dtype=np.intp),
            enabled=np.array([motor.is_enabled for motor in motors]),
            ready=np.array([motor.is_ready for motor in motors]),
            index_seen=np.array([motor.has_index_been_detected for motor in motors]),
            index_toggle=np.array([motor.index_toggle_bit for motor in motors]),
            position=np.array([motor.position for motor in motors]),
            velocity=np.array([motor.velocity for motor in motors]),
            current=np.array([motor.current for motor in motors]),
            imu=ImuReading(
                acceleration=_vector(board.imu_data_accelerometer),
                gyroscope=_vector(board.imu_data_gyroscope),
                attitude=_vector(board.imu_data_attitude),
                linear_acceleration=_vector(board.imu_data_linear_acceleration),
            ),
            power=Power(),
        )


def await_repetition(interface: Any) -> None:  # noqa: ANN401  # the vendor's
    """Wait until a board in lock-step has repeated its measurements.

    The library closes the connection when it shall send 50 ms after it last heard the board, by its own clock. It
    shows a repetition, or a duplicate, only by counting 65535 lost packets, which `lost` takes out again.
    """
    lost, deadline = interface.GetSensorsLost(), time.monotonic() + PATIENCE
    while interface.GetSensorsLost() == lost and time.monotonic() < deadline:
        time.sleep(POLL)


def _vector(component: Callable[[int], float]) -> np.ndarray:
    return np.array([component(axis) for axis in range(3)])
